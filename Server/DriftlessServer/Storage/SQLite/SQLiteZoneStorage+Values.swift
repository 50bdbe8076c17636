package import DriftlessProtocol
import DriftlessSQLite
package import Foundation

extension SQLiteZoneStorage: ValueSource {
  package var keepsValues: Bool { true }

  private var values: ValueKeeping<SQLiteZoneStorage> {
    ValueKeeping(source: self, seen: seenValues, limits: limits, clock: clock, logger: logger)
  }

  package func keep(
    _ piece: ValuePiece, of zone: ZoneRecord, token: String
  ) async throws -> ValueState {
    try folder.reserve.requireRoom(piece.bytes.count)
    return try await values.keep(piece, of: zone, token: token)
  }

  package func value(
    _ digest: Data, of zone: ZoneRecord, first: Int, count: Int
  ) async throws -> Data {
    try await values.value(digest, of: zone, first: first, count: count)
  }

  package func missing(
    _ values: [LargeValue], in zone: ZoneRecord
  ) async throws -> [LargeValue] {
    try await self.values.missing(values, in: zone)
  }

  package func lostValues(
    of zone: ZoneRecord, after digest: Data, countMax: Int
  ) async throws -> [LargeValue] {
    try await values.lost(of: zone, after: digest, countMax: countMax)
  }

  func readValues<Result: Sendable>(
    of zone: ZoneRecord, _ body: @escaping @Sendable (SQLiteValueTables) throws -> Result
  ) async throws -> Result {
    try await reader.perform { try body(SQLiteValueTables(connection: $0, zone: zone)) }
  }

  func writeValues<Result: Sendable>(
    of zone: ZoneRecord, bytes: Int,
    _ body: @escaping @Sendable (SQLiteValueTables) throws -> Result
  ) async throws -> Result {
    let result = try await writer.perform { connection in
      do {
        guard !connection.isMoved else { throw ServerError.databaseIsGone }
        return try body(SQLiteValueTables(connection: connection, zone: zone))
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }
    if bytes > 0 { commits.checkpointLater() }
    return result
  }
}
