import Foundation
import TestSupport
import Testing

/// A daemon under which stores change places, or lose what says whose they are.
@Suite(.serialized, .timeLimit(.minutes(5))) struct DaemonPlacesTests {
  private let world: FaultWorld
  private let first: Replica
  private let second: Replica

  init() throws {
    world = try FaultWorld()
    first = try world.replica("a")
    second = try world.replica("b")
  }

  private func log(_ folder: URL) -> String {
    let file = folder.appendingPathComponent("syncd.log")
    return (try? String(contentsOf: file, encoding: .utf8)) ?? ""
  }

  private func identity(at replica: Replica) throws -> String? {
    try replica.status()["replica"] as? String
  }

  /// The files of two stores, each under the other's name.
  private func swap() throws {
    let manager = FileManager.default
    func names(_ replica: Replica) throws -> [String] {
      try manager.contentsOfDirectory(atPath: replica.folder.path)
        .filter { $0.hasPrefix("\(replica.name).sqlite") }
    }
    func move(_ from: (folder: URL, stem: String), _ names: [String], _ to: (URL, String)) throws {
      for name in names {
        let target = to.1 + name.dropFirst(from.stem.count)
        try manager.moveItem(
          at: from.folder.appendingPathComponent(name), to: to.0.appendingPathComponent(target))
      }
    }
    let away = world.directory.file("away")
    try manager.createDirectory(at: away, withIntermediateDirectories: true)
    let (ofFirst, ofSecond) = (try names(first), try names(second))
    try move((first.folder, "a"), ofFirst, (away, "a"))
    try move((second.folder, "b"), ofSecond, (first.folder, "a"))
    try move((away, "a"), ofFirst, (second.folder, "b"))
  }

  @Test("Two stores that change places under it are told, and each is kept in step where it lies")
  func swapped() throws {
    let daemon = try DaemonProcess(
      stores: [first.store, second.store], in: world.directory.url)
    for replica in [first, second] {
      try eventually("\(replica.name) is kept") {
        try replica.attempt("status").output.contains("listening")
      }
    }
    let (one, two) = (try #require(try identity(at: first)), try #require(try identity(at: second)))
    try swap()
    let folder = world.directory.url
    try eventually("both are told: \(log(folder))") {
      log(folder).components(separatedBy: "Another store lies at this path than before").count == 3
    }
    #expect(try identity(at: first) == two && identity(at: second) == one)
    for replica in [first, second] {
      try replica.importLines([FaultWorld.insertion("after, at \(replica.name)")])
    }
    try eventually("what is saved at either arrives at the other: \(log(folder))") {
      let (here, there) = (try first.export(), try second.export())
      return here == there && here.contains("after, at a") && here.contains("after, at b")
    }
    #expect(daemon.stop() == 0)
    #expect(!log(folder).contains("the disk failed"), "\(log(folder))")
    for replica in [first, second] {
      let check = try Programs.run("syncctl", ["store", "check", replica.store.path])
      #expect(check.status == 0, "\(check)")
    }
  }

  @Test("A link that is turned leads to another store, which is kept from then on")
  func turnedLink() throws {
    let manager = FileManager.default
    let link = world.directory.file("current.sqlite")
    try manager.createSymbolicLink(at: link, withDestinationURL: first.store)
    let daemon = try DaemonProcess(stores: [link], in: world.directory.url)
    try eventually("the first is kept") {
      try first.attempt("status").output.contains("listening")
    }
    try manager.removeItem(at: link)
    try manager.createSymbolicLink(at: link, withDestinationURL: second.store)
    let folder = world.directory.url
    try eventually("the second is kept, and the first no more: \(log(folder))") {
      try second.attempt("status").output.contains("listening")
        && !first.attempt("status").output.contains("listening")
    }
    #expect(log(folder).contains("leads to another file now, \(second.store.path)"))
    try second.importLines([FaultWorld.insertion("at the new place")])
    try first.sync()
    try eventually("what is saved there is sent: \(log(folder))") {
      try first.sync()
      return try first.export().contains("at the new place")
    }
    #expect(daemon.stop() == 0)
  }

  @Test(
    "What says whose a store is may be removed: status finds its daemon, and a second one keeps off"
  )
  func removedSigns() throws {
    let daemon = try DaemonProcess(stores: [first.store], in: world.directory.url)
    func daemonPID() throws -> Int? {
      (try first.status()["daemon"] as? [String: Any])?["pid"] as? Int
    }
    try eventually("it is kept") { try daemonPID() == Int(daemon.pid) }
    let folder = world.directory.file("other")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // The daemon is stopped meanwhile: what keeps the other off is not what it makes anew.
    #expect(kill(daemon.pid, SIGSTOP) == 0)
    for suffix in ["-driftless-sync", "-driftless-daemon"] {
      #expect(unlink(first.store.path + suffix) == 0, "\(suffix)")
    }
    let other = try DaemonProcess(stores: [first.store], in: folder)
    try eventually("the other says who keeps it: \(log(folder))") {
      log(folder).contains("Process \(daemon.pid) syncs this store.")
    }
    #expect(kill(daemon.pid, SIGCONT) == 0)
    try eventually("status names the first: \(log(world.directory.url))") {
      try daemonPID() == Int(daemon.pid)
    }
    try first.importLines([FaultWorld.insertion("after")])
    try eventually("it is sent") {
      try second.sync()
      return try second.export().contains("\"after\"")
    }
    #expect(!log(folder).contains("sent "), "\(log(folder))")
    #expect(other.stop() == 0)
    #expect(try daemonPID() == Int(daemon.pid), "the other took nothing with it")
    #expect(daemon.stop() == 0)
  }

  @Test(
    "A store that was moved or copied from under it is synced by syncctl alone, and its mark goes",
    arguments: [false, true])
  func movedAway(isCopied: Bool) throws {
    let daemon = try DaemonProcess(stores: [first.store], in: world.directory.url)
    try eventually("it is kept") { try first.attempt("status").output.contains("listening") }
    let manager = FileManager.default
    let names = try manager.contentsOfDirectory(atPath: first.folder.path)
      .filter { $0.hasPrefix("a.sqlite") }
    #expect(names.contains("a.sqlite-driftless-daemon"))
    let folder = world.directory.file("elsewhere")
    try manager.createDirectory(at: folder, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.currentDirectoryURL = first.folder
    process.arguments = ["-c", "\(isCopied ? "cp -a" : "mv") a.sqlite* ../elsewhere/"]
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
    let store = folder.appendingPathComponent("a.sqlite").path
    let mark = store + "-driftless-daemon"
    #expect(manager.fileExists(atPath: mark))
    func syncctl(_ arguments: [String]) throws -> Outcome {
      try Programs.run("syncctl", arguments)
    }
    // With keys of one's own a daemon that keeps the store would refuse, and this one does not keep it.
    let keys = world.directory.file("own.keys").path
    #expect(try syncctl(["key", "create", keys]).status == 0)
    try eventually("the daemon lets go of what was moved, and syncctl syncs it") {
      let outcome = try syncctl(["sync", "--store", store, "--key-file", keys])
      #expect(!outcome.errors.contains("does not keep"), "\(outcome)")
      return outcome.status == 0
    }
    #expect(!manager.fileExists(atPath: mark), "the note about a daemon that denies it is gone")
    let verified = try syncctl(["verify", "--store", store])
    #expect(verified.status == 0, "\(verified)")
    let status = try syncctl(["status", "--store", store, "--check"])
    #expect(status.status == 0 && status.output.contains("none"), "\(status)")
    #expect(daemon.stop() == 0)
  }

  @Test("A daemon that was killed does not keep syncctl from syncing with keys of its own")
  func killedBesideKeys() throws {
    let daemon = try DaemonProcess(stores: [first.store], in: world.directory.url)
    let keys = world.directory.file("own.keys").path
    #expect(try Programs.run("syncctl", ["key", "create", keys]).status == 0)
    try eventually("it is kept, with its own keys") {
      let outcome = try first.attempt("sync", ["--key-file", keys])
      return outcome.status == 64 && outcome.errors.contains("keys that it was given")
    }
    kill(daemon.pid, SIGKILL)
    try eventually("syncctl syncs") { try first.attempt("sync", ["--key-file", keys]).status == 0 }
  }
}
