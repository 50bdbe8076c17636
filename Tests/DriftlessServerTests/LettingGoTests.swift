import DriftlessProtocol
import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// What nobody wants any more goes some at a time, and takes no room for that.
@Suite("What a data folder lets go of")
struct LettingGoTests {
  private static func count(_ table: String, _ test: TestZone) throws -> Int64? {
    try test.storage.writer.run { try $0.integer("SELECT count(*) FROM \(table)") }
  }

  /// A folder with parts that nobody goes on with, and nothing in its write-ahead log, which nobody copies from now on.
  private static func withParts(_ count: Int, bytes: Int) throws -> TestZone {
    var limits = ServerLimits()
    limits.checkpointPages = 1 << 20
    let test = try TestZone(limits: limits)
    try test.storage.writer.run { connection in
      for _ in 0..<count {
        let replica = SQLiteValue.blob(UUID().bytes)
        try connection.run(
          "INSERT INTO staged VALUES(?, 1, 1, 1, ?, zeroblob(?))", replica,
          .integer(Int64(bytes)), .integer(Int64(bytes)))
        try connection.run("INSERT INTO staging VALUES(?, 1, 0)", replica)
      }
      try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    return test
  }

  @Test("Forgotten parts go some in a transaction, and the replica that goes on keeps its own")
  func some() throws {
    let test = try Self.withParts(8, bytes: 4 << 20)
    let kept = UUID()
    try test.storage.writer.run { connection in
      try connection.run(
        "INSERT INTO staged VALUES(?, 1, 1, 1, 1, x'00')", .blob(kept.bytes))
      try connection.run("INSERT INTO staging VALUES(?, 1, 0)", .blob(kept.bytes))
    }
    func drop() throws -> Bool {
      try test.storage.writer.run {
        try StagedParts.dropSomeForgotten(before: 1, but: kept, on: $0)
      }
    }
    #expect(try drop())
    #expect(try Self.count("staged", test) == 5)
    #expect(try Self.count("staging", test) == 5)
    while try drop() {}
    #expect(try Self.count("staged", test) == 1)
    #expect(try Self.count("staging", test) == 1)
  }

  @Test("Forgotten parts are not written once more when they go")
  func unwritten() async throws {
    let test = try Self.withParts(8, bytes: 4 << 20)
    // As SQLite is built on some hosts.
    try test.storage.writer.run { try $0.execute("PRAGMA secure_delete=ON") }
    await test.storage.letGoOfForgotten()
    #expect(try Self.count("staged", test) == 0)
    let log = DiskSpace.bytes(ofFile: test.folder.database.path + "-wal")
    #expect(try #require(log) < 4 << 20)
    // All else is overwritten as before.
    let overwrites = try test.storage.writer.run { try $0.integer("PRAGMA secure_delete") }
    #expect(overwrites == 1)
  }

  @Test("A large value that nobody wants is nobody's at once, and its bytes go some at a time")
  func values() throws {
    var limits = ServerLimits()
    limits.valueBytesMax = 1 << 20
    let test = try TestZone(limits: limits)
    let digest = Data(repeating: 7, count: 32)
    func collect() throws -> (isRoomMade: Bool, mayHaveMore: Bool) {
      try test.storage.writer.run { try LargeValues.collect(at: 10, first: 1, on: $0) }
    }
    try test.storage.writer.run { connection in
      let id = try LargeValues.insertWhole(
        digest: digest, zone: 1, token: "t", length: 40, leaseMilliseconds: 1, on: connection)
      for first in 0..<40 {
        try LargeValues.add(Data([1]), at: first, of: id, on: connection)
      }
    }
    #expect(try collect() == (true, true))
    #expect(try Self.count("value_piece", test) == 24)
    try test.storage.writer.run { connection in
      #expect(try LargeValues.whole(digest, zone: 1, on: connection) == nil)
      #expect(try LargeValues.uploads(of: digest, zone: 1, on: connection).isEmpty)
      #expect(try LargeValues.declaredBytes(of: 1, on: connection) == 0)
      #expect(try LargeValues.unnamedBytes(of: nil, token: nil, on: connection) == 0)
      // It can come again meanwhile.
      _ = try LargeValues.insertWhole(
        digest: digest, zone: 1, token: "t", length: 40, leaseMilliseconds: 100, on: connection)
    }
    while try collect().mayHaveMore {}
    #expect(try Self.count("value_piece", test) == 0)
    #expect(try Self.count("value", test) == 1)
  }
}
