import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Testing

@testable import DriftlessServer

/// What lies in the database and beside it.
extension PurgeTests {
  @Test("A purge that does not fit the disk is not begun, and says how much it takes")
  func noRoom() async throws {
    _ = try await pushed(4)
    var options = Self.all(through: 2)
    options.freeBytes = { 100 }
    let error = #expect(throws: ServerError.self) { try purge(options) }
    #expect(error?.code == .diskFull)
    #expect(error?.message.contains("there is room for 100") == true)
    #expect(try count("log") == 4 && count("purged") == 0)
    var dry = Self.all(through: 2, isDryRun: true)
    dry.freeBytes = { 100 }
    #expect(try purge(dry).floor == 2, "it tells, and keeps nothing")
    #expect(error?.suggestion.contains("--force") == true)
    options.isForced = true
    #expect(try purge(options).floor == 2)
    try expectWhole()
  }

  @Test("What is free within the database is room for a purge")
  func freePages() async throws {
    _ = try await pushed(4)
    try sql("CREATE TABLE other(bytes BLOB); INSERT INTO other VALUES(zeroblob(4000000))")
    try sql("DROP TABLE other")
    var options = Self.all(through: 2)
    // The files of the snapshot, and nothing of the database.
    let bytes = try logBytes()
    options.freeBytes = { bytes }
    #expect(try purge(options).floor == 2)
    try expectWhole()
  }

  private func logBytes() throws -> Int {
    let connection = try SQLiteConnection(path: zone.folder.database.path, mode: .readWrite)
    defer { connection.close() }
    return Int(try connection.integer("SELECT cast(total(size) AS INTEGER) FROM log") ?? 0)
  }

  @Test("What a purge has written is taken away by none that has not its lock, named or not")
  func goesOnAlone() async throws {
    _ = try await pushed(5)
    let left = "INSERT INTO purge_file VALUES(1, 'other', x'00')"
    try sql(left)
    let folder = zone.folder.snapshots.appendingPathComponent(
      try await zone.zone().zoneID.uuidString.lowercased())
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (floor, options) in [(UInt64(0), Self.all(through: 0)), (3, Self.all(through: 3))] {
      if floor > 0 {
        #expect(try purge(options).floor == floor)
        try sql(left)
      }
      let other = try #require(
        try FileLock(folder.appendingPathComponent("fold.lock"), .exclusive, waits: false))
      let files = try count("purge_file")
      #expect(try await code { try purge(options) } == .locked)
      #expect(try count("purge_file") == files, "another purge may be about to name it")
      other.release()
      #expect(try purge(options).floor == floor)
      #expect(try count("purge_file") == files - 1, "one that was killed is over")
      try expectWhole()
    }
    let held = try #require(
      try FileLock(folder.appendingPathComponent("fold.lock"), .exclusive, waits: false))
    #expect(try purge(Self.all(through: 3)).floor == 3, "there is nothing to do")
    held.release()
  }

  @Test("What was folded hides nothing of what stands for a purged log")
  func folded() async throws {
    _ = try await pushed(6)
    let now = try await zone.zone()
    let before = try administering { try $0.foldZone("shop") }
    try purge(Self.all(through: 4))
    let folder = zone.folder.snapshots.appendingPathComponent(now.zoneID.uuidString.lowercased())
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(left == ["fold.lock"], "of what was folded before nothing is given")
    #expect(try await zone.storage.snapshot(of: now)?.place == before.place)
    _ = try await pushed(2)
    let folded = try administering { try $0.foldZone("shop") }
    #expect(try await zone.storage.snapshot(of: now)?.place.sequence == 8)
    for file in folded.files {
      try FileManager.default.removeItem(at: Snapshot.url(of: file.name, in: folder))
    }
    let given = try #require(try await zone.storage.snapshot(of: now))
    #expect(given.place.sequence == 6)
    for file in given.files {
      let bytes = try await zone.storage.segment(file.name, of: now, first: 0, count: file.bytes)
      #expect(bytes.map { Snapshot.name(of: $0) } == file.name)
    }
  }
}
