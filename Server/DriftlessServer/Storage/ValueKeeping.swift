import DriftlessProtocol
import Foundation
import Logging
import Synchronization

/// Where the tables of large values are read and written.
protocol ValueSource: Sendable {
  associatedtype Tables: ValueTables

  func readValues<Result: Sendable>(
    of zone: ZoneRecord, _ body: @escaping @Sendable (Tables) throws -> Result
  ) async throws -> Result

  /// - Parameter bytes: so many bytes of a value are written. It may run more than once.
  func writeValues<Result: Sendable>(
    of zone: ZoneRecord, bytes: Int, _ body: @escaping @Sendable (Tables) throws -> Result
  ) async throws -> Result
}

/// Large values of a storage: taken in, looked at and given out, a piece in memory at a time.
struct ValueKeeping<Source: ValueSource>: KeptValues {
  let source: Source
  let seen: SeenValues<Source.Tables.Row>
  let limits: LiveLimits
  let clock: ServerClock
  let logger: Logger

  func keep(_ piece: ValuePiece, of zone: ZoneRecord, token: String) async throws -> ValueState {
    let (state, upload) = try await write(zone, bytes: piece.bytes.count) {
      try $0.keep(piece, token: token)
    }
    // All is here: whoever sends, and however often, has it looked at. Others write meanwhile.
    if let upload { return try await finish(upload, of: piece.value, by: piece.replica, in: zone) }
    guard state.isWhole, let damaged = try await damage(of: piece.value.digest, in: zone)
    else { return state }
    try await lose(damaged, in: zone)
    return ValueState(held: 0, isWhole: false)
  }

  func write<Result: Sendable>(
    _ zone: ZoneRecord, bytes: Int = 0,
    _ body: @escaping @Sendable (ValueIntake<Source.Tables>) throws -> Result
  ) async throws -> Result {
    try await source.writeValues(of: zone, bytes: bytes) { [limits, clock] tables in
      try body(
        ValueIntake(tables: tables, limits: limits.current, milliseconds: clock.now()))
    }
  }

  /// Looks whether an upload is what its digest says, a piece at a time, and makes it the zone's.
  private func finish(
    _ upload: Source.Tables.Row, of value: LargeValue, by replica: UUID, in zone: ZoneRecord
  ) async throws -> ValueState {
    let isGood = try await seen.look(at: upload, of: zone) {
      try await isWhole(value, upload, in: zone)
    }
    try await write(zone) { try $0.finish(upload, of: value, by: replica, isGood: isGood) }
    let isThere = try await missing([value], in: zone).isEmpty
    guard isThere else { throw ServerError(ProtocolError.damagedValue(value)) }
    seen.note(value.digest, of: zone)
    return ValueState(held: Int(clamping: value.length), isWhole: true)
  }

  private func isWhole(
    _ value: LargeValue, _ row: Source.Tables.Row, in zone: ZoneRecord
  ) async throws -> Bool {
    var found = LargeValue.Digest()
    while found.count < value.length {
      let first = Int(clamping: found.count)
      let piece = try await source.readValues(of: zone) { try $0.piece(of: row, first: first) }
      guard !piece.isEmpty else { break }
      found.add(piece)
    }
    return found.isOf(value)
  }

  func value(_ digest: Data, of zone: ZoneRecord, first: Int, count: Int) async throws -> Data {
    if let damaged = try await damage(of: digest, in: zone) {
      await noting(zone, digest) { try await lose(damaged, in: zone) }
      throw ServerError(ProtocolError.noValue(digest))
    }
    let piece = try await source.readValues(of: zone) {
      try $0.piece(of: digest, first: first, count: count)
    }
    guard let piece else {
      await noting(zone, digest) { try await noteGone(digest, in: zone) }
      throw ServerError(ProtocolError.noValue(digest))
    }
    return piece
  }

  /// What a reader hears does not hang on what is noted of it: a full disk takes no note, and neither does a database that is
  /// read only or busy.
  private func noting(_ zone: ZoneRecord, _ digest: Data, _ note: () async throws -> Void) async {
    do {
      try await note()
    } catch {
      logger.warning(
        "that a large value is lost was not noted",
        metadata: [
          "zone": "\(zone.name)", "value": "\(Hexadecimal.text(digest))", "error": "\(error)",
        ])
    }
  }

