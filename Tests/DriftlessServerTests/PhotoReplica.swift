import DriftlessProtocol
import Foundation
import Testing

@testable import DriftlessServer

/// A replica whose boxes have photos, which are large values.
struct PhotoReplica {
  let id = UUID()
  private var number: UInt64 = 0

  static func photo(_ seed: UInt8) -> Data { Data(repeating: seed, count: 2000) }
  static func value(_ seed: UInt8) throws -> LargeValue {
    try #require(LargeValue(of: photo(seed)))
  }

  func piece(_ seed: UInt8, of zone: ZoneRecord) throws -> ValuePiece {
    ValuePiece(
      value: try Self.value(seed), replica: id, generation: zone.generation, first: 0,
      bytes: Self.photo(seed))
  }

  func send(_ seed: UInt8, to storage: any ZoneStorage, _ zone: ZoneRecord) async throws {
    let state = try await storage.keep(try piece(seed, of: zone), of: zone, token: "t")
    #expect(state.isWhole)
  }

  /// A new box with a photo, or one that there is with another photo.
  mutating func frame(_ seed: UInt8, in box: UInt64? = nil, of zone: ZoneRecord) throws -> Data {
    number += 1
    var index = ChangeSetIndex()
    index.entities = [.init(name: "Box", properties: ["photo"])]
    if let box {
      index.knownNumbers = [box]
    } else {
      index.newObjects = [.init(entity: 0, identities: .range(first: UUID(), count: 1))]
    }
    index.transactions = [.init(hybridTime: (1_700_000_000_000 + number) << 16)]
    index.groups = [
      .init(
        kind: box == nil ? .insert : .update, entity: 0, properties: [0],
        objects: ObjectIndexes(0..<1), transactionRuns: [.init(transaction: 0, count: 1)])
    ]
    var rows = ByteRows()
    rows.append(Data(try Self.value(seed).bytes))
    return try ChangeSetEncoder().encode(
      ChangeSet(
        header: ChangeSetHeader(
          replica: id, pushNumber: number,
          cursor: Cursor(generation: zone.generation, sequence: zone.head, chain: zone.chain)),
        index: index, columns: [Column(.bytes(rows), large: RowBitmap([0]))]))
  }

  mutating func push(_ seed: UInt8, in box: UInt64? = nil, of zone: ZoneRecord) throws -> Push {
    try PushReader(limits: .init()).read(frame(seed, in: box, of: zone))
  }

  /// Sends a photo, and pushes a box with it.
  mutating func show(
    _ seed: UInt8, in box: UInt64? = nil, to storage: any ZoneStorage, _ zone: ZoneRecord
  ) async throws {
    try await send(seed, to: storage, zone)
    _ = try await storage.append(push(seed, in: box, of: zone), to: zone)
  }
}
