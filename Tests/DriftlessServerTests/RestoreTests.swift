import DriftlessProtocol
import DriftlessSQLite
import DriftlessServer
import Foundation
import TestSupport
import Testing

/// What the database that was there knows better than the backup that takes its place.
@Suite("Restore and what happened since the backup", .serialized)
struct RestoreTests {
  private static func administering<Value>(
    _ folder: DataFolder, _ body: (Administration) throws -> Value
  ) throws -> Value {
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    return try body(administration)
  }

  private static func change(_ folder: DataFolder, _ sql: String) throws {
    let connection = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
    defer { connection.close() }
    try connection.execute(sql)
  }

  @Test("A zone that was made since stays the zone it was, with its tokens and an empty log")
  func made() async throws {
    let world = try await BackupWorld()
    let (later, token) = try world.administering { administration in
      let zone = try administration.createZone("later")
      return (zone, try administration.createToken(zone: "later", verbs: [.read, .write]))
    }
    var server = try await LiveServer(directory: world.directory)
    var maker = FrameMaker(later)
    let path = "/v1/zones/later/changes?generation=\(later.generation)"
    let pushed = try await server.request(
      "POST", "/v1/zones/later/changes", token: token.text,
      headers: ["Content-Type: \(WirePath.changeSetType)"], body: try maker.insert(2))
    #expect(pushed.status == 200)
    let head = try await server.zone("later")
    try await server.stop()
    let restored = try world.backup.restore(to: world.folder)
    #expect(restored.zonesMade == ["later"])
    #expect(restored.zonesLeftOut == [] && restored.zonesRenamed == [])
    try world.administering { administration in
      #expect(try administration.verify().damage == [])
      let zone = try #require(try administration.zones().first { $0.name == "later" })
      #expect((zone.zoneID, zone.generation) == (later.zoneID, later.generation))
      #expect((zone.head, zone.nextObject) == (0, 1))
      #expect(zone.chain == .start(generation: later.generation))
      #expect(zone.newestMilliseconds == head.newestMilliseconds)
    }
    // Who knows its log hears that it diverged, and brings it back.
    server = try await LiveServer(directory: world.directory)
    let pull = try await server.request(
      "GET", "\(path)&after=1&chain=\(head.chain)", token: token.text)
    #expect((pull.status, pull.code) == (409, "diverged"))
    try await server.stop()
  }