  /// A whole value that is not what its digest says.
  private struct Damaged {
    let row: Source.Tables.Row
    let digest: Data
    let length: Int64
  }

  /// Looks at a whole value that was not looked at since the server was started: a disk, or a hand, may have changed its bytes.
  ///
  /// - Returns: nil for one that is well, and one that is not there: that is missed by whoever reads it.
  private func damage(of digest: Data, in zone: ZoneRecord) async throws -> Damaged? {
    guard !seen.has(digest, of: zone) else { return nil }
    let whole = try await source.readValues(of: zone) { try $0.whole(digest) }
    guard let (row, length) = whole else { return nil }
    let value = LargeValue(digest: digest, length: UInt64(clamping: length))
    let isGood = try await seen.look(at: row, of: zone) {
      // Another look may have ended meanwhile.
      if seen.has(digest, of: zone) { return true }
      guard let value, try await isWhole(value, row, in: zone) else { return false }
      seen.note(digest, of: zone)
      return true
    }
    return isGood ? nil : Damaged(row: row, digest: digest, length: length)
  }

  /// A damaged value goes, so that it is missing and can be sent again; the log still names it.
  private func lose(_ damaged: Damaged, in zone: ZoneRecord) async throws {
    let (row, digest, length) = (damaged.row, damaged.digest, damaged.length)
    guard try await write(zone, { try $0.lose(row, digest, length: length) }) else { return }
    logger.error(
      "a large value is damaged, and is missing until a replica sends it again",
      metadata: ["zone": "\(zone.name)", "value": "\(Hexadecimal.text(digest))"])
  }

  func missing(_ values: [LargeValue], in zone: ZoneRecord) async throws -> [LargeValue] {
    guard !values.isEmpty else { return [] }
    return try await source.readValues(of: zone) { try $0.missing(values) }
  }

  func lost(
    of zone: ZoneRecord, after digest: Data, countMax: Int
  ) async throws -> [LargeValue] {
    try await source.readValues(of: zone) { try $0.lost(after: digest, countMax: countMax) }
  }
}

/// The values that were looked at since the server was started, and those that are looked at.
final class SeenValues<Row: Hashable & Sendable>: Sendable {
  private struct Place: Hashable {
    let zone: Int64
    let digest: Data
  }

  private struct RowPlace: Hashable {
    let zone: Int64
    let row: Row
  }

  private let looks = Mutex<[RowPlace: Task<Bool, any Error>]>([:])

  private let seen = Mutex<Set<Place>>([])
  /// Above it they are looked at anew.
  private let remembered = 100_000

  func has(_ digest: Data, of zone: ZoneRecord) -> Bool {
    seen.withLock { $0.contains(Place(zone: zone.id, digest: digest)) }
  }

  func note(_ digest: Data, of zone: ZoneRecord) {
    seen.withLock { seen in
      if seen.count >= remembered { seen = [] }
      seen.insert(Place(zone: zone.id, digest: digest))
    }
  }

  /// Reads a value once, however many want to know whether it is well: who comes while it is read hears what that found.
  ///
  /// - Parameter body: whether it is what its digest says.
  func look(
    at row: Row, of zone: ZoneRecord, _ body: @escaping @Sendable () async throws -> Bool
  ) async throws -> Bool {
    let place = RowPlace(zone: zone.id, row: row)
    let look = looks.withLock { looks in
      if let look = looks[place] { return look }
      // It goes on where the one who began it does not wait any more.
      let look = Task {
        defer { self.looks.withLock { $0[place] = nil } }
        return try await body()
      }
      looks[place] = look
      return look
    }
    return try await look.value
  }
}

extension LargeValue {
  /// Whether bytes, read a piece at a time from a place on, are the value.
  func isWhole(_ piece: (_ first: Int) throws -> Data) rethrows -> Bool {
    var found = Digest()
    while found.count < length {
      let bytes = try piece(Int(clamping: found.count))
      guard !bytes.isEmpty else { break }
      found.add(bytes)
    }
    return found.isOf(self)
  }
}
