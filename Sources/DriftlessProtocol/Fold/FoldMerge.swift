import Foundation

/// What has some entries of a log in the order of its keys.
protocol FoldCursor: AnyObject {
  /// The key that comes next; nil at the end.
  var key: FoldKey? { get }
  /// Applies what it has of that key, and goes on to the next.
  func take(into edit: inout FoldEdit) throws
}

/// Puts sorted parts of one log together, key by key: what a later part says goes over what an earlier one says.
final class FoldMerge {
  private let cursors: [any FoldCursor]
  private let pause: (@Sendable () throws -> Void)?
  private var count = 0
  /// As `Snapshot.Layer.isPlain`, of what came so far: which entity a delete named is forgotten once it is under its object's birth.
  private(set) var isPlain = true

  /// - Parameters:
  ///   - cursors: In the order of the log.
  ///   - pause: Called every now and then.
  init(_ cursors: [any FoldCursor], pause: (@Sendable () throws -> Void)? = nil) {
    self.cursors = cursors
    self.pause = pause
  }

  func next() throws -> (key: FoldKey, edit: FoldEdit)? {
    count += 1
    if let pause, count % 256 == 0 { try pause() }
    guard let key = cursors.compactMap(\.key).min() else { return nil }
    var edit = FoldEdit()
    for cursor in cursors where cursor.key == key { try cursor.take(into: &edit) }
    if !edit.object.isPlain { isPlain = false }
    return (key, edit)
  }
}

/// Pieces in memory.
final class ArenaCursor: FoldCursor {
  private let arena: FoldArena
  private var place = 0

  /// - Parameter arena: Sorted.
  init(_ arena: FoldArena) { self.arena = arena }

  var key: FoldKey? { arena.key(at: place) }

  func take(into edit: inout FoldEdit) throws { try arena.take(at: &place, into: &edit) }
}

/// A run: one sorted part of the log in a file, one record a key.
///
/// | bytes | what (little-endian) |
/// |---|---|
/// | 1 | part of the key (`FoldKey.Part`) |
/// | 8, 8 | the key |
/// | 4 | length of what follows |
/// | … | the pieces (`FoldAtom`) |
final class RunCursor: FoldCursor {
  private let reader: FoldFile.Reader
  private(set) var key: FoldKey?
  private var record: [UInt8] = []

  /// - Parameter checksum: CRC-32 of the file.
  init(_ file: URL, checksum: UInt32) throws {
    reader = try FoldFile.Reader(file, checksum: checksum)
    try advance()
  }

  func take(into edit: inout FoldEdit) throws {
    var scan = FoldScanner(record)
    var last: FoldTransaction?
    while !scan.isAtEnd { edit.apply(try FoldAtom(&scan, last: &last)) }
    try advance()
  }

  private func advance() throws {
    guard let head = try reader.next(21) else {
      key = nil
      return
    }
    var scan = ByteReader(head)
    guard let part = FoldKey.Part(rawValue: try scan.next(UInt8.self)) else {
      throw ProtocolError.damagedFold
    }
    let high = try scan.next(UInt64.self)
    key = FoldKey(part: part, high: high, low: try scan.next(UInt64.self))
    guard let bytes = try reader.next(Int(try scan.next(UInt32.self))) else {
      throw ProtocolError.damagedFold
    }
    record = bytes
  }

  /// Writes what a merge gives as a run.
  ///
  /// - Returns: Its bytes, and their CRC-32.
  static func write(_ merge: FoldMerge, to file: URL) throws -> (bytes: Int, checksum: UInt32) {
    let writer = try FoldFile.Writer(file)
    while let (key, edit) = try merge.next() {
      var body = FoldBytes()
      edit.write(to: &body)
      guard let count = UInt32(exactly: body.bytes.count) else {
        throw ProtocolError.tooLarge("One object of the log takes more than 4 GiB")
      }
      var head = ByteWriter(capacity: 21)
      head.append(key.part.rawValue)
      head.append(key.high)
      head.append(key.low)
      head.append(count)
      try writer.append(head.bytes)
      try writer.append(body.bytes)
    }
    try writer.finish()
    return (writer.count, writer.checksum)
  }
}