  @Test("Zones have the names of now, also where two have changed theirs; a deleted one stays away")
  func namesAndDeletes() async throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let ids = try Self.administering(folder) { administration in
      try ["a", "b", "c"].map { try administration.createZone($0).zoneID }
    }
    let token = try Self.administering(folder) { try $0.createToken(zone: "c", verbs: .read) }
    let backup = Backup(directory.file("b.sqlite"))
    _ = try backup.make(of: folder)
    try Self.administering(folder) { administration in
      _ = try administration.renameZone("a", to: "between")
      _ = try administration.renameZone("b", to: "a")
      _ = try administration.renameZone("between", to: "b")
      try administration.deleteZone("c")
      _ = try administration.createZone("c")
    }
    let restored = try backup.restore(to: folder)
    #expect(
      restored.zonesRenamed.map { [$0.backup, $0.now] } == [["a", "b"], ["b", "a"]])
    #expect(restored.zonesLeftOut == ["c"])
    #expect(restored.zonesMade == ["c"])
    try Self.administering(folder) { administration in
      let zones = try administration.zones()
      #expect(zones.map(\.name) == ["a", "b", "c"])
      #expect(zones.prefix(2).map(\.zoneID) == [ids[1], ids[0]])
      #expect(zones.last?.zoneID != ids[2])
      #expect(try administration.tokens().isEmpty)
      #expect(try administration.verify().damage == [])
    }
    let again = try backup.restore(to: folder, .init(deletedZones: .restore))
    #expect(again.zonesBroughtBack == ["c"])
    try Self.administering(folder) { administration in
      let zones = try administration.zones()
      #expect(zones.map(\.name) == ["a", "b", "c", "c-2"])
      #expect(zones.last?.zoneID == ids[2])
      let back = try administration.tokens().first
      #expect(back?.id == token.id && back?.zoneName == "c-2" && back?.revokedMilliseconds == nil)
    }
    // A database without any of them may be one that was begun after the other was lost.
    let other = try DataFolder(directory.file("other"))
    try Administration(folder: other).close()
    let error = #expect(throws: ServerError.self) { try backup.restore(to: other) }
    #expect(error?.code == .deletedSince)
    #expect(try backup.restore(to: other, .init(deletedZones: .restore)).content.zones.count == 3)
  }

  @Test("Where what was there cannot be read, someone says whether tokens are revoked")
  func unreadable() async throws {
    let world = try await BackupWorld()
    try Data(repeating: 0xA5, count: 9000).write(to: world.folder.database)
    let error = #expect(throws: ServerError.self) { try world.backup.restore(to: world.folder) }
    #expect(error?.code == .unreadableDatabase)
    #expect(error?.message.contains("tokens, zones") == true)
    #expect(error?.suggestion.contains("--unreadable") == true)
    let restored = try world.backup.restore(to: world.folder, .init(unreadable: .revoke))
    #expect(restored.tokensRevoked == 2)
    let tokens = try world.administering { try $0.tokens() }
    #expect(tokens.allSatisfy { $0.revokedMilliseconds != nil })
    #expect(try world.administering { try $0.zones().map(\.head) } == [4])
  }

  @Test("Who may sign in at the status page is as it was there, not as the backup has it")
  func operators() async throws {
    let world = try await BackupWorld()
    let (gone, kept) = try world.administering {
      (try $0.createOperator(name: "gone"), try $0.createOperator(name: "kept"))
    }
    let backup = Backup(world.directory.file("operators.sqlite"))
    _ = try backup.make(of: world.folder)
    try world.administering {
      try $0.revokeOperator(id: gone.id)
      _ = try $0.createOperator(name: "new")
    }
    _ = try backup.restore(to: world.folder)
    let there = try world.administering { try $0.operators() }
    #expect(Set(there.map(\.name)) == ["gone", "kept", "new"])
    #expect(there.filter { $0.revokedMilliseconds != nil }.map(\.id) == [gone.id])
    try Data(repeating: 0xA5, count: 9000).write(to: world.folder.database)
    _ = try backup.restore(to: world.folder, .init(unreadable: .revoke))
    #expect(try world.administering { try $0.operators() }.isEmpty)
    try Data(repeating: 0xA5, count: 9000).write(to: world.folder.database)
    _ = try backup.restore(to: world.folder, .init(unreadable: .backup))
    #expect(try world.administering { try $0.operators().map(\.hash) }.contains(kept.hash))
    #expect(try world.administering { try $0.verify().damage } == [])
  }

  @Test("Of what was there each row that can be read counts: one that is damaged hides no other")
  func readByRow() async throws {
    let world = try await BackupWorld()
    try world.administering { _ = try $0.createZone("broken") }
    try Self.change(world.folder, "UPDATE zone SET uuid = x'01' WHERE name = 'broken'")
    let error = #expect(throws: ServerError.self) { try world.backup.restore(to: world.folder) }
    #expect(error?.message.contains("as to zones:") == true, "\(String(describing: error))")
    let restored = try world.backup.restore(to: world.folder, .init(unreadable: .backup))
    #expect(restored.unread == ["zones"])
    let tokens = try world.administering { try $0.tokens() }
    #expect(tokens.first { $0.id == world.revoked.id }?.revokedMilliseconds != nil)
    #expect(tokens.first { $0.id == world.token.id }?.revokedMilliseconds == nil)
  }

  @Test("The server's time is the one of now, also where it was set back since the backup")
  func setBack() async throws {
    let world = try await BackupWorld()
    let (now, leapt) = (Administration.hostMilliseconds, Int64(4_102_444_800_000))
    try Self.change(world.folder, "INSERT OR REPLACE INTO clock VALUES(1, \(leapt))")
    let backup = Backup(world.directory.file("leapt.sqlite"))
    _ = try backup.make(of: world.folder)
    _ = try world.administering { try $0.setClockBack() }
    let restored = try backup.restore(to: world.folder)
    #expect(restored.backupGivenMilliseconds == leapt)
    #expect(abs(restored.givenMilliseconds - now) < 600_000)
    let given = try world.administering { try $0.clock().givenMilliseconds }
    #expect(given == restored.givenMilliseconds)
    // And it goes on where the backup is the older one.
    try Self.change(world.folder, "INSERT OR REPLACE INTO clock VALUES(1, \(leapt))")
    #expect(try world.backup.restore(to: world.folder).givenMilliseconds == leapt)
    #expect(try world.administering { try $0.clock().givenMilliseconds } == leapt)
  }

  @Test(
    "A backup of an older program is brought up to date where it is put back", arguments: [2, 3])
  func older(version: Int) async throws {
    let world = try await BackupWorld()
    let old = try SQLiteConnection(path: world.backup.file.path, mode: .readWrite)
    if version == 2 { try old.execute("DROP TABLE tombstone") }
    try old.execute(
      """
      ALTER TABLE zone DROP COLUMN replacements;
      DROP TABLE clock; DROP TABLE token_note; DROP TABLE sighting;
      PRAGMA user_version = \(version)
      """)
    old.close()
    #expect(try world.backup.restore(to: world.folder).content.entries == 4)
    #expect(try world.administering { try $0.verify().damage } == [])
    let newer = try SQLiteConnection(path: world.backup.file.path, mode: .readWrite)
    try newer.execute("PRAGMA user_version = 99")
    newer.close()
    let error = #expect(throws: ServerError.self) { try world.backup.restore(to: world.folder) }
    #expect(error?.code == .damagedDatabase)
  }

  @Test(
    "A command that waited over a restore writes nothing into the database that was moved aside")
  func movedAside() async throws {
    let world = try await BackupWorld()
    try world.administering { waiting in
      _ = try world.backup.restore(to: world.folder)
      for command in [
        { _ = try waiting.createZone("lost") }, { try waiting.revokeToken(id: world.token.id) },
        { _ = try waiting.verify() },
      ] {
        let error = #expect(throws: ServerError.self, performing: command)
        #expect(error?.code == .locked)
      }
    }
    #expect(try world.administering { try $0.zones().map(\.name) } == ["shop"])
  }
}
