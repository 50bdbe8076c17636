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
  /// A list is closed once its data have as many bytes: reading refuses much larger ones.
  private static let bytesAtOnce = 4 << 20

  var metadata: [String: Any]
  var objects: [Object]

  init(metadata: [String: Any], objects: [Object]) {
    self.metadata = metadata
    self.objects = objects
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
    guard data.starts(with: Self.mark) else { throw Self.foreign(url, data) }
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
    guard let metadata = lists.first as? [String: Any] else {
      throw Self.damaged(url, "it has no metadata")
    }
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
    do { return try Data(contentsOf: url) } catch {
      throw StoreError(
        .cannotOpen, "\(url.path) cannot be read: \(error.localizedDescription)",
        suggestion: "Look whether it is there and may be read.")
    }
  }

  private static func foreign(_ url: URL, _ data: Data) -> StoreError {
    if data.starts(with: Data("SQLite format 3".utf8)) {
      return StoreError(
        .notAStore, "\(url.path) is an SQLite store, no binary one.",
        suggestion: "Add it with the type NSSQLiteStoreType.")
    }
    return StoreError(
      .notAStore, "\(url.path) is no binary store of this library.",
      suggestion: "One that Core Data wrote is taken over on a Mac first: "
        + "migratePersistentStore(_:to:options:type:) to SQLite.")
  }

  // MARK: Writing

  /// Puts the file in the place of the one that is there, which stays until all of it is written.
  /// - Throws: `StoreError`: `readOrWriteFailed` with the reason; `invalidArgument` for what no property list has.
  func write(to url: URL) throws {
    var body = Data()
    try Self.append(metadata, to: &body)
    var list: [[String: Any]] = []
    var bytes = 0
    for object in objects {
      list.append([
        "entity": object.entity, "key": object.key, "values": object.values,
        "related": object.related,
      ])
      bytes += object.values.values.reduce(0) { $0 + (($1 as? Data)?.count ?? 0) }
      guard list.count == Self.objectsAtOnce || bytes >= Self.bytesAtOnce else { continue }
      try Self.append(list, to: &body)
      (list, bytes) = ([], 0)
    }
    if !list.isEmpty { try Self.append(list, to: &body) }
    var data = Self.mark
    Self.append(UInt64(Self.version), bytes: 4, to: &data)
    Self.append(Self.checksum(of: body), bytes: 8, to: &data)
    try Self.replace(url, with: data + body)
  }

  private static func append(_ list: Any, to body: inout Data) throws {
    guard PropertyListSerialization.propertyList(list, isValidFor: .binary) else {
      throw StoreError(
        .invalidArgument, "The metadata have a value that no property list can have.",
        suggestion: "Use texts, numbers, dates, data, and arrays and dictionaries of them.")
    }
    let data = try PropertyListSerialization.data(
      fromPropertyList: list, format: .binary, options: 0)
    guard BoundedPropertyList.values(data) != nil else {
      throw StoreError(
        .invalidArgument, "An object has more data than a binary store can read again.",
        suggestion: "Keep it in an SQLite store.")
    }
    append(UInt64(data.count), bytes: 8, to: &body)
    body.append(data)
  }

  private static func replace(_ url: URL, with data: Data) throws {
    let partial = url.path + ".partial"
    func failure() -> StoreError {
      let reason = String(cString: strerror(errno))
      unlink(partial)
      return StoreError(
        .readOrWriteFailed, "\(url.path) cannot be written: \(reason)",
        suggestion: "Make room, or the folder one that may be written. The file is as it was.")
    }
    let descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure() }
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
    guard isWritten else {
      defer { close(descriptor) }
      throw failure()
    }
    close(descriptor)
    guard rename(partial, url.path) == 0 else { throw failure() }
    // The new name lasts once the folder is written.
    let folder = open(url.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
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
