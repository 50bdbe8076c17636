package import DriftlessProtocol
import DriftlessSQLite
package import Foundation

extension SQLiteZoneStorage {
  package var keepsValues: Bool { true }

  package func keep(
    _ piece: ValuePiece, of zone: ZoneRecord, token: String
  ) async throws -> ValueState {
    let (state, upload) = try await writer.perform { [limits, clock] connection in
      do {
        return try Self.keep(
          piece, of: zone, token: token, limits.current, at: clock.now(), on: connection)
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }
    if !piece.bytes.isEmpty { commits.checkpointLater() }
    // All is here: whoever sends, and however often, has it looked at. Others write meanwhile.
    guard let upload else { return state }
    return try await finish(upload, of: piece.value, in: zone)
  }

  /// - Returns: also the upload, when all of it is there and was not looked at.
  private static func keep(
    _ piece: ValuePiece, of zone: ZoneRecord, token: String, _ limits: ServerLimits,
    at milliseconds: Int64, on connection: SQLiteConnection
  ) throws -> (ValueState, upload: Int64?) {
    guard !connection.isMoved else { throw ServerError.databaseIsGone }
    try piece.check(bytesMax: limits.valueBytesMax)
    return try connection.transaction(.immediate) {
      guard try connection.zone(named: zone.name)?.generation == piece.generation else {
        throw ServerError.generationChanged(zone: zone.name)
      }
      try LargeValues.collect(at: milliseconds, on: connection)
      let lease = milliseconds + Int64(limits.valueLeaseSeconds) * 1000
      let value = piece.value
      if let whole = try LargeValues.row(
        of: value, zone: zone.id, replica: LargeValues.whole, on: connection)
      {
        try LargeValues.renewLease(of: whole.id, until: lease, on: connection)
        return (ValueState(held: whole.held, isWhole: true), nil)
      }
      var upload = try LargeValues.row(
        of: value, zone: zone.id, replica: .blob(piece.replica.bytes), on: connection)
      if upload == nil {
        try checkRoom(for: value, of: zone, token: token, limits, connection)
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
    let bounds = [
      ("the zone", "unnamedValueBytesPerZoneMax", limits.unnamedValueBytesPerZoneMax, nil),
      ("the token", "unnamedValueBytesPerTokenMax", limits.unnamedValueBytesPerTokenMax, token),
    ]
    for (who, name, most, token) in bounds {
      let used = try LargeValues.unnamedBytes(of: zone.id, token: token, on: connection)
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
    _ upload: Int64, of value: LargeValue, in zone: ZoneRecord
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
        // Another request may have looked at it as well, and be done.
        guard try LargeValues.isUpload(upload, on: connection) else { return }
        try LargeValues.finish(upload, of: value, zone: zone.id, isGood: isGood, on: connection)
      }
    }
    let isThere = try await missing([value], in: zone).isEmpty
    guard isThere else { throw ServerError(ProtocolError.damagedValue(value)) }
    return ValueState(held: length, isWhole: true)
  }

  package func value(
    _ digest: Data, of zone: ZoneRecord, first: Int, count: Int
  ) async throws -> Data {
    let piece = try await reader.perform {
      try LargeValues.piece(of: digest, zone: zone.id, first: first, count: count, on: $0)
    }
    guard let piece else { throw ServerError(ProtocolError.noValue(digest)) }
    return piece
  }

  package func missing(
    _ values: [LargeValue], in zone: ZoneRecord
  ) async throws -> [LargeValue] {
    guard !values.isEmpty else { return [] }
    return try await reader.perform {
      try LargeValues.missing(values, zone: zone.id, on: $0)
    }
  }
}

extension LargeValues {
  fileprivate static func isUpload(
    _ id: Int64, on connection: SQLiteConnection
  ) throws -> Bool {
    try connection.scalar(
      "SELECT 1 FROM value WHERE id = ? AND replica <> x''", .integer(id)) != nil
  }
}
