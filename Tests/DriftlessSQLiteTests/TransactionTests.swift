import Foundation
import TestSupport
import Testing

@testable import DriftlessSQLite

/// Transactions, parts of them, and states that are read.
struct TransactionTests {
  private struct Refused: Error {}

  private func connection() throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: "", mode: .inMemory)
    try connection.execute("CREATE TABLE t (v INTEGER UNIQUE)")
    return connection
  }

  private func values(_ connection: SQLiteConnection) throws -> [Int64] {
    try connection.rows("SELECT v FROM t ORDER BY v").map {
      guard case .integer(let value) = $0[0] else { return -1 }
      return value
    }
  }

  private func add(_ value: Int64, to connection: SQLiteConnection) throws {
    try connection.run("INSERT INTO t VALUES (?)", .integer(value))
  }

  @Test("What throws in a transaction leaves nothing, and the connection is free for the next")
  func thrown() throws {
    let connection = try connection()
    for start: SQLiteConnection.TransactionStart in [.deferred, .immediate, .exclusive] {
      #expect(throws: Refused.self) {
        try connection.transaction(start) {
          try add(1, to: connection)
          throw Refused()
        }
      }
      #expect(!connection.isInTransaction)
    }
    try connection.transaction(.immediate) { try add(2, to: connection) }
    #expect(try values(connection) == [2])
  }

  @Test("Who waits for another writer is told so, and who need not wait is not")
  func waits() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a.sqlite").path
    let first = try SQLiteConnection(path: path, mode: .readWriteCreate)
    try first.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (v INTEGER UNIQUE)")
    let second = try SQLiteConnection(path: path, mode: .readWrite, busyTimeoutMilliseconds: 20)
    var waits = 0
    second.whileWaiting = { wait in
      waits += 1
      try wait()
    }
    try second.transaction(.immediate) { try add(1, to: second) }
    #expect(waits == 0)
    try first.transaction(.immediate) {
      let error = #expect(throws: SQLiteError.self) { try second.transaction(.immediate) {} }
      #expect(error?.isBusy == true)
    }
    #expect(waits == 1 && second.busyTimeoutMilliseconds == 20)
    second.whileWaiting = { wait in
      try first.execute("COMMIT")
      try wait()
    }
    try first.execute("BEGIN IMMEDIATE")
    try second.transaction(.immediate) { try add(2, to: second) }
    #expect(try values(first) == [1, 2])
  }

  @Test(
    "A part that throws is taken back with its own parts, and the rest of the transaction stands")
  func parts() throws {
    let connection = try connection()
    try connection.transaction(.immediate) {
      try add(1, to: connection)
      #expect(throws: Refused.self) {
        try connection.savepoint {
          try add(2, to: connection)
          try connection.savepoint { try add(3, to: connection) }
          throw Refused()
        }
      }
      try connection.savepoint {
        try add(4, to: connection)
        try? connection.savepoint {
          try add(5, to: connection)
          throw Refused()
        }
      }
    }
    #expect(try values(connection) == [1, 4])
  }

  @Test("What is probed is taken back, whether it throws or not")
  func probed() throws {
    let connection = try connection()
    try connection.transaction(.immediate) {
      try add(1, to: connection)
      let seen = try connection.probing {
        try add(2, to: connection)
        return try values(connection)
      }
      #expect(seen == [1, 2])
      #expect(throws: Refused.self) {
        try connection.probing {
          try add(3, to: connection)
          throw Refused()
        }
      }
    }
    #expect(try values(connection) == [1])
  }

  /// As a full disk has SQLite end a transaction by itself.
  private func endByItself(_ connection: SQLiteConnection) throws {
    try connection.execute("INSERT OR ROLLBACK INTO t SELECT 1 UNION ALL SELECT 1")
  }

  @Test(
    "Where SQLite has ended the transaction by itself, its own error is told and no part is committed alone"
  )
  func endedByItself() throws {
    let connection = try connection()
    #expect {
      try connection.transaction(.immediate) {
        try connection.probing { try endByItself(connection) }
      }
    } throws: { ($0 as? SQLiteError)?.isConstraint == true }
    // Who goes on after the error writes in no transaction: a part would be one by itself, and stay.
    #expect(throws: SQLiteError.self) {
      try connection.transaction(.immediate) {
        try add(7, to: connection)
        try? connection.savepoint { try endByItself(connection) }
        try connection.savepoint { try add(8, to: connection) }
      }
    }
    #expect(throws: SQLiteError.self) {
      try connection.transaction(.immediate) {
        try add(7, to: connection)
        try? endByItself(connection)
      }
    }
    #expect(try values(connection).isEmpty)
    #expect(!connection.isInTransaction)
    #expect(throws: SQLiteError.self) { try connection.savepoint {} }
  }

  @Test(
    "A read sees one state from its first look on, a held one from the beginning, until the connection is closed"
  )
  func states() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("d.sqlite").path
    let writer = try SQLiteConnection(path: path, mode: .readWriteCreate)
    try writer.execute("PRAGMA journal_mode=WAL; CREATE TABLE t (v INTEGER UNIQUE)")
    let reader = try SQLiteConnection(path: path, mode: .readWrite)
    let holder = try SQLiteConnection(path: path, mode: .readWrite)
    try holder.holdState()
    try reader.reading {
      try add(1, to: writer)
      #expect(try values(reader) == [1])
      try add(2, to: writer)
      let inside = try reader.reading { try values(reader) }
      #expect(inside == [1])
      #expect(reader.isInTransaction)
    }
    #expect(!reader.isInTransaction)
    try reader.withSnapshot {
      try add(3, to: writer)
      #expect(try values(reader) == [1, 2])
    }
    #expect(throws: Refused.self) { try reader.reading { throw Refused() } }
    #expect(!reader.isInTransaction)
    #expect(try values(reader) == [1, 2, 3])
    #expect(try values(holder).isEmpty)
    holder.close()
    #expect(try writer.rows("PRAGMA wal_checkpoint(TRUNCATE)").first?[0] == .integer(0))
  }
}
