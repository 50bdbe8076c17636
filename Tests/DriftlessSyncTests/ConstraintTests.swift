import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import Testing

/// What a row keeps by itself, its table declares: SQLite refuses a row that breaks it, whoever writes.
struct ConstraintTests {
  @Test("Every table that is Driftless's own declares what its rows keep")
  func tables() async throws {
    let world = try await World(1)
    let tables = try world[0].store.read { transaction in
      try transaction.connection.rows(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name GLOB 'ZDL_*'")
    }
    #expect(tables.count == 37)
    for table in tables {
      guard case .text(let name) = table[0], case .text(let statement) = table[1] else {
        Issue.record("a table without a statement")
        continue
      }
      #expect(statement.contains("CHECK ("), "\(name) declares nothing")
    }
  }

  @Test(
    "A row that breaks a rule is not written",
    arguments: [
      "INSERT INTO ZDL_STORE VALUES ('anything', NULL)",
      "INSERT INTO ZDL_FORMER VALUES (1, 'one')",
      "INSERT INTO ZDL_HISTORY_READER VALUES ('app', 'far')",
      "INSERT INTO ZDL_PARKED_VALUE VALUES (1, 1, 'stock', x'00', -1, zeroblob(16), '', 0)",
      "INSERT INTO ZDL_STRUCK VALUES (0, 'stock', 1)",
      "INSERT INTO ZDL_QUARANTINE VALUES (1, 1, 'code', 'reason', '', -1, 0, 0)",
      "INSERT INTO ZDL_IMPORT VALUES (0, 0, NULL, NULL)",
      "INSERT INTO ZDL_DANGLING VALUES (1, 1, 1, 2, 'box', 'news', NULL)",
      "INSERT INTO ZDL_DELETED VALUES (zeroblob(15), 1, 1, 0, 0, 0)",
      "INSERT INTO ZDL_DELETED VALUES (zeroblob(16), 1, 1, 0, 0, 2)",
      "INSERT INTO ZDL_DELETED_SINCE VALUES (zeroblob(15), 0)",
      "INSERT INTO ZDL_ZONE VALUES (1, 1, '', 'gone', x'00', 0, zeroblob(16), 0)",
      "INSERT INTO ZDL_OMITTED VALUES (1, 1, x'00')",
      "INSERT INTO ZDL_KEPT VALUES (1, 1, 'code', 'text', 0, zeroblob(16), 0)",
      "INSERT INTO ZDL_LACKED VALUES (1, 1, 'code', 'text', zeroblob(16), 0, 0)",
    ])
  func rows(_ statement: String) async throws {
    let world = try await World(1)
    let error = #expect(throws: StoreError.self) {
      _ = try world[0].store.write(TransactionInfo()) { try $0.connection.execute(statement) }
    }
    #expect(error?.message.contains("CHECK constraint failed") == true, "\(error?.message ?? "")")
    #expect(error?.code == .brokenRule)
    #expect(try SyncEngine.check(world[0].store).findings == [])
  }

  @Test(
    "What a later program may know more of is not declared, since a declaration stays in the file: a check names it",
    arguments: [
      "INSERT INTO ZDL_PARKED VALUES (1, 1, 0, 'because', '', NULL, 0, 0, '', x'00')",
      """
      INSERT INTO ZDL_JOURNAL(object, entity, policy, outcome, origin, local_time, remote_time,
      transaction_number, sequence, explanation)
      VALUES (zeroblob(16), 'Item', 'manual', 'neither', zeroblob(16), 0, 0, 0, 0, '')
      """,
      "INSERT INTO ZDL_ZONE VALUES (1, 1, '', 99, x'00', 0, zeroblob(16), 0)",
    ])
  func newerRows(_ statement: String) async throws {
    let world = try await World(1)
    _ = try world[0].store.write(TransactionInfo()) { try $0.connection.execute(statement) }
    #expect(try !SyncEngine.check(world[0].store).findings.isEmpty)
  }

  private func declaration(_ table: String, _ replica: TestReplica) throws -> String {
    let rows = try replica.store.read {
      try $0.connection.rows("SELECT sql FROM sqlite_master WHERE name = ?", .text(table))
    }
    guard case .text(let text)? = rows.first?.first else { return "" }
    return text
  }

  /// A journal as an earlier program made it, whose table declares something else, with a row.
  private func age(
    _ replica: TestReplica, _ declared: String, outcome: String
  ) async throws {
    let now = try declaration("ZDL_JOURNAL", replica)
    let before = now.replacingOccurrences(
      of: "CHECK (typeof(\"outcome\") = 'text')", with: declared)
    #expect(before != now)
    try replica.write {
      try $0.connection.execute(
        """
        DROP TABLE ZDL_JOURNAL; \(before);
        INSERT INTO ZDL_JOURNAL(object, entity, policy, outcome, origin, local_time, remote_time,
        transaction_number, sequence, explanation)
        VALUES (zeroblob(16), 'Item', 'manual', \(outcome), zeroblob(16), 0, 0, 1, 0, 'why')
        """)
      try $0.setSetting("sync.tables", .integer(8))
    }
    await replica.restart()
    try await replica.sync()
  }

  @Test(
    "A table of an earlier program declares what this one does once the store syncs, and keeps its rows"
  )
  func redeclared() async throws {
    let world = try await World(2)
    let now = try declaration("ZDL_JOURNAL", world[0])
    try world[0].insert("Item", ["title": .string("a")])
    try await world.settle()
    try await age(world[0], "CHECK (outcome IN ('local'))", outcome: "'local'")
    #expect(try declaration("ZDL_JOURNAL", world[0]) == now)
    #expect(try world[0].conflicts.count == 1)
    try await world.settle()
  }

  @Test("A table with a row that breaks a rule stays as it is, and a check names the row")
  func notRedeclared() async throws {
    let world = try await World(1)
    let now = try declaration("ZDL_JOURNAL", world[0])
    try await age(world[0], "CHECK (true)", outcome: "x'05'")
    #expect(try declaration("ZDL_JOURNAL", world[0]) != now)
    #expect(try !SyncEngine.check(world[0].store).findings.isEmpty)
  }

  @Test("A view of somebody else's on a table that is gone stops no sync")
  func foreignView() async throws {
    let world = try await World(1)
    try world[0].write {
      try $0.connection.execute(
        "CREATE TABLE gone(a); CREATE VIEW others AS SELECT a FROM gone; DROP TABLE gone")
    }
    try await age(world[0], "CHECK (true)", outcome: "'local'")
    try world[0].insert("Item", ["title": .string("a")])
    try await world[0].sync()
    #expect(try world[0].status.pending.objects == 0)
  }
}
