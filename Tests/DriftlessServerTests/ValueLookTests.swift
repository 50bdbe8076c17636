import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import DriftlessServer

/// A large value is read as a whole before its first reader gets some of it.
@Suite("Looks at large values")
struct ValueLookTests {
  /// A data folder's values, of which each that is asked for is looked for by so many before any is read.
  private struct Counted: ValueSource {
    let storage: SQLiteZoneStorage
    let readers: Int
    let reads = Count()

    final class Count: Sendable { let value = Atomic(0) }

    func readValues<Result: Sendable>(
      of zone: ZoneRecord, _ body: @escaping @Sendable (SQLiteValueTables) throws -> Result
    ) async throws -> Result {
      let (_, count) = reads.value.wrappingAdd(1, ordering: .relaxed)
      if count <= readers {
        while reads.value.load(ordering: .relaxed) < readers { await Task.yield() }
      }
      return try await storage.readValues(of: zone, body)
    }

    func writeValues<Result: Sendable>(
      of zone: ZoneRecord, bytes: Int,
      _ body: @escaping @Sendable (SQLiteValueTables) throws -> Result
    ) async throws -> Result {
      try await storage.writeValues(of: zone, bytes: bytes, body)
    }
  }

  @Test("However many ask for a value first, it is read once", arguments: [true, false])
  func once(isGood: Bool) async throws {
    var limits = ServerLimits()
    limits.valueBytesMax = 1 << 20
    let test = try TestZone(limits: limits)
    let zone = try await test.zone()
    try await PhotoReplica().send(1, to: test.storage, zone)
    if !isGood {
      try test.storage.writer.run {
        try $0.execute("UPDATE value_piece SET bytes = zeroblob(length(bytes))")
      }
    }
    let readers = 10
    let source = Counted(storage: test.storage, readers: readers)
    let keeping = ValueKeeping(
      source: source, seen: SeenValues(), limits: LiveLimits(limits), clock: test.storage.clock,
      logger: Logger(label: "test"))
    let value = try PhotoReplica.value(1)
    let read = try await withThrowingTaskGroup(of: Data?.self) { group in
      for _ in 0..<readers {
        group.addTask {
          do {
            return try await keeping.value(value.digest, of: zone, first: 0, count: 5000)
          } catch let error as ServerError where error.code.name == "no-value" {
            return nil
          }
        }
      }
      return try await group.reduce(into: [Data?]()) { $0.append($1) }
    }
    #expect(read == Array(repeating: isGood ? PhotoReplica.photo(1) : nil, count: readers))
    // Each asks whether it is there, and for its piece; one reads it.
    if isGood { #expect(source.reads.value.load(ordering: .relaxed) == 2 * readers + 1) }
  }
}
