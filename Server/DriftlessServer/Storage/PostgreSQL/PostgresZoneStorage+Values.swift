#if PostgreSQL
  package import DriftlessProtocol
  package import Foundation

  /// Large values are not kept in PostgreSQL: clients are told so, and send them within their change sets.
  extension PostgresZoneStorage {
    package var keepsValues: Bool { false }

    package func keep(
      _ piece: ValuePiece, of zone: ZoneRecord, token: String
    ) async throws -> ValueState {
      throw ServerError(ProtocolError.takesNoValues)
    }

    package func value(
      _ digest: Data, of zone: ZoneRecord, first: Int, count: Int
    ) async throws -> Data {
      throw ServerError(ProtocolError.noValue(digest))
    }

    package func missing(
      _ values: [LargeValue], in zone: ZoneRecord
    ) async throws -> [LargeValue] { values }
  }

  extension PostgresZoneTables {
    func missing(_ values: [LargeValue], zone: Int64) throws -> [LargeValue] { values }
    func use(_ values: [LargeValue], zone: Int64, sequence: UInt64) throws {}
  }
#endif
