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
    func write() async throws -> Result {
      try await commits.write(bytes: bytes) {
        try body(SQLiteValueTables(connection: $0, zone: zone))
      }
    }
    guard bytes > 0 else { return try await write() }
    return try await staging.run(of: zone.id, cost: bytes, most: limits.current.queuedPushesMax) {
      try await write()
    }
  }
}
