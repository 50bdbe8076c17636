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
}
