import DriftlessSQLite
import Foundation
import Glibc

/// The folder beside a store with values that are too large for its pages: `.NAME_SUPPORT/_EXTERNAL_DATA`, a file a
/// value, named by a UUID (``ExternalFileName``). It lies where Core Data has it.
///
/// The name begins with the prefix of the identities that the store's file gives (``MintPrefix``), so that it is known who wrote it:
/// the folder may have been another's before, who was moved away and has his files here still.
struct ExternalDataFolder: Sendable {
  let url: URL
  private let store: URL

  /// - Parameter store: The path of the store's file.
  init(store: String) {
    let file = URL(fileURLWithPath: store)
    self.store = file
    url = file.deletingLastPathComponent()
      .appendingPathComponent(".\(file.deletingPathExtension().lastPathComponent)_SUPPORT")
      .appendingPathComponent("_EXTERNAL_DATA")
  }

  /// Bytes that are read of one file. A row holds half as many: what is longer was written by nobody, as the gap of a file that
  /// a disk lost its pages of.
  static let bytesMax: Int64 = 2 << 30

  /// The names of all files in it.
  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? [])
      .filter { UUID(uuidString: $0) != nil }
  }

  /// Whether another database lies beside the store whose name differs in the extension alone. It has the same folder, by
  /// Core Data's rule, and files in it that no row here names.
  private var isShared: Bool {
    let folder = store.deletingLastPathComponent()
    let stem = store.deletingPathExtension().lastPathComponent
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.contains { name in
      let other = folder.appendingPathComponent(name)
      // Whoever opens and closes such a file in another way than SQLite takes this process's locks on it along.
      guard name != store.lastPathComponent,
        other.deletingPathExtension().lastPathComponent == stem,
        !StoreSideFile.suffixes.contains(where: { name.hasSuffix($0) }),
        let connection = try? SQLiteConnection(path: other.path, mode: .immutable)
      else { return false }
      defer { connection.close() }
      return (try? connection.bytesOfFile(16)) == Array("SQLite format 3\0".utf8)
    }
  }

  /// What a file holds; nil for one that is gone, that cannot be read, or that is not as long as its value.
  ///
  /// - Parameter isMapped: whether it may be mapped, which a program does not survive where the file is cut off later.
  func read(_ name: String, isMapped: Bool = false) -> Data? {
    // A pipe that came into a file's place would be waited for, and a device read without end.
    let descriptor = open(file(name).path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, Self.obstacle(status, name) == nil else { return nil }
    let count = Int(status.st_size)
    if isMapped, let mapped = MappedFile.data(of: descriptor, count: count) { return mapped }
    // It may have been cut off since.
    let bytes = try? handle.read(upToCount: count) ?? Data()
    return bytes?.count == count ? bytes : nil
  }

  /// Whether there is a file that can be read, as long as its value.
  func has(_ name: String) -> Bool {
    var status = stat()
    let path = file(name).path
    return stat(path, &status) == 0 && Self.obstacle(status, name) == nil
      && access(path, R_OK) == 0
  }

  /// What is in the way of reading a file.
  func loss(of name: String) -> String {
    let path = file(name).path
    var status = stat()
    let reason: String =
      if stat(path, &status) != 0 || access(path, R_OK) != 0 {
        String(cString: strerror(errno))
      } else {
        Self.obstacle(status, name) ?? String(cString: strerror(EIO))
      }
    return "\(Self.lossWords): \(path): \(reason)."
  }

  /// How it begins what says that a file is lost.
  static let lossWords = "The file of a large value cannot be read"

  /// Why what lies under a name is no file of a value, or not all of it.
  private static func obstacle(_ status: stat, _ name: String) -> String? {
    guard status.st_mode & S_IFMT == S_IFREG else {
      return "it is \(status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "no plain file")"
    }
    // Small values lie in the row. A file without pages is what a power cut leaves of one that nobody waited for.
    if status.st_size == 0 { return "it is empty, and no value is that is kept in a file" }
    let size = Int64(status.st_size)
    if size > bytesMax { return "it has \(size) bytes, more than any value" }
    guard let length = ExternalFileName.length(in: name), length != size else { return nil }
    let words = "it has \(size) bytes, and its value \(length)"
    return size < length ? "it was cut off: \(words)" : words
  }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// Makes a folder that only its user may enter, as the store's file is.
  private static func create(_ folder: URL) throws {
    try StoreError.writing(folder) {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
  }

  /// Writes a value to a file of its own. It is on the disk after ``synchronize(_:)``.
  ///
  /// - Parameter prefix: what the name begins with.
  func write(_ bytes: Data, prefix: [UInt8]) throws -> String {
    let manager = FileManager.default
    if !manager.fileExists(atPath: url.path) {
      let parent = url.deletingLastPathComponent()
      let made = [parent, url].filter { !manager.fileExists(atPath: $0.path) }
      try Self.create(url)
      for folder in made { giveToOwner(folder) }
      for folder in made { try NewFile.synchronize(folder.deletingLastPathComponent()) }
    }
    while true {
      let name = ExternalFileName.make(prefix: prefix, length: bytes.count)
      let descriptor = StoreSideFile.create(file(name).path, beside: store.path)
      guard descriptor >= 0 else {
        // It is another value's.
        if errno == EEXIST { continue }
        throw Self.unwritten(file(name).path)
      }
      defer { close(descriptor) }
      do {
        try write(bytes, to: descriptor, file(name).path)
      } catch {
        remove([name])
        throw error
      }
      return name
    }
  }

  /// Waits until files, and their names, are on the disk.
  func synchronize(_ names: some Sequence<String>) throws {
    for name in names { try NewFile.synchronize(file(name)) }
    try NewFile.synchronize(url)
  }

  private func giveToOwner(_ folder: URL) {
    let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    StoreSideFile.giveToOwner(of: store.path, descriptor)
    close(descriptor)
  }

  private func write(_ bytes: Data, to descriptor: Int32, _ path: String) throws {
    try bytes.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = Glibc.write(
          descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
        guard count > 0 else { throw Self.unwritten(path) }
        done += count
      }
    }
  }

  private static func unwritten(_ path: String) -> SQLiteError {
    .system(errno, "\(path) cannot be written: \(String(cString: strerror(errno)))")
  }

  func remove(_ names: some Sequence<String>) {
    for name in names { unlink(file(name).path) }
  }

  /// Removes files that no row names any more. Where another database has the folder as well, as a second backup of the store
  /// has, its rows may name those that the store's file has not written itself: they stay.
  ///
  /// - Parameter prefix: what names of its own begin with.
  func remove(_ names: [String], prefix: [UInt8]) {
    remove(isShared ? names.filter { ExternalFileName.isNamed($0, by: prefix) } : names)
  }

  /// Removes the files that no row names, of those that the store's file has written itself: others may be of a store that was here
  /// before, and was moved away without them. Nobody may be writing, and nobody may be reading an older state.
  ///
  /// - Parameter prefix: what names of its own begin with.
  func sweep(keeping referenced: Set<String>, prefix: [UInt8]) {
    guard !isShared else { return }
    remove(names.filter { !referenced.contains($0) && ExternalFileName.isNamed($0, by: prefix) })
  }

  /// Gives another store files of this one. A file is never changed, so two stores may share it. One that is gone is gone
  /// for both, and so is one that was cut off. A file that is there counts where it is as long as this one: what broke off while it
  /// was written is shorter.
  ///
  /// - Parameter isLinked: whether a file on the same file system is the same one under a second name.
  /// - Returns: The files that were not there.
  /// - Throws: what keeps one from being written. None of those that were not there is left then.
  @discardableResult
  func copy(
    _ names: some Sequence<String>, to other: ExternalDataFolder, isLinked: Bool = true
  ) throws -> [String] {
    var copied: [String] = []
    let isNew = !FileManager.default.fileExists(atPath: other.url.path)
    do {
      for name in names {
        guard let size = size(of: name), other.size(of: name) != size else { continue }
        if copied.isEmpty { try Self.create(other.url) }
        copied.append(name)
        unlink(other.file(name).path)
        if !isLinked || link(file(name).path, other.file(name).path) != 0 {
          try NewFile.write(at: other.file(name)) { partial in
            try StoreError.writing(other.file(name)) { try copyBytes(of: name, to: partial) }
          }
        }
      }
      if !copied.isEmpty { try NewFile.synchronize(other.url) }
    } catch {
      other.remove(copied)
      if isNew { other.removeEmpty() }
      throw error
    }
    return copied
  }

  private func copyBytes(of name: String, to partial: URL) throws {
    let (source, copy) = try (
      FileHandle(forReadingFrom: file(name)), FileHandle(forWritingTo: partial)
    )
    defer {
      try? source.close()
      try? copy.close()
    }
    while let bytes = try source.read(upToCount: Self.copiedAtOnce), !bytes.isEmpty {
      try copy.write(contentsOf: bytes)
    }
  }

  private static let copiedAtOnce = 1 << 20

  /// Bytes of a file; nil where there is none that could be read.
  private func size(of name: String) -> Int64? {
    var status = stat()
    guard stat(file(name).path, &status) == 0, Self.obstacle(status, name) == nil else {
      return nil
    }
    return Int64(status.st_size)
  }

  /// Removes the folder, and the one that it lies in, where nothing is in them.
  func removeEmpty() {
    rmdir(url.path)
    rmdir(url.deletingLastPathComponent().path)
  }

  /// Removes the folder and all in it, unless another store may have something there.
  func destroy() {
    guard !isShared else { return }
    try? FileManager.default.removeItem(at: url.deletingLastPathComponent())
  }
}

