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
  let seen: SeenValues
  let limits: LiveLimits
  let clock: ServerClock
  let logger: Logger

  func keep(_ piece: ValuePiece, of zone: ZoneRecord, token: String) async throws -> ValueState {
    let (state, upload) = try await write(zone, bytes: piece.bytes.count) {
      try $0.keep(piece, token: token)
    }
    // All is here: whoever sends, and however often, has it looked at. Others write meanwhile.
    if let upload { return try await finish(upload, of: piece.value, by: piece.replica, in: zone) }
    guard state.isWhole, try await !isGood(piece.value.digest, in: zone) else { return state }
    return ValueState(held: 0, isWhole: false)
  }

  private func write<Result: Sendable>(
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
    let isGood = try await isWhole(value, upload, in: zone)
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
    guard try await isGood(digest, in: zone) else {
      throw ServerError(ProtocolError.noValue(digest))
    }
    let piece = try await source.readValues(of: zone) {
      try $0.piece(of: digest, first: first, count: count)
    }
    guard let piece else {
      try await noteGone(from: digest, through: digest, in: zone)
      throw ServerError(ProtocolError.noValue(digest))
    }
    return piece
  }

  /// Notes as lost what is named, and neither here nor noted so: whoever has it hears that the zone lacks it, and sends it.
  func noteGone(from first: Data = Data(), through last: Data?, in zone: ZoneRecord) async throws {
    var first = first
    while true {
      let digests = try await source.readValues(of: zone) { [first] in
        try $0.gone(from: first, through: last, countMax: 100)
      }
      for digest in digests where try await write(zone, { try $0.noteGone(digest) }) {
        logger.error(
          "a large value is gone, and is missing until a replica sends it again",
          metadata: ["zone": "\(zone.name)", "value": "\(Hexadecimal.text(digest))"])
      }
      guard let end = digests.last, last == nil else { return }
      first = end + [0]
    }
  }

  /// Whether a whole value is what its digest says, where it was not looked at since the server was started: a disk, or a hand, may
  /// have changed its bytes. One that is not goes, so that it is missing and can be sent again; the log still names it.
  private func isGood(_ digest: Data, in zone: ZoneRecord) async throws -> Bool {
    guard !seen.has(digest, of: zone) else { return true }
    let whole = try await source.readValues(of: zone) { try $0.whole(digest) }
    // A value that is not there is missed by whoever reads it.
    guard let (row, length) = whole else { return true }
    let value = LargeValue(digest: digest, length: UInt64(clamping: length))
    if let value, try await isWhole(value, row, in: zone) {
      seen.note(digest, of: zone)
      return true
    }
    if try await write(zone, { try $0.lose(row, digest, length: length) }) {
      logger.error(
        "a large value is damaged, and is missing until a replica sends it again",
        metadata: ["zone": "\(zone.name)", "value": "\(Hexadecimal.text(digest))"])
    }
    return false
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

/// The values that were looked at since the server was started.
final class SeenValues: Sendable {
  private struct Place: Hashable {
    let zone: Int64
    let digest: Data
  }

  private let seen = Mutex<Set<Place>>([])
  /// Above it they are looked at anew.
  private static let remembered = 100_000

  func has(_ digest: Data, of zone: ZoneRecord) -> Bool {
    seen.withLock { $0.contains(Place(zone: zone.id, digest: digest)) }
  }

  func note(_ digest: Data, of zone: ZoneRecord) {
    seen.withLock { seen in
      if seen.count >= Self.remembered { seen = [] }
      seen.insert(Place(zone: zone.id, digest: digest))
    }
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
