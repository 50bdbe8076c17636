import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

extension SQLiteZoneStorage: ValueStorage, ValueSource {
  package var values: any KeptValues { keeping }

  private var keeping: ValueKeeping<SQLiteZoneStorage> {
    ValueKeeping(source: self, seen: seenValues, limits: limits, clock: clock, logger: logger)
  }

  /// A hand, or a disk, may have taken some while the server was off.
  func noteGoneValues() async {
    await keeping.noteGone(ofAll: { try await reader.perform { try $0.zones() } })
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
    let result = try await writer.perform { [folder] connection in
      do {
        guard !connection.isMoved else { throw ServerError.databaseIsGone }
        // Before a piece takes the room that operators' commands need.
        if bytes > 0 { try folder.reserve.requireRoom(bytes, connection) }
        return try body(SQLiteValueTables(connection: connection, zone: zone))
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }
    if bytes > 0 { commits.checkpointLater() }
    return result
  }
}
