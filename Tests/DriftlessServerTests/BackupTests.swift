import DriftlessProtocol
import DriftlessSQLite
import DriftlessServer
import Foundation
import TestSupport
import Testing

/// A copy of the database made while the server serves, and put back.
@Suite("Backup and restore", .serialized)
struct BackupTests {
  @Test("A backup of a server that serves is of one moment, one file, closed to others, and whole")
  func made() async throws {
    let world = try await BackupWorld()
    let names = try FileManager.default.contentsOfDirectory(atPath: world.directory.url.path)
    #expect(names.filter { $0.hasPrefix("copy") } == ["copy.sqlite"])
    let attributes = try FileManager.default.attributesOfItem(atPath: world.backup.file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try world.backup.checked().entries == 4)
    let error = #expect(throws: ServerError.self) { try world.backup.make(of: world.folder) }
    #expect(error?.code == .exists)
  }

  @Test("A backup that does not fit its disk is not begun, and says how much it takes")
  func noRoom() async throws {
    let world = try await BackupWorld()
    let other = Backup(world.directory.file("other.sqlite"))
    let error = #expect(throws: ServerError.self) {
      try other.make(of: world.folder, freeBytes: 4_096)
    }
    #expect(error?.code == .diskFull)
    #expect(error?.message.contains("there is room for 4096") == true)
    let names = try FileManager.default.contentsOfDirectory(atPath: world.directory.url.path)
    #expect(!names.contains { $0.hasPrefix("other") })
    #expect(try other.make(of: world.folder).entries > 0)
  }

  @Test(
    "Of two backups to one name that are made at once one has it, whole, and nothing else is left")
  func oneName() async throws {
    let world = try await BackupWorld()
    let other = Backup(world.directory.file("other.sqlite"))
    let stale = world.directory.file("other.sqlite.part-0badc0de")
    try Data("killed".utf8).write(to: stale)
    var entries: Int?
    let error = #expect(throws: ServerError.self) {
      try other.make(of: world.folder) { _ in
        if entries == nil { entries = try other.make(of: world.folder).entries }
      }
    }
    #expect(error?.code == .exists)
    #expect(entries == 6)
    #expect(try other.checked().entries == 6)
    let names = try FileManager.default.contentsOfDirectory(atPath: world.directory.url.path)
    #expect(names.filter { $0.hasPrefix("other") } == ["other.sqlite"])
  }

  @Test("A backup takes nothing from another one that is made to its name, no journal either")
  func beside() async throws {
    let world = try await BackupWorld()
    let made = world.directory.file("other.sqlite.part-0badc0de")
    let left = world.directory.file("other.sqlite.part-deadbeef")
    for file in [made, left] {
      for suffix in ["", "-journal"] {
        try Data("on its way".utf8).write(to: URL(fileURLWithPath: file.path + suffix))
      }
    }
    let lock = open(made.path, O_RDWR | O_CLOEXEC)
    #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
    defer { close(lock) }
    #expect(try Backup(world.directory.file("other.sqlite")).make(of: world.folder).entries == 6)
    let names = try FileManager.default.contentsOfDirectory(atPath: world.directory.url.path)
    #expect(
      names.filter { $0.hasPrefix("other.sqlite.part") }.sorted()
        == [made.lastPathComponent, made.lastPathComponent + "-journal"])
  }

  @Test("A backup removes what killed ones of other names left, tells it, and takes no other file")
  func otherNames() async throws {
    let world = try await BackupWorld()
    func file(_ name: String, _ content: String, mode: mode_t = 0o600) throws -> URL {
      let file = world.directory.file(name)
      try Data(content.utf8).write(to: file)
      #expect(chmod(file.path, mode) == 0)
      return file
    }
    let database = "SQLite format 3\0 and half of the rest"
    let killed = try file("monday.sqlite.part-0badc0de", database)
    let begun = try file("tuesday.sqlite.part-deadbeef", "")
    let left = [
      killed, begun, try file("monday.sqlite.part-0badc0de-journal", "x"),
      try file("friday.sqlite.part-00000000-journal", "lone"),
    ]
    let working = try file("sunday.sqlite.part-feedface", database)
    let kept = [
      working, try file("film.part-00000001", "somebody's own, of 16 bytes and more"),
      try file("open.part-00000002", database, mode: 0o644),
      try file("long.part-000000033", database), try file("upper.part-ABCDEF00", database),
      try file(".part-00000004", database),
    ]
    let lock = open(working.path, O_RDWR | O_CLOEXEC)
    #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
    defer { close(lock) }
    let content = try Backup(world.directory.file("other.sqlite")).make(of: world.folder)
    #expect(
      content.removed.map(\.lastPathComponent)
        == [killed.lastPathComponent, begun.lastPathComponent])
    for file in left { #expect(access(file.path, F_OK) != 0, "\(file.lastPathComponent)") }
    for file in kept { #expect(access(file.path, F_OK) == 0, "\(file.lastPathComponent)") }
    #expect(
      try Backup(world.directory.file("next.sqlite")).make(of: world.folder).removed.isEmpty)
  }

  @Test("What a restore that was killed left is gone when the folder is served or put back again")
  func killedRestore() async throws {
    let world = try await BackupWorld()
    let part = try world.folder.database.appendingPathExtension("part")
    try Data("killed".utf8).write(to: part)
    try world.folder.lockForServing().release()
    #expect(!FileManager.default.fileExists(atPath: part.path))
  }

  @Test("A backup is put back; what was there lies beside it; a revoked token stays so")
  func restored() async throws {
    let world = try await BackupWorld()
    let late = try world.administering {
      try $0.createToken(zone: "shop", verbs: .read, label: "late")
    }
    let restored = try world.backup.restore(to: world.folder)
    #expect(restored.content.entries == 4)
    #expect(restored.renewedSince.isEmpty)
    #expect(restored.tokensKept == 2)
    let before = try #require(restored.before)
    let former = try SQLiteConnection(path: before.path, mode: .readWrite)
    #expect(try former.scalar("SELECT count(*) FROM log") == .integer(6))
    former.close()
    try world.administering { administration in
      #expect(try administration.verify().damage == [])
      #expect(try administration.zones().map(\.head) == [4])
      let tokens = try administration.tokens()
      #expect(tokens.first { $0.id == world.revoked.id }?.revokedMilliseconds != nil)
      #expect(tokens.first { $0.id == world.token.id }?.revokedMilliseconds == nil)
      #expect(tokens.first { $0.id == late.id }?.name == "late")
    }
    // It goes on from there.
    let server = try await LiveServer(directory: world.directory)
    let response = try await server.request("GET", "/v1/zones/shop", token: world.token.text)
    #expect(response.status == 200)
    try await server.stop()
  }

  @Test("A backup is put into a folder that there is not, and in the place of a damaged database")
  func restoredInTheEnd() async throws {
    let world = try await BackupWorld()
    let other = try DataFolder(world.directory.file("other"))
    #expect(try world.backup.restore(to: other).before == nil)
    #expect(try Administration(folder: other).verify().entries == 4)
    var bytes = try Data(contentsOf: world.folder.database)
    bytes.replaceSubrange(100..., with: Data(repeating: 0xA5, count: bytes.count - 100))
    try bytes.write(to: world.folder.database)
    let error = #expect(throws: ServerError.self) { try world.backup.restore(to: world.folder) }
    #expect(error?.code == .unreadableDatabase)
    #expect(try Data(contentsOf: world.folder.database) == bytes)
    let restored = try world.backup.restore(to: world.folder, .init(unreadable: .backup))
    #expect(restored.before != nil)
    #expect(restored.unread == ["the server's time", "tokens", "zones"])
    #expect(restored.tokensRevoked == 0)
    #expect(try world.administering { try $0.verify().damage } == [])
  }

  @Test("A damaged backup, and one for a folder that is served, are refused with nothing changed")
  func refused() async throws {
    let world = try await BackupWorld()
    let whole = try Data(contentsOf: world.backup.file)
    let copy = try SQLiteConnection(path: world.backup.file.path, mode: .readWrite)
    try copy.execute("UPDATE log SET body = zeroblob(9) WHERE position & 255 = 2")
    copy.close()
    var error = #expect(throws: ServerError.self) { try world.backup.restore(to: world.folder) }
    #expect(error?.code == .damagedDatabase)
    #expect(error?.message.contains("entry 2") == true)
    try whole.write(to: world.backup.file)
    let server = try await LiveServer(directory: world.directory)
    error = #expect(throws: ServerError.self) { try world.backup.restore(to: world.folder) }
    #expect(error?.code == .locked)
    try await server.stop()
    #expect(try world.administering { try $0.zones().map(\.head) } == [6])
  }

  @Test(
    "Where a zone began anew after the backup, the operator says what becomes of it",
    arguments: [Backup.RenewedZones.keep, .renew])
  func renewedSince(policy: Backup.RenewedZones) async throws {
    let world = try await BackupWorld()
    let backed = try world.backup.checked().zones[0].generation
    let renewed = try world.administering { try $0.renewZone("shop", intent: .offer).generation }
    let error = #expect(throws: ServerError.self) { try world.backup.restore(to: world.folder) }
    #expect(error?.code == .renewedSince)
    #expect(error?.message.contains("shop") == true)
    #expect(try world.administering { try $0.zones()[0].generation } == renewed)
    let restored = try world.backup.restore(to: world.folder, .init(renewedZones: policy))
    #expect(restored.renewedSince == ["shop"])
    let zone = try world.administering { try $0.zones()[0] }
    switch policy {
    case .keep: #expect((zone.generation, zone.head) == (backed, 4))
    case .renew:
      #expect(zone.generation != backed && zone.generation != renewed)
      #expect(zone.intent == .offer)
      #expect(zone.head == 0)
    }
    // A log that begins anew is none that was put back.
    #expect(zone.isPutBack == (policy == .keep))
  }

  @Test("A zone tells what it holds, and of its replicas how far each is and when it was seen")
  func reports() async throws {
    let world = try await BackupWorld()
    let asleep = UUID()
    let server = try await LiveServer(directory: world.directory)
    // What it asks for again it did not take.
    for _ in 0..<2 {
      _ = try await server.pull(after: 2, "&replica=\(asleep)", token: world.token)
    }
    _ = try await server.pull(after: 6, "&replica=\(world.replica)", token: world.token)
    try await server.stop()
    try world.administering { administration in
      let report = try administration.inspectZone("shop")
      #expect((report.entries, report.objects, report.replicas, report.tokens) == (6, 12, 2, 1))
      #expect(report.bytes > 6 * 192)
      let last = try #require(report.lastPushMilliseconds)
      #expect(abs(last - Administration.hostMilliseconds) < 600_000)
      let log = try administration.log(of: "shop", from: 1, count: 100)
      #expect(log.map(\.sequence) == Array(1...6) && log.map(\.pushNumber) == Array(1...6))
      #expect(log.allSatisfy { $0.replica == world.replica && $0.bytes > 192 })
      #expect(log.reduce(0) { $0 + $1.bytes } == report.bytes)
      #expect(log.reduce(0) { $0 + $1.newObjects } == 12 && log[0].firstObject == 1)
      #expect(log.last?.receivedMilliseconds == last)
      #expect(try administration.log(of: "shop", from: 5, count: 1).map(\.sequence) == [5])
      #expect(try administration.log(of: "shop", from: 7, count: 1).isEmpty)
      #expect(try administration.log(of: "shop", from: UInt64(Int64.max), count: 1).isEmpty)
      #expect(throws: ServerError.self) { try administration.log(of: "none", from: 1, count: 1) }
      let replicas = try administration.replicas(of: "shop")
      #expect(replicas.map(\.replica) == [asleep, world.replica], "furthest behind first")
      #expect(replicas.map(\.lag) == [4, 0])
      #expect(replicas.map(\.pushes) == [0, 6])
      #expect(replicas.allSatisfy { $0.lastSeenMilliseconds != nil && $0.token == world.token.id })
      _ = try administration.renewZone("shop", intent: .offer)
      #expect(try administration.replicas().isEmpty)
      _ = try administration.renameZone("shop", to: "store")
      #expect(try administration.tokens().allSatisfy { $0.zoneName == "store" })
      try administration.deleteZone("store")
      #expect(try administration.zones().isEmpty)
      #expect(try administration.tokens().isEmpty)
      #expect(try administration.verify().damage == [])
    }
  }
}
