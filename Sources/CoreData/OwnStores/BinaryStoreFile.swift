import Driftless
import Foundation

/// The file of a binary store: a mark, a version, a checksum, then property lists, each after its length: the metadata first,
/// then objects, some hundreds in one list.
struct BinaryStoreFile {
  struct Object {
    let entity: String
    let key: Int64
    var values: [String: Any] = [:]
    var related: [String: [Int64]] = [:]
  }

  private static let mark = Data("DRIFTBIN".utf8)
  private static let version: UInt32 = 1
  private static let headBytes = 8 + 4 + 8
  private static let objectsAtOnce = 500
  /// A list is closed before what it holds is as many bytes and values: reading refuses much larger ones.
  private static let bytesAtOnce = 4 << 20
  private static let valuesAtOnce = 100_000
  /// Beside the metadata, where a program that does not know it passes it on.
  private static let nextKeysName = "NSStoreDriftlessNextKeys"

  var metadata: [String: Any]
  var objects: [Object]
  /// By hierarchy the number of its next object.
  var nextKeys: [String: Int64]

  init(metadata: [String: Any], objects: [Object], nextKeys: [String: Int64] = [:]) {
    self.metadata = metadata
    self.objects = objects
    self.nextKeys = nextKeys
  }

  static func damaged(_ url: URL, _ what: String) -> StoreError {
    StoreError(
      .damaged, "The binary store \(url.path) is damaged: \(what).",
      suggestion: "Put it back from a copy.")
  }

  // MARK: Reading

  /// - Throws: `StoreError`: what kept the file from being read, `notAStore` for another kind of file, `damaged`.
  init(reading url: URL, metadataOnly: Bool = false) throws {
    let data = try Self.content(of: url)
    guard data.starts(with: Self.mark) else { throw Self.foreign(url) }
    guard data.count >= Self.headBytes else { throw Self.damaged(url, "it ends in its head") }
    let version = Self.number(data, at: 8, bytes: 4)
    guard version == UInt64(Self.version) else {
      throw StoreError(
        .newerFormat, "The binary store \(url.path) has format \(version).",
        suggestion: "Update this program; the file was not changed.")
    }
    let body = data.dropFirst(Self.headBytes)
    guard Self.checksum(of: body) == Self.number(data, at: 12, bytes: 8) else {
      throw Self.damaged(url, "its checksum is another one")
    }
    var lists: [Any] = []
    var place = Self.headBytes
    while place < data.count, !metadataOnly || lists.isEmpty {
      guard data.count - place >= 8 else { throw Self.damaged(url, "it ends in a length") }
      let length = Self.number(data, at: place, bytes: 8)
      place += 8
      guard length <= UInt64(data.count - place),
        let list = BoundedPropertyList.values(Data(data[place..<place + Int(length)]))
      else { throw Self.damaged(url, "a list at byte \(place) cannot be read") }
      lists.append(list)
      place += Int(length)
    }
    guard var metadata = lists.first as? [String: Any] else {
      throw Self.damaged(url, "it has no metadata")
    }
    let next = metadata.removeValue(forKey: Self.nextKeysName) as? [String: NSNumber] ?? [:]
    nextKeys = next.compactMapValues { $0.int64Value > 0 ? $0.int64Value : nil }
    self.metadata = metadata
    objects = try lists.dropFirst().flatMap { list in
      guard let entries = list as? [[String: Any]] else {
        throw Self.damaged(url, "a list holds no objects")
      }
      return try entries.map { try Self.object($0, url) }
    }
  }

  private static func object(_ entry: [String: Any], _ url: URL) throws -> Object {
    guard let entity = entry["entity"] as? String,
      let key = (entry["key"] as? NSNumber)?.int64Value, key > 0,
      let values = entry["values"] as? [String: Any],
      let related = entry["related"] as? [String: [Any]]
    else { throw damaged(url, "an object lacks its parts") }
    let keys = try related.mapValues { keys in
      try keys.map { key in
        guard let number = (key as? NSNumber)?.int64Value else {
          throw damaged(url, "a relationship of \(entity)/\(key) holds no numbers")
        }
        return number
      }
    }
    return Object(entity: entity, key: key, values: values, related: keys)
  }

  private static func content(of url: URL) throws -> Data {
    try checkIsNoDatabase(url)
    do { return try Data(contentsOf: url) } catch {
      throw StoreError(
        .cannotOpen, "\(url.path) cannot be read: \(error.localizedDescription)",
        suggestion: "Look whether it is there and may be read.")
    }
  }

  /// A descriptor of a database that is open in this process takes this process's locks on it along when it is closed.
  /// - Throws: `StoreError` with code `notAStore` for a database.
  static func checkIsNoDatabase(_ url: URL) throws {
    guard PersistentStore.isDatabase(url) == true else { return }
    throw StoreError(
      .notAStore, "\(url.path) is an SQLite store, no binary one.",
      suggestion: "Add it with the type NSSQLiteStoreType.")
  }

  private static func foreign(_ url: URL) -> StoreError {
    StoreError(
      .notAStore, "\(url.path) is no binary store of this library.",
      suggestion: "One that Core Data wrote is taken over on a Mac first: "
        + "migratePersistentStore(_:to:options:type:) to SQLite.")
  }

  // MARK: Writing

