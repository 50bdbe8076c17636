import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Another program writes to a replica's file, and to no history: nothing of it is pending.
struct UnheardWriteTests {
  private let clock = ManualClock()
  private let zone: MemoryZone

  init() { zone = MemoryZone(clock: clock) }

  private func replica(_ name: String) async throws -> TestReplica {
    try await TestReplica(name, zone: zone, clock: clock, model: staffModel())
  }

  private func execute(_ sql: String, on replica: TestReplica) throws {
    let raw = try SQLiteConnection(path: #require(replica.store.url).path, mode: .readWrite)
    defer { raw.close() }
    try raw.execute(sql)
  }

  @Test(
    "What was written without a history is told, and one call makes edits of it, which go to the zone"
  )
  func takenIn() async throws {
    let (a, b) = (try await replica("a"), try await replica("b"))
    let note = try a.insert("Note", ["text": .string("one")])
    let person = try a.insert("Person", ["email": .string("p"), "visits": .integer(1)])
    try await a.sync()
    try await b.sync()
    #expect(try SyncEngine.unheardObjects(of: a.store).isEmpty)
    try execute(
      """
      UPDATE ZNOTE SET ZTEXT = 'two', Z_OPT = Z_OPT + 1;
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) SELECT 2, Z_ENT, 1, 'new' FROM ZNOTE;
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_NAME = 'Note'
      """, on: a)
    let unheard = try SyncEngine.unheardObjects(of: a.store)
    #expect(unheard.map(\.entity) == ["Note"])
    let finding = try SyncEngine.check(a.store).findings
    #expect(finding.count == 1)
    #expect(finding.first?.message.contains(unheard[0].object.uuidString.lowercased()) == true)
    #expect(finding.first?.suggestion.contains("--take-in") == true)
    // No push tells of it.
    try await a.sync()
    try await b.sync()
    #expect(try b.value(note, "text") == .string("one"))
    let report = try await a.engine.verify()
    #expect(report.differenceCount == 2, "\(report.differences)")
    #expect(try SyncEngine.takeIn(report, of: a.store) == 2)
    #expect(try SyncEngine.check(a.store).findings == [])
    try await a.sync()
    try await b.sync()
    #expect(try b.value(note, "text") == .string("two"))
    #expect(try b.value(unheard[0].object, "text") == .string("new"))
    #expect(try a.export == b.export)
    #expect(try await a.engine.verify().isEqual)
    #expect(try b.exists(person))
  }

  @Test("What is missing here is no delete, and what was counted nobody knows")
  func left() async throws {
    let (a, b) = (try await replica("a"), try await replica("b"))
    let note = try a.insert("Note", ["text": .string("one")])
    let person = try a.insert("Person", ["email": .string("p"), "visits": .integer(1)])
    try await a.sync()
    try await b.sync()
    try execute("DELETE FROM ZNOTE; UPDATE ZPERSON SET ZVISITS = 7", on: a)
    #expect(try SyncEngine.takeIn(await a.engine.verify(), of: a.store) == 0)
    try await a.sync()
    try await b.sync()
    #expect(try b.exists(note))
    #expect(try await a.engine.repair().isEqual)
    #expect(try a.exists(note))
    #expect(try a.value(person, "visits") == .integer(1))
  }
}