/// What a column holds of a value that may lie outside: a byte 1 and the value, or a byte 2, the name of the file and a
/// NUL. A value that begins otherwise is there as it is.
enum ExternalValue {
  static let nameLength = 36

  static func inline(_ bytes: Data) -> Data { Data([1]) + bytes }
  static func name(_ name: String) -> Data { Data([2]) + Data(name.utf8) + Data([0]) }

  /// The name of the file; nil for a value that is in the column.
  static func name(in column: some RandomAccessCollection<UInt8>) -> String? {
    guard column.count >= nameLength + 1, column.count <= nameLength + 2, column.first == 2 else {
      return nil
    }
    let name = String(decoding: column.dropFirst().prefix(nameLength), as: UTF8.self)
    return UUID(uuidString: name) == nil ? nil : name
  }

  /// The value of a column that is not null. Null is a value whose file cannot be read: `RowReader` says so.
  static func read(
    _ statement: SQLiteStatement, _ column: Int32, isMapped: Bool
  ) -> PropertyValue {
    statement.withBytes(column) { bytes in
      if let name = name(in: bytes) {
        let folder = ExternalDataFolder(store: statement.databasePath)
        return folder.read(name, isMapped: isMapped).map { .data($0) } ?? .null
      }
      return .data(bytes.first == 1 ? Data(bytes.dropFirst()) : Data(bytes))
    }
  }
}

extension AttributeType {
  /// Whether values are bytes that may lie in files beside a store.
  var isData: Bool { self == .binaryData || self == .transformable }
}
