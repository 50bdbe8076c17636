import Foundation
import TestSupport
import Testing

/// A daemon whose store's files are moved, removed or replaced while it runs.
@Suite(.serialized, .timeLimit(.minutes(5))) struct DaemonFilesTests {
  private let world: FaultWorld
  private let replica: Replica
  private let other: Replica
  private let daemon: DaemonProcess

  init() throws {
    world = try FaultWorld()
    replica = try world.replica("a")
    other = try world.replica("b")
    daemon = try DaemonProcess(stores: [replica.store], in: world.directory.url)
    try replica.importLines([FaultWorld.insertion("before")])
    try arrives("before")
  }

  private func file(_ suffix: String) -> String { replica.store.path + suffix }

  private var log: String {
    (try? String(contentsOf: world.directory.file("syncd.log"), encoding: .utf8)) ?? ""
  }

  private func logs(_ part: String) throws {
    try eventually("the log says \(part): \(log)") { log.contains(part) }
  }

  private func arrives(_ name: String) throws {
    try eventually("\(name) is at the other: \(log)") {
      try other.sync()
      return try other.export().contains("\"\(name)\"")
    }
  }

  private func isInStep() throws {
    try eventually("in step: \(log)") {
      try replica.attempt("status", ["--check"]).status == 0
    }
  }

  private func token(_ path: String) throws {
    try Data(world.server.token(zone: world.zone).utf8).write(to: URL(fileURLWithPath: path))
    #expect(chmod(path, 0o600) == 0)
  }

  @Test("An enrolment that is refused leaves the token of before")
  func refusedEnrolment() throws {
    try isInStep()
    let given = world.directory.file("given").path
    try token(given)
    let before = try String(contentsOfFile: file("-driftless-token"), encoding: .utf8)
    let refused = try Programs.run(
      "syncctl",
      [
        "enroll", "--anew", "--store", replica.store.path, "--server", world.server.address,
        "--zone", world.zone, "--token-file", given,
      ])
    #expect(refused.status == 75, "\(refused)")
    #expect(try String(contentsOfFile: file("-driftless-token"), encoding: .utf8) == before)
    #expect(daemon.stop() == 0)
  }

  @Test("A token that is put in the place of another is taken while all is well")
  func replacedToken() throws {
    try isInStep()
    try token(file("-driftless-token.new"))
    #expect(rename(file("-driftless-token.new"), file("-driftless-token")) == 0)
    try logs("what lies beside the store was changed")
    try replica.importLines([FaultWorld.insertion("after")])
    try arrives("after")
    #expect(daemon.stop() == 0)
  }

  @Test("A log that is removed under a daemon is told in a line, and loses nothing")
  func removedLog() throws {
    #expect(unlink(file("-wal")) == 0, "it has a log")
    try logs("-wal was removed while")
    try isInStep()
    #expect(try replica.status()["lostCommits"] is NSNull)
    try replica.importLines([FaultWorld.insertion("after")])
    try arrives("after")
    #expect(try replica.export() == other.export())
    let check = try Programs.run("syncctl", ["store", "check", replica.store.path])
    #expect(check.status == 0, "\(check)")
    #expect(daemon.stop() == 0)
    #expect(!log.contains(" lost: "), "\(log)")
  }

  @Test(
    "A store whose log is not its file's is let go of, so that what a person is told to do works"
  )
  func strayLog() throws {
    let backup = world.directory.file("backup.sqlite")
    #expect(
      try Programs.run("syncctl", ["store", "backup", replica.store.path, backup.path]).status == 0)
    let older = try Data(contentsOf: backup)
    for number in 0..<3 { try replica.importLines([FaultWorld.insertion("later \(number)")]) }
    try arrives("later 2")
    let handle = try FileHandle(forWritingTo: replica.store)
    try handle.write(contentsOf: older)
    try handle.truncate(atOffset: UInt64(older.count))
    try handle.close()
    let advised = try replica.attempt("status")
    #expect(advised.errors.contains("syncctl store set-aside"), "\(advised)")
    try eventually("it is set aside: \(log)") {
      let outcome = try Programs.run("syncctl", ["store", "set-aside", replica.store.path])
      // The daemon may open the store as soon as the log is away, before the command has ended.
      return outcome.status == 0 || FileManager.default.fileExists(atPath: file("-wal.away1"))
    }
    try arrives("later 2")
    try eventually("what was lost has come again: \(log)") {
      try replica.export().contains("later 2")
    }
    #expect(daemon.stop() == 0)
  }

  @Test("Who is refused what the daemon has is told how it lets go of it")
  func lettingGo() throws {
    let refused = try replica.attempt("unenroll")
    #expect(refused.status == 75)
    #expect(refused.errors.contains("kill -HUP \(daemon.pid)"), "\(refused)")
    #expect(daemon.stop() == 0)
  }

  @Test("A backup that takes the store's place is opened when it is whole, and no half of it")
  func putBack() throws {
    let backup = world.directory.file("backup.sqlite")
    try replica.run(["store", "backup", replica.store.path, backup.path])
    try replica.importLines([FaultWorld.insertion("after the backup")])
    try arrives("after the backup")
    let away = world.directory.file("away.sqlite").path
    for suffix in ["-wal", "-shm", ""] { rename(file(suffix), away + suffix) }
    try logs("the store's file is gone: it is opened as soon as it is there again")
    let bytes = try Data(contentsOf: backup)
    try bytes.prefix(bytes.count / 2).write(to: replica.store)
    try logs("is cut off: it has")
    #expect(try Data(contentsOf: replica.store) == bytes.prefix(bytes.count / 2), "untouched")
    try bytes.write(to: replica.store)
    try eventually("it is taken: \(log)") {
      try replica.export().contains("after the backup")
    }
    #expect(try replica.status()["lostCommits"] is [String: Any])
    try logs("1 acknowledged save is lost")
    #expect(try replica.attempt("status", ["--check"]).status == 13)
    try replica.importLines([FaultWorld.insertion("after it")])
    try arrives("after it")
    for name in ["before", "after the backup", "after it"] {
      #expect(try replica.export().contains("\"\(name)\""))
    }
    #expect(daemon.stop() == 0)
  }
}
