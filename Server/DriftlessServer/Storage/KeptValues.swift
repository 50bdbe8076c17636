package import DriftlessProtocol
package import Foundation

/// Large values of a storage, as `ZoneStorage` asks for them.
package protocol KeptValues: Sendable {
  func keep(_ piece: ValuePiece, of zone: ZoneRecord, token: String) async throws -> ValueState
  func value(_ digest: Data, of zone: ZoneRecord, first: Int, count: Int) async throws -> Data
  func missing(_ values: [LargeValue], in zone: ZoneRecord) async throws -> [LargeValue]
  func lost(of zone: ZoneRecord, after digest: Data, countMax: Int) async throws -> [LargeValue]
}

/// A storage that keeps large values.
package protocol ValueStorage: ZoneStorage {
  var values: any KeptValues { get }
}

extension ValueStorage {
  package var keepsValues: Bool { true }

  package func keep(
    _ piece: ValuePiece, of zone: ZoneRecord, token: String
  ) async throws -> ValueState {
    try await values.keep(piece, of: zone, token: token)
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
}
