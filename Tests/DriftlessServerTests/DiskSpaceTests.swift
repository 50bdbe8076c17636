import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// What file systems say of themselves.
struct DiskSpaceTests {
  @Test("One without blocks has no bounds, and is not full")
  func noBlocks() {
    #expect(DiskSpace.free(0, of: 0, bytesPerBlock: 4096) == nil)
    #expect(DiskSpace.free(0, of: 10, bytesPerBlock: 4096) == 0)
  }

  @Test("More than can be counted is as much as can be counted")
  func large() {
    for free in [UInt64.max, UInt64.max / 4096 + 1, 1 << 52] {
      #expect(DiskSpace.free(free, of: .max, bytesPerBlock: 4096) == .max)
    }
    #expect(DiskSpace.free(2, of: 3, bytesPerBlock: 4096) == 8192)
  }

  @Test("A folder has some, and what is not there says nothing")
  func folder() {
    #expect(DiskSpace.free(at: FileManager.default.temporaryDirectory) != nil)
    #expect(DiskSpace.free(at: URL(fileURLWithPath: "/no such folder")) == nil)
  }

  @Test("A log that a reader holds up wants no more room in the database than is new in it")
  func growth() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    let connection = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
    defer { connection.close() }
    func size(_ suffix: String) throws -> Int {
      try #require(
        FileManager.default.attributesOfItem(atPath: folder.database.path + suffix)[.size] as? Int)
    }
    try connection.execute(
      "PRAGMA wal_autocheckpoint = 0; CREATE TABLE x(id INTEGER PRIMARY KEY, y)")
    try connection.execute("INSERT INTO x VALUES(1, zeroblob(1000000))")
    let (before, growth) = (try size(""), folder.reserve.growthBytes(connection))
    #expect(growth >= 1_000_000)
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(try size("") - before == growth)
    #expect(folder.reserve.growthBytes(connection) == 0)
    let reader = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
    try reader.execute("BEGIN")
    _ = try reader.scalar("SELECT count(*) FROM x")
    for _ in 0..<5 { try connection.execute("UPDATE x SET y = randomblob(1000000)") }
    #expect(try size("-wal") > 5_000_000)
    #expect(folder.reserve.growthBytes(connection) < 2_000_000)
    reader.close()
  }
}
