import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Files of a fold: written whole and on the disk before anything names them.
enum FoldFile {
  /// A file that is written from its beginning to its end.
  final class Writer {
    private let file: URL
    private let descriptor: Int32
    private var waiting: [UInt8] = []
    private(set) var count = 0
    /// CRC-32 of what is on the disk.
    private(set) var checksum: UInt32 = 0
    private static let waitingBytesMax = 256 << 10

    init(_ file: URL) throws(ProtocolError) {
      self.file = file
      descriptor = open(file.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw FoldFile.error("made", file) }
    }

    deinit { close(descriptor) }

    func append(_ bytes: some Collection<UInt8>) throws(ProtocolError) {
      waiting.append(contentsOf: bytes)
      count += bytes.count
      if waiting.count >= Self.waitingBytesMax { try flush() }
    }

    /// Waits until all of it is on the disk.
    func finish() throws(ProtocolError) {
      try flush()
      guard fsync(descriptor) == 0 else { throw FoldFile.error("written", file) }
    }

    private func flush() throws(ProtocolError) {
      var start = 0
      while start < waiting.count {
        let written = waiting.withUnsafeBytes {
          write(descriptor, $0.baseAddress.map { $0 + start }, $0.count - start)
        }
        if written < 0 {
          guard errno == EINTR else { throw FoldFile.error("written", file) }
        } else {
          start += written
        }
      }
      checksum = Zlib.crc32(of: waiting, after: checksum)
      waiting.removeAll(keepingCapacity: true)
    }
  }

  /// A file that is read from its beginning on. At its end it turns out whether it is what was written.
  final class Reader {
    private let file: URL
    private let descriptor: Int32
    private var ahead: [UInt8] = []
    private var place = 0
    private let expected: UInt32
    private var checksum: UInt32 = 0
    private static let aheadBytes = 64 << 10

    /// - Parameter checksum: CRC-32 of its bytes.
    init(_ file: URL, checksum expected: UInt32) throws(ProtocolError) {
      self.file = file
      self.expected = expected
      descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        // Whoever took it away took what was added up.
        if errno == ENOENT { throw .damagedFold }
        throw FoldFile.error("read", file)
      }
    }

    deinit { close(descriptor) }

    /// The next bytes; nil at the end.
    func next(_ count: Int) throws(ProtocolError) -> [UInt8]? {
      if ahead.count - place < count { try fill(count) }
      guard ahead.count > place || count == 0 else { return nil }
      guard ahead.count - place >= count else { throw .damagedFold }
      defer { place += count }
      return Array(ahead[place..<place + count])
    }

    private func fill(_ count: Int) throws(ProtocolError) {
      ahead.removeFirst(place)
      place = 0
      let wanted = max(count, Self.aheadBytes)
      var buffer = [UInt8](repeating: 0, count: wanted)
      while ahead.count < wanted {
        let got = buffer.withUnsafeMutableBytes {
          read(descriptor, $0.baseAddress, wanted - ahead.count)
        }
        if got == 0 {
          guard checksum == expected else { throw .damagedFold }
          return
        }
        if got < 0 {
          guard errno == EINTR else { throw FoldFile.error("read", file) }
        } else {
          ahead.append(contentsOf: buffer[..<got])
          checksum = Zlib.crc32(of: Array(buffer[..<got]), after: checksum)
        }
      }
    }
  }

  // MARK: Notes

  /// Writes a value as JSON, and in a line of its own the CRC-32 of that: a number that another took the place of would be
  /// believed.
  static func replace(_ file: URL, withNote value: some Encodable) throws(ProtocolError) {
    try replace(file, with: note(of: value, named: file.lastPathComponent))
  }

  /// A value as JSON, and in a line of its own the CRC-32 of that.
  static func note(of value: some Encodable, named name: String) throws(ProtocolError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    var data: Data
    do { data = try encoder.encode(value) } catch {
      throw .malformed("\(name) cannot be written: \(error)")
    }
    data.append(mark(of: data))
    return data
  }

  /// Reads what `replace(_:withNote:)` wrote; nil when there is none.
  ///
  /// - Throws: `ProtocolError`: `.damaged` where it is something else.
  static func note<Value: Decodable>(
    _ type: Value.Type, in file: URL
  ) throws(ProtocolError) -> Value? {
    guard let data = try contents(of: file) else { return nil }
    guard let value = note(type, in: data) else {
      throw ProtocolError(
        .damaged, "\(file.path) is not as it was written",
        suggestion: "Delete it, with the folder fold beside it, and fold the zone anew.")
    }
    return value
  }

  /// What `note(of:named:)` made; nil for something else.
  static func note<Value: Decodable>(_ type: Value.Type, in data: Data) -> Value? {
    let text = data.dropLast(markBytes)
    guard Data(data.suffix(markBytes)) == mark(of: Data(text)) else { return nil }
    return try? JSONDecoder().decode(type, from: text)
  }

  private static let markBytes = 10

  private static func mark(of data: Data) -> Data {
    let digits = String(Zlib.crc32(of: Array(data)), radix: 16)
    return Data(("\n" + String(repeating: "0", count: 8 - digits.count) + digits + "\n").utf8)
  }

  // MARK: Whole files

  /// Puts a file in the place of another, which is there whole until then.
  static func replace(_ file: URL, with data: Data) throws(ProtocolError) {
    let partial = file.appendingPathExtension("partial")
    let writer = try Writer(partial)
    try writer.append(data)
    try writer.finish()
    guard rename(partial.path, file.path) == 0 else { throw error("written", file) }
    try synchronize(file.deletingLastPathComponent())
  }

  /// Waits until the names of a folder's files are on the disk.
  static func synchronize(_ folder: URL) throws(ProtocolError) {
    let descriptor = open(folder.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw error("read", folder) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw error("written", folder) }
  }

  static func makeFolder(_ folder: URL) throws(ProtocolError) {
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch { throw Self.error("made", folder) }
  }

  /// The bytes of a file; nil when there is none.
  static func contents(of file: URL) throws(ProtocolError) -> Data? {
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    do { return try Data(contentsOf: file) } catch { throw Self.error("read", file) }
  }

  static func names(in folder: URL) throws(ProtocolError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder.path)
    } catch { throw Self.error("read", folder) }
  }

  /// Removes a file; one that is gone is removed.
  static func remove(_ file: URL) throws(ProtocolError) {
    guard unlink(file.path) == 0 || errno == ENOENT else { throw error("removed", file) }
  }

  private static func error(_ what: String, _ file: URL) -> ProtocolError {
    let reason = errno
    return ProtocolError(
      reason == ENOSPC || reason == EDQUOT ? .diskFull : .init(rawValue: "storage"),
      "\(file.path) cannot be \(what): \(String(cString: strerror(reason)))",
      suggestion: "Give the folder room and rights; the fold goes on where it was.")
  }
}
