import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// What stands in a column and cannot be read is nobody's value: no other replica gets what is shown in its place.
struct UnreadableValueTests {
  private let clock = ManualClock()
  private let zone: MemoryZone

  init() { zone = MemoryZone(clock: clock) }

  private func replica(_ name: String, enrolled: Bool = true) async throws -> TestReplica {
    try await TestReplica(
      name, zone: zone, clock: clock, model: staffModel(), enrolled: enrolled)
  }

  /// As another program would write it.
  private func spoil(_ replica: TestReplica, _ column: String = "ZTEXT", in table: String = "ZNOTE")
    throws
  {
    let raw = try SQLiteConnection(path: #require(replica.store.url).path, mode: .readWrite)
    defer { raw.close() }
    try raw.execute("UPDATE \(table) SET \(column) = x'ff00' WHERE Z_PK = 1")
  }

  @Test("A new object with such a value waits with its reason, and the rest goes")
  func inserted() async throws {
    let (a, b) = (try await replica("a", enrolled: false), try await replica("b"))
    let bad = try a.insert("Note", ["text": .string("one")])
    let good = try a.insert("Note", ["text": .string("two")])
    try spoil(a)
    try await a.enroll()
    for _ in 0..<2 {
      try await a.sync()
      try await b.sync()
    }
    #expect(try !b.exists(bad))
    #expect(try b.value(good, "text") == .string("two"))
    let entry = try #require(try SyncEngine.quarantine(of: a.store).first)
    #expect(entry.code == "unreadable-value" && entry.object == bad)
    #expect(entry.reason.contains("Note.text"), "\(entry.reason)")
    #expect(entry.suggestion.contains("syncctl import"))
    #expect(try a.status.pending.objects == 1)
    // Set anew, it goes.
    try a.set(bad, ["text": .string("mended")])
    try await a.sync()
    try await b.sync()
    #expect(try b.value(bad, "text") == .string("mended"))
    #expect(try SyncEngine.quarantine(of: a.store).isEmpty)
    #expect(try a.export == b.export)
  }

  @Test("An edit of another property goes, one of such a property waits")
  func updated() async throws {
    let (a, b) = (try await replica("a"), try await replica("b"))
    let id = try a.insert("Person", ["email": .string("x"), "name": .string("n")])
    try await a.sync()
    try await b.sync()
    try spoil(a, "ZNAME", in: "ZPERSON")
    try a.set(id, ["email": .string("y")])
    try await a.sync()
    try await b.sync()
    #expect(try b.value(id, "email") == .string("y"))
    #expect(try b.value(id, "name") == .string("n"))
    #expect(try SyncEngine.quarantine(of: a.store).isEmpty)
    try a.set(id, ["name": .string("m")])
    try spoil(a, "ZNAME", in: "ZPERSON")
    try await a.sync()
    try await b.sync()
    #expect(try b.value(id, "name") == .string("n"))
    #expect(try SyncEngine.quarantine(of: a.store).count == 1)
  }

  @Test("An export says which value of which object cannot be read")
  func exported() async throws {
    let a = try await replica("a")
    let id = try a.insert("Note", ["text": .string("one")])
    try spoil(a)
    let error = #expect(throws: StoreError.self) { try ReplicaExport.text(of: a.store) }
    #expect(error?.code == .damaged)
    #expect(error?.message.contains("Note.text of \(id.uuidString.lowercased())") == true)
    #expect(error?.message.contains("2 bytes") == true, "\(error?.message ?? "")")
  }
}