  /// Puts the file in the place of the one that is there, which stays until all of it is written.
  /// - Throws: `StoreError`: `readOrWriteFailed` with the reason; `invalidArgument` for what no property list has.
  func write(to url: URL) throws {
    var body = Data()
    var described = metadata
    if !nextKeys.isEmpty { described[Self.nextKeysName] = nextKeys }
    guard let list = try Self.bytes(of: described) else {
      throw StoreError(
        .invalidArgument, "The metadata are more than a binary store can read again.",
        suggestion: "Keep what is large in objects.")
    }
    Self.append(list, to: &body)
    var rest = objects[...]
    while !rest.isEmpty {
      let count = Self.countOfList(rest)
      try Self.append(rest.prefix(count), to: &body)
      rest = rest.dropFirst(count)
    }
    var data = Self.mark
    Self.append(UInt64(Self.version), bytes: 4, to: &data)
    Self.append(Self.checksum(of: body), bytes: 8, to: &data)
    try Self.replace(url, with: data + body)
  }

  /// How many of the first objects go into one list.
  private static func countOfList(_ objects: ArraySlice<Object>) -> Int {
    var whole = Weight()
    var count = 0
    for object in objects.prefix(objectsAtOnce) {
      whole.add(object.values)
      for (name, keys) in object.related { whole.add(name, keys.count) }
      guard count == 0 || (whole.bytes <= bytesAtOnce && whole.values <= valuesAtOnce) else {
        break
      }
      count += 1
    }
    return count
  }

  /// How much a list holds, at least about.
  private struct Weight {
    private(set) var bytes = 0
    private(set) var values = 0

    mutating func add(_ value: Any) {
      values += 1
      switch value {
      case let data as Data: bytes += data.count
      // At most: plain ones are half of it.
      case let text as String: bytes += text.utf16.count * 2
      case let members as [String: Any]:
        for (name, member) in members {
          add(name)
          add(member)
        }
      default: bytes += 9
      }
    }

    mutating func add(_ name: String, _ keys: Int) {
      add(name)
      values += keys
      bytes += keys * 13
    }
  }

  /// A list that is more than reading takes goes as two.
  private static func append(_ objects: ArraySlice<Object>, to body: inout Data) throws {
    let list = objects.map { object -> [String: Any] in
      [
        "entity": object.entity, "key": object.key, "values": object.values,
        "related": object.related,
      ]
    }
    if let data = try bytes(of: list) { return append(data, to: &body) }
    guard objects.count > 1 else {
      let name = objects.first.map { "\($0.entity)/\($0.key)" } ?? ""
      throw StoreError(
        .invalidArgument, "The object \(name) is more than a binary store can read again.",
        suggestion: "Keep it in an SQLite store.")
    }
    let half = objects.count / 2
    try append(objects.prefix(half), to: &body)
    try append(objects.dropFirst(half), to: &body)
  }

  /// Nil for more than reading takes.
  private static func bytes(of list: Any) throws -> Data? {
    guard PropertyListSerialization.propertyList(list, isValidFor: .binary) else {
      throw StoreError(
        .invalidArgument, "The metadata have a value that no property list can have.",
        suggestion: "Use texts, numbers, dates, data, and arrays and dictionaries of them.")
    }
    let data = try PropertyListSerialization.data(
      fromPropertyList: list, format: .binary, options: 0)
    return BoundedPropertyList.values(data) == nil ? nil : data
  }

  private static func append(_ list: Data, to body: inout Data) {
    append(UInt64(list.count), bytes: 8, to: &body)
    body.append(list)
  }

  private static func replace(_ url: URL, with data: Data) throws {
    let partial = url.path + ".partial"
    func failure() -> StoreError {
      let reason = String(cString: strerror(errno))
      return StoreError(
        .readOrWriteFailed, "\(url.path) cannot be written: \(reason)",
        suggestion: "Make room, or the folder one that may be written. The file is as it was.")
    }
    let descriptor = openPartial(partial)
    guard descriptor >= 0 else { throw failure() }
    // Its name goes before the lock: who waits makes another.
    defer { close(descriptor) }
    func failureWithoutPartial() -> StoreError {
      let error = failure()
      unlink(partial)
      return error
    }
    let isWritten = data.withUnsafeBytes { bytes in
      var place = 0
      while place < bytes.count {
        guard let start = bytes.baseAddress else { return true }
        let count = Foundation.write(descriptor, start + place, bytes.count - place)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        place += count
      }
      return fsync(descriptor) == 0
    }
    guard isWritten else { throw failureWithoutPartial() }
    guard rename(partial, url.path) == 0 else { throw failureWithoutPartial() }
    // The new name lasts once the folder is written.
    let folder = open(url.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
  }

  /// Opens the file that is to be the store's, empty, when no other saver has it: two that write into one would leave neither whole.
  /// Negative where that fails (`errno`).
  private static func openPartial(_ path: String) -> Int32 {
    while true {
      let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { return descriptor }
      while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
      var own = stat()
      var named = stat()
      // Another saver may have given it the store's name meanwhile.
      if fstat(descriptor, &own) == 0, lstat(path, &named) == 0, own.st_ino == named.st_ino,
        own.st_dev == named.st_dev
      {
        if ftruncate(descriptor, 0) == 0 { return descriptor }
        let reason = errno
        close(descriptor)
        errno = reason
        return -1
      }
      close(descriptor)
    }
  }

  // MARK: Bytes

  private static func number(_ data: Data, at place: Int, bytes: Int) -> UInt64 {
    data[data.startIndex + place..<data.startIndex + place + bytes].reduce(0) {
      $0 << 8 | UInt64($1)
    }
  }

  private static func append(_ number: UInt64, bytes: Int, to data: inout Data) {
    for shift in (0..<bytes).reversed() {
      data.append(UInt8(truncatingIfNeeded: number >> (8 * shift)))
    }
  }

  /// FNV-1a.
  private static func checksum(of data: Data) -> UInt64 {
    data.withUnsafeBytes { bytes in
      bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
  }
}
