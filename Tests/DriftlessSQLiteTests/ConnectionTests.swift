import CSQLite
import Foundation
import TestSupport
import Testing

@testable import DriftlessSQLite

/// SQLite's connection and statement.
struct ConnectionTests {
  @Test("Values of every kind come back as they went in")
  func valuesRoundTrip() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.execute("CREATE TABLE t (v)")
    let values: [SQLiteValue] = [
      .null, .integer(.min), .integer(.max), .real(.pi), .text(""), .text("a\u{0}b"),
      .text("👩‍👩‍👧 é e\u{301}"), .blob(Data()), .blob(Data([0, 255, 0])),
    ]
    for value in values { try connection.run("INSERT INTO t VALUES (?)", value) }
    let rows = try connection.rows("SELECT v FROM t ORDER BY rowid")
    #expect(rows.map { $0[0] } == values)
  }

  @Test("A value that is too large is an error, and no null; the statement goes on with the next")
  func tooLarge() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.execute("CREATE TABLE t (v)")
    sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, 1000)
    let long = String(repeating: "a", count: 1001)
    let statement = try connection.prepare("INSERT INTO t VALUES (?)")
    let tries: [() throws -> Void] = [
      {
        statement.bind(long, at: 1)
        try statement.run()
      },
      {
        statement.bind(Data(long.utf8), at: 1)
        _ = try statement.step()
      },
      { try statement.withBorrowed(long, at: 1) { try statement.run() } },
      { try statement.withBorrowed(Data(long.utf8), at: 1) { try statement.run() } },
    ]
    for refused in tries {
      #expect {
        try refused()
      } throws: {
        ($0 as? SQLiteError)?.words == "a value is larger than a database can hold"
      }
      statement.bind("short", at: 1)
      try statement.run()
    }
    #expect(try connection.scalar("SELECT count(*) FROM t WHERE v = 'short'") == .integer(4))
    #expect(try connection.scalar("SELECT count(*) FROM t") == .integer(4))
  }

  @Test("An empty text is a text, not null")
  func emptyText() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    #expect(try connection.scalar("SELECT typeof(?)", .text("")) == .text("text"))
    #expect(try connection.scalar("SELECT typeof(?)", .blob(Data())) == .text("blob"))
  }

  @Test("No connection checkpoints by itself or maps the file")
  func noAutomaticCheckpoint() throws {
    let directory = try TemporaryDirectory()
    let connection = try SQLiteConnection(
      path: directory.file("d.sqlite").path, mode: .readWriteCreate)
    #expect(try connection.scalar("PRAGMA wal_autocheckpoint") == .integer(0))
    #expect(try connection.scalar("PRAGMA mmap_size") ?? .integer(0) == .integer(0))
  }

  @Test("An error says what SQLite said, of which statement, and what to do")
  func errors() throws {
    let directory = try TemporaryDirectory()
    let garbage = directory.file("garbage")
    try Data(repeating: 7, count: 4096).write(to: garbage)
    let connection = try SQLiteConnection(path: garbage.path, mode: .readWrite)
    #expect {
      try connection.execute("SELECT * FROM sqlite_master")
    } throws: { error in
      guard let error = error as? SQLiteError else { return false }
      return error.isNotADatabase && error.suggestion.contains("not an SQLite database")
    }
    #expect {
      _ = try SQLiteConnection(path: directory.file("none").path, mode: .readOnly)
    } throws: { ($0 as? SQLiteError)?.cannotOpen == true }
  }

  @Test("A function may be called by SQL, with texts that hold NUL")
  func functions() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.createFunction("twice", argc: 1, deterministic: true) { operands in
      guard case .text(let text) = operands[0] else { return .null }
      return .text(text + text)
    }
    #expect(try connection.scalar("SELECT twice(?)", .text("a\u{0}")) == .text("a\u{0}a\u{0}"))
    #expect(try connection.scalar("SELECT twice(1)") == .null)
  }

  @Test("A statement that failed can run again")
  func failedStatement() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.execute("CREATE TABLE t (v INTEGER UNIQUE)")
    try connection.run("INSERT INTO t VALUES (?)", .integer(1))
    #expect {
      try connection.run("INSERT INTO t VALUES (?)", .integer(1))
    } throws: { ($0 as? SQLiteError)?.isConstraint == true }
    try connection.run("INSERT INTO t VALUES (?)", .integer(2))
    #expect(try connection.scalar("SELECT COUNT(*) FROM t") == .integer(2))
  }

  private static func bytes(_ what: Int32, of connection: SQLiteConnection) -> Int {
    var (bytes, most) = (Int32(0), Int32(0))
    sqlite3_db_status(connection.handle, what, &bytes, &most, 0)
    return Int(bytes)
  }

  @Test("A statement that is kept for the next time keeps none of the megabytes that it ran with")
  func largeBindings() throws {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.execute("CREATE TABLE t (number INTEGER, v)")
    let large = Data(repeating: 7, count: 4 << 20)
    func kept() -> Int { Self.bytes(SQLITE_DBSTATUS_STMT_USED, of: connection) }
    try connection.run("INSERT INTO t VALUES (?, ?)", .integer(1), .blob(large))
    #expect(kept() < 1 << 20)
    #expect(try connection.scalar("SELECT length(?)", .blob(large)) == .integer(4 << 20))
    #expect(kept() < 1 << 20)
    try connection.run("INSERT INTO t VALUES (?, ?)", [.integer(2)], lending: large)
    #expect(kept() < 1 << 20)
    try connection.run("INSERT INTO t VALUES (?, ?)", [.integer(3)], lending: Data())
    #expect(
      try connection.rows("SELECT number, length(v) FROM t") == [
        [.integer(1), .integer(4 << 20)], [.integer(2), .integer(4 << 20)],
        [.integer(3), .integer(0)],
      ])
  }

  @Test("A cache for work that passes over a file is let go of; one that held little stays")
  func passingCache() throws {
    let directory = try TemporaryDirectory()
    let connection = try SQLiteConnection(
      path: directory.file("c.sqlite").path, mode: .readWriteCreate)
    try connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, v)")
    for _ in 0..<12 {
      try connection.run("INSERT INTO t(v) VALUES (?)", .blob(Data(repeating: 1, count: 1 << 20)))
    }
    func sum(_ condition: String) throws -> SQLiteValue? {
      try connection.scalar("SELECT sum(length(substr(v, 2))) FROM t WHERE \(condition)")
    }
    try connection.withCache(kibibytes: 8_192) {
      let one = try sum("number = 1")
      #expect(one == .integer(1 << 20 - 1))
    }
    #expect(connection.cacheBytes > 1 << 20)
    try connection.withCache(kibibytes: 8_192) {
      let all = try sum("number > 0")
      #expect(all == .integer(12 << 20 - 12))
      #expect(connection.cacheBytes > 6 << 20)
    }
    #expect(connection.cacheBytes < 1 << 20)
  }

  @Test("What to do about a failure is told in words, never as a result code")
  func suggestions() {
    for code in Int32(1)...101 {
      for extended in Int32(0)...20 {
        let error = SQLiteError(code: code | extended << 8, message: "")
        #expect(!error.suggestion.isEmpty)
        #expect(!error.suggestion.contains { $0.isNumber }, "\(code): \(error.suggestion)")
      }
    }
  }
}
