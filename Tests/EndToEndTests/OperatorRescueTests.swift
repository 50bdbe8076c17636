import DriftlessSQLite
import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// The ways out that the operator's commands name, walked to their ends.
@Suite(.serialized) struct OperatorRescueTests {
  @Test("A database that was emptied: the command that is named puts a backup in its place")
  func emptied() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    let backup = folder.path("b.sqlite")
    try folder.done(["token", "create", "--zone", "shop"])
    try folder.done(["backup", backup])
    try folder.done(["zone", "fold", "shop"])
    #expect(truncate(folder.database.path, 0) == 0)
    let refused = try folder.run(["zone", "list"])
    #expect(refused.status == 65)
    #expect(refused.errors.contains("restore FILE --unreadable revoke"), "\(refused.errors)")
    let unasked = try folder.run(["restore", backup, "--yes"])
    #expect(unasked.status == 65, "\(unasked.errors)")
    #expect(unasked.errors.contains("--unreadable revoke"), "\(unasked.errors)")
    let restored = try folder.done(["restore", backup, "--yes", "--unreadable", "revoke"])
    #expect(restored.output.contains("tokens of the backup that are revoked now: 1"))
    #expect(try folder.json(["token", "list"])[0]["state"] as? String == "revoked")
    try folder.done(["verify"])
  }

  @Test("A database that was emptied: moved away as it is told, a server begins without zones")
  func movedAway() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    try folder.done(["zone", "fold", "shop"])
    #expect(truncate(folder.database.path, 0) == 0)
    let refused = try folder.run(["serve", "--listen", "127.0.0.1:0"])
    #expect(refused.status == 65)
    let mv = try #require(refused.errors.components(separatedBy: "move the file away: ").last)
    #expect(try Programs.run("driftless-server", [], script: mv).status == 0)
    let server = ServerProcess(data: folder.data, listen: "127.0.0.1:0")
    try server.start()
    #expect(server.stop() == 0)
    #expect(try folder.json(["zone", "list"]).isEmpty)
    let snapshots = folder.data.appendingPathComponent("snapshots").path
    #expect(try FileManager.default.contentsOfDirectory(atPath: snapshots) == [])
  }

  @Test(
    "A database that is gone is no new server: what is left tells, and a backup is put in its place"
  )
  func gone() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    let backup = folder.path("b.sqlite")
    try folder.done(["backup", backup])
    try folder.done(["zone", "fold", "shop"])
    // Its log stays, as where the file alone was lost: it is not to be taken for that of the one that comes.
    let other = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
    try other.execute("BEGIN; SELECT * FROM zone; COMMIT")
    try folder.done(["zone", "create", "more"])
    unlink(folder.database.path)
    other.close()
    #expect(FileManager.default.fileExists(atPath: folder.database.path + "-wal"))
    let refused = try folder.run(["serve", "--listen", "127.0.0.1:0"])
    #expect(refused.status == 65)
    #expect(refused.errors.contains("restore FILE"), "\(refused.errors)")
    for command in [
      ["zone", "list"], ["zone", "create", "shop"], ["token", "list"], ["verify"],
      ["operator", "create", "--name", "ada"], ["backup", folder.path("other.sqlite")],
    ] {
      let outcome = try folder.run(command)
      #expect(outcome.status == 65, "\(command): \(outcome)")
      #expect(outcome.errors.contains("restore FILE"), "\(command): \(outcome.errors)")
      #expect(!FileManager.default.fileExists(atPath: folder.database.path), "\(command)")
    }
    try folder.done(["restore", backup, "--yes"])
    try folder.done(["verify"])
    let server = ServerProcess(data: folder.data, listen: "127.0.0.1:0")
    try server.start()
    #expect(server.stop() == 0)
    #expect(try folder.json(["zone", "list"]).count == 1)
  }

  @Test("In what is left of a data folder a server begins anew once that is removed, as it is told")
  func begunAnew() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    try folder.done(["zone", "fold", "shop"])
    let server = ServerProcess(data: folder.data, listen: "127.0.0.1:0")
    try server.start()
    #expect(server.stop() == 0)
    for suffix in ["", "-wal", "-shm"] { unlink(folder.database.path + suffix) }
    let refused = try folder.run(["zone", "create", "shop"])
    #expect(refused.status == 65, "\(refused)")
    let rm = try #require(refused.errors.components(separatedBy: "remove what is left: ").last)
    #expect(try Programs.run("driftless-server", [], script: rm).status == 0)
    try folder.done(["zone", "create", "shop"])
    #expect(try folder.json(["zone", "list"]).count == 1)
  }

  @Test(
    "A server whose database is gone does not begin without zones, also where nothing but its reserve is left"
  )
  func goneWhole() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    let server = ServerProcess(data: folder.data, listen: "127.0.0.1:0")
    try server.start()
    #expect(server.stop() == 0)
    for suffix in ["", "-wal", "-shm"] { unlink(folder.database.path + suffix) }
    let unmade = try folder.run(["zone", "create", "shop"])
    try #require(unmade.status == 65, "\(unmade)")
    #expect(unmade.errors.contains("restore FILE"), "\(unmade.errors)")
    let refused = try folder.run(["serve", "--listen", "127.0.0.1:0"])
    #expect(refused.status == 65, "\(refused)")
    #expect(refused.errors.contains("restore FILE"), "\(refused.errors)")
    #expect(!FileManager.default.fileExists(atPath: folder.database.path))
  }

  @Test("Killed at any change, a restore that renews has done all of it or nothing")
  func killedRenewal() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    let backup = folder.path("b.sqlite")
    func generation() throws -> String? {
      try folder.json(["zone", "list"])[0]["generation"] as? String
    }
    let backed = try generation()
    try folder.done(["backup", backup])
    try folder.done(["zone", "renew", "shop", "--yes"])
    try FileFault.atEachChange { number, _ in
      let before = try generation()
      let outcome = try folder.run(
        ["restore", backup, "--yes", "--renewed-zones", "renew"],
        faults: FileFault(.kill, at: number, below: folder.data).environment())
      let after = try generation()
      #expect(after != backed, "\(number)")
      if outcome.status == 0 { #expect(after != before) }
      try folder.done(["verify"])
      return outcome.status == 0
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.data.path)
    #expect(!names.contains { $0.contains(".part") })
  }

  @Test("A backup that is not there, or is none, is told before anybody is asked")
  func noBackup() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    let backup = folder.path("b.sqlite")
    let other = folder.path("other.txt")
    try Data("no database".utf8).write(to: URL(fileURLWithPath: other))
    for (file, message) in [(backup, "cannot be read"), (other, "no database")] {
      let refused = try folder.run(["restore", file])
      #expect(refused.status == 65, "\(refused)")
      #expect(refused.errors.contains("\(file)"), "\(refused)")
      #expect(refused.errors.contains(message), "\(refused)")
      #expect(!refused.errors.contains("in the place"), "\(refused)")
    }
    try folder.done(["backup", backup])
    let asked = try folder.run(["restore", backup])
    #expect(asked.status == 64 && asked.errors.contains("in the place"), "\(asked)")
    #if PostgreSQL
      let nowhere = ["--postgres", "host=127.0.0.1 port=1 dbname=none"]
      let refused = try Programs.run("driftless-server", ["restore", other] + nowhere)
      #expect(refused.status == 65 && refused.errors.contains("no database"), "\(refused)")
    #endif
  }

  @Test("A target that has no room is named, and not the data folder")
  func fullTarget() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    let target = folder.directory.file("target")
    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
    try FileFault.atEachChange { number, _ in
      let file = target.appendingPathComponent("\(number).sqlite").path
      let outcome = try folder.run(
        ["backup", file], faults: FileFault(.full, at: number, below: target).environment())
      if outcome.status == 0 { return true }
      #expect(outcome.status == 74, "\(outcome.errors)")
      #expect(outcome.errors.contains("file system of \(file)"), "\(outcome.errors)")
      #expect(!outcome.errors.contains(folder.data.path), "\(outcome.errors)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: target.path) == [])
      return false
    }
    let missing = try folder.run(["backup", target.path + "/no/such.sqlite"])
    #expect(missing.status == 74)
    #expect(missing.errors.contains("/no/such.sqlite"), "\(missing.errors)")
  }

  @Test("Restore says what is otherwise than in the backup, for people and as JSON")
  func told() throws {
    let folder = try OperatorFolder(zones: ["kept", "gone", "old"])
    let backup = folder.path("b.sqlite")
    try folder.done(["backup", backup])
    try folder.done(["zone", "create", "made"])
    try folder.done(["zone", "rename", "old", "new"])
    try folder.done(["zone", "delete", "gone", "--yes"])
    try folder.done(["token", "create", "--zone", "kept"])
    let text = try folder.done(["restore", backup, "--yes"]).output
    for part in [
      "zone made: made since the backup", "zone old: its name is new",
      "zone gone: deleted since the backup, and left out", "not as in the backup: 1",
    ] { #expect(text.contains(part), "\(text)") }
    let again = try folder.json(["restore", backup, "--yes", "--deleted-zones", "restore"])[0]
    #expect(again["zonesMade"] as? [String] == ["made"])
    #expect(again["zonesBroughtBack"] as? [String] == ["gone"])
    #expect(
      (again["zonesRenamed"] as? [[String: String]])?.first == ["backup": "old", "now": "new"])
    #expect(again["zonesLeftOut"] as? [String] == [])
    #expect(again["tokensKept"] as? Int == 1)
    #expect(try folder.json(["zone", "list"]).count == 4)
  }

  @Test("A time in the database that cannot be is shown, and stops no command")
  func wildClock() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    for time in ["9223372036854775807", "-9223372036854775808", "1e300", "'noon'"] {
      try folder.damage("INSERT OR REPLACE INTO clock VALUES(1, \(time))")
      try folder.done(["clock", "show"])
      try folder.json(["clock", "show"])
      try folder.done(["token", "create", "--zone", "shop", "--expires", "1d"])
      let verified = try folder.run(["verify"])
      #expect(verified.status == 65, "\(time)")
      #expect(verified.output.hasPrefix("clock\t"), "\(verified.output)")
      let server = ServerProcess(data: folder.data, listen: "127.0.0.1:0")
      try server.start()
      #expect(server.stop() == 0)
    }
    try folder.damage("UPDATE zone SET newest_ms = 9223372036854775807")
    try folder.done(["clock", "show"])
    try folder.json(["clock", "show"])
  }

  @Test(
    "What root's commands make in a server's folder is the server's",
    .enabled(if: geteuid() == 0, "root's own commands"))
  func root() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    #expect(chown(folder.data.path, 65_534, 65_534) == 0)
    let backup = folder.path("b.sqlite")
    for command in [
      ["zone", "list"], ["zone", "create", "other"], ["zone", "fold", "shop"], ["backup", backup],
      ["verify"], ["restore", backup, "--yes"], ["zone", "list"],
    ] {
      try folder.done(command)
      let names = try #require(FileManager.default.enumerator(atPath: folder.data.path))
      while let name = names.nextObject() as? String {
        let owners = try owners(of: folder.data.appendingPathComponent(name).path)
        #expect(owners == "65534 65534", "\(command): \(name)")
      }
    }
    #expect(try owners(of: backup).hasPrefix("0 "), "the backup is who made it's")
  }

  /// The numbers of a file's user and group.
  private func owners(of path: String) throws -> String {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return [attributes[.ownerAccountID], attributes[.groupOwnerAccountID]].map {
      $0.map { "\($0)" } ?? "-"
    }.joined(separator: " ")
  }
}
