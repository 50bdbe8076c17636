package import DriftlessProtocol
import DriftlessSQLite
package import Foundation
import Logging
import Synchronization

extension SQLiteZoneStorage {
  package var keepsValues: Bool { true }

  package func keep(
    _ piece: ValuePiece, of zone: ZoneRecord, token: String
  ) async throws -> ValueState {
    let (state, upload) = try await writer.perform { [limits, clock, folder] connection in
      do {
        try folder.reserve.requireRoom(piece.bytes.count)
        return try Self.keep(
          piece, of: zone, token: token, limits.current, at: clock.now(), on: connection)
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }
    if !piece.bytes.isEmpty { commits.checkpointLater() }
    // All is here: whoever sends, and however often, has it looked at. Others write meanwhile.
    if let upload { return try await finish(upload, of: piece.value, by: piece.replica, in: zone) }
    guard state.isWhole, try await !isGood(piece.value.digest, in: zone) else { return state }
    return ValueState(held: 0, isWhole: false)
  }

  /// - Returns: also the upload, when all of it is there and was not looked at.
  private static func keep(
    _ piece: ValuePiece, of zone: ZoneRecord, token: String, _ limits: ServerLimits,
    at milliseconds: Int64, on connection: SQLiteConnection
  ) throws -> (ValueState, upload: Int64?) {
    guard !connection.isMoved else { throw ServerError.databaseIsGone }
    // What the log names and the zone lacks is taken whatever the limits are by now, and takes nobody's room.
    let isLost = try LargeValues.isLost(piece.value, zone: zone.id, on: connection)
    while true {
      let hasRoomMade = try LargeValues.collect(
        at: milliseconds, first: zone.id, on: connection)
      guard isLost || limits.valueBytesMax > 0 else { throw ProtocolError.takesNoValues }
      try piece.check(bytesMax: isLost ? .max : limits.largestValue)
      do {
        return try take(
          piece, of: zone, token: isLost ? LargeValues.nobody : token, limits, at: milliseconds,
          on: connection)
      } catch let error as ServerError
        where [.diskFull, .zoneFull].contains(error.code) && hasRoomMade
      {
        continue
      }
    }
  }

  private static func take(
    _ piece: ValuePiece, of zone: ZoneRecord, token: String, _ limits: ServerLimits,
    at milliseconds: Int64, on connection: SQLiteConnection
  ) throws -> (ValueState, upload: Int64?) {
    try connection.transaction(.immediate) {
      guard try connection.zone(named: zone.name)?.generation == piece.generation else {
        throw ServerError.generationChanged(zone: zone.name)
      }
      let lease = milliseconds + Int64(limits.valueLeaseSeconds) * 1000
      let value = piece.value
      if let whole = try LargeValues.row(
        of: value, zone: zone.id, replica: LargeValues.whole, on: connection)
      {
        try LargeValues.renewLease(of: whole.id, until: lease, on: connection)
        try LargeValues.dropUploads(of: value.digest, zone: zone.id, on: connection)
        return (ValueState(held: whole.held, isWhole: true), nil)
      }
      var upload = try LargeValues.row(
        of: value, zone: zone.id, replica: .blob(piece.replica.bytes), on: connection)
      if upload == nil {
        if token != LargeValues.nobody {
          try checkRoom(for: value, of: zone, token: token, limits, connection)
        }
        upload = (
          try LargeValues.begin(
            value, zone: zone.id, replica: piece.replica, token: token, on: connection), 0
        )
      }
      guard var upload else { throw ServerError(ProtocolError.noValue(value.digest)) }
      if piece.first == upload.held, !piece.bytes.isEmpty {
        try LargeValues.add(piece.bytes, at: piece.first, of: upload.id, on: connection)
        upload.held += piece.bytes.count
      }
      try LargeValues.renewLease(of: upload.id, until: lease, on: connection)
      let isComplete = upload.held == Int(clamping: value.length)
      return (
        ValueState(held: upload.held, isWhole: false), isComplete ? upload.id : nil
      )
    }
  }

  private static func checkRoom(
    for value: LargeValue, of zone: ZoneRecord, token: String, _ limits: ServerLimits,
    _ connection: SQLiteConnection
  ) throws {
    let length = Int(clamping: value.length)
    if let most = zone.limits.largeValueBytesMax {
      let held = Int(clamping: try LargeValues.declaredBytes(of: zone.id, on: connection))
      guard length <= most - min(held, most) else {
        throw ServerError.zoneIsFull(
          zone, "largeValueBytesMax", "has \(held) bytes of large values, \(length) more would come"
        )
      }
    }
    let bounds: [(String, String, Int, Int64?, String?)] = [
      ("the zone", "unnamedValueBytesPerZoneMax", limits.unnamedValueBytesPerZoneMax, zone.id, nil),
      (
        "the token", "unnamedValueBytesPerTokenMax", limits.unnamedValueBytesPerTokenMax, zone.id,
        token
      ),
      ("the server", "unnamedValueBytesMax", limits.unnamedValueBytesMax, nil, nil),
    ]
    for (who, name, most, zone, token) in bounds {
      let used = try LargeValues.unnamedBytes(of: zone, token: token, on: connection)
      guard length <= most - min(used, most) else {
        throw ServerError(
          .diskFull,
          "\(who) has \(used) bytes of large values that no change set names so far; \(length) more "
            + "pass \(most) (\(name))",
          suggestion: "Push what names them, or try again when the others have gone; or have the "
            + "operator raise \(name).")
      }
    }
  }

  /// Looks whether an upload is what its digest says, a piece at a time, and makes it the zone's.
  private func finish(
    _ upload: Int64, of value: LargeValue, by replica: UUID, in zone: ZoneRecord
  ) async throws -> ValueState {
    var digest = LargeValue.Digest()
    let length = Int(clamping: value.length)
    while digest.count < value.length {
      let first = Int(clamping: digest.count)
      let piece = try await reader.perform {
        try LargeValues.piece(of: upload, first: first, on: $0)
      }
      guard !piece.isEmpty else { break }
      digest.add(piece)
    }
    let isGood = digest.isOf(value)
    try await writer.perform { connection in
      try connection.transaction(.immediate) {
        // Another request may have looked at it as well, and be done; its number may be another upload's by now.
        guard try LargeValues.isUpload(upload, of: value, by: replica, zone.id, on: connection)
        else { return }
        try LargeValues.finish(upload, of: value, zone: zone.id, isGood: isGood, on: connection)
      }
    }
    let isThere = try await missing([value], in: zone).isEmpty
    guard isThere else { throw ServerError(ProtocolError.damagedValue(value)) }
    seenValues.note(value.digest, of: zone)
    return ValueState(held: length, isWhole: true)
  }

  package func value(
    _ digest: Data, of zone: ZoneRecord, first: Int, count: Int
  ) async throws -> Data {
    guard try await isGood(digest, in: zone) else {
      throw ServerError(ProtocolError.noValue(digest))
    }
    let piece = try await reader.perform {
      try LargeValues.piece(of: digest, zone: zone.id, first: first, count: count, on: $0)
    }
    guard let piece else { throw ServerError(ProtocolError.noValue(digest)) }
    return piece
  }

  /// Whether a whole value is what its digest says, where it was not looked at since the server was started: a disk, or a hand, may
  /// have changed its bytes. One that is not goes, so that it is missing and can be sent again; the log still names it.
  private func isGood(_ digest: Data, in zone: ZoneRecord) async throws -> Bool {
    guard !seenValues.has(digest, of: zone) else { return true }
    let row = try await reader.perform { try LargeValues.wholeRow(digest, zone: zone.id, on: $0) }
    // A value that is not there is missed by whoever reads it.
    guard let row else { return true }
    let isGood = try await isGood(row.id, digest, row.length)
    guard !isGood else {
      seenValues.note(digest, of: zone)
      return true
    }
    let isGone = try await writer.perform { connection in
      try connection.transaction(.immediate) {
        guard try LargeValues.wholeRow(digest, zone: zone.id, on: connection)?.id == row.id
        else { return false }
        if let value = LargeValue(digest: digest, length: UInt64(clamping: row.length)) {
          try LargeValues.lose(row.id, of: value, zone: zone.id, on: connection)
        } else {
          try LargeValues.remove(row.id, on: connection)
        }
        return true
      }
    }
    if isGone {
      logger.error(
        "a large value is damaged, and is missing until a replica sends it again",
        metadata: ["zone": "\(zone.name)", "value": "\(Hexadecimal.text(digest))"])
    }
    return false
  }

  private func isGood(_ id: Int64, _ digest: Data, _ length: Int64) async throws -> Bool {
    guard let value = LargeValue(digest: digest, length: UInt64(clamping: length)) else {
      return false
    }
    var found = LargeValue.Digest()
    while found.count < value.length {
      let first = Int(clamping: found.count)
      let piece = try await reader.perform {
        try LargeValues.piece(of: id, first: first, on: $0)
      }
      guard !piece.isEmpty else { break }
      found.add(piece)
    }
    return found.isOf(value)
  }

  package func missing(
    _ values: [LargeValue], in zone: ZoneRecord
  ) async throws -> [LargeValue] {
    guard !values.isEmpty else { return [] }
    return try await reader.perform {
      try LargeValues.missing(values, zone: zone.id, on: $0)
    }
  }

  package func lostValues(
    of zone: ZoneRecord, after digest: Data, countMax: Int
  ) async throws -> [LargeValue] {
    try await reader.perform {
      try LargeValues.lost(of: zone.id, after: digest, countMax: countMax, on: $0)
    }
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

extension LargeValues {
  /// A whole value; nil where the zone does not have it.
  fileprivate static func wholeRow(
    _ digest: Data, zone: Int64, on connection: SQLiteConnection
  ) throws -> (id: Int64, length: Int64)? {
    let statement = try connection.prepare(
      "SELECT id, length FROM value WHERE zone = ? AND digest = ? AND replica = x''")
    defer { statement.reset() }
    statement.bind([.integer(zone), .blob(digest)])
    return try statement.step() ? (statement.int64(0), statement.int64(1)) : nil
  }

  fileprivate static func isUpload(
    _ id: Int64, of value: LargeValue, by replica: UUID, _ zone: Int64,
    on connection: SQLiteConnection
  ) throws -> Bool {
    try row(of: value, zone: zone, replica: .blob(replica.bytes), on: connection)?.id == id
  }
}
