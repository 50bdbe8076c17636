import Foundation
import TestSupport
import Testing

/// Stores of one user that another one comes to. Run by root, these are root and nobody; else both are who runs the tests,
/// and the rights of files alone are looked at.
@Suite(.serialized) struct OtherUserTests {
  private static let isRoot = geteuid() == 0
  private static let other = isRoot ? 65_534 : geteuid()
  private static let asOther =
    isRoot
    ? #"exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0" "$@""#
    : #"exec "$0" "$@""#

  private let world: FaultWorld
  private let folder: URL
  private let store: URL

  init() throws {
    world = try FaultWorld()
    folder = world.directory.file("theirs")
    store = folder.appendingPathComponent("n.sqlite")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    chmod(world.directory.url.path, 0o755)
    // A server in the process of the tests has closed what is made here to others.
    let model = FileManager.default.enumerator(atPath: world.model.path)
    chmod(world.model.path, 0o755)
    while let name = model?.nextObject() as? String {
      chmod(world.model.appendingPathComponent(name).path, 0o755)
    }
    chmod(folder.path, 0o755)
    if Self.isRoot { try #require(chown(folder.path, 65_534, 65_534) == 0) }
    let made = try theirs(["init", "--store", store.path, "--model", world.model.path])
    try #require(made.status == 0, "\(made)")
  }

  private func theirs(_ arguments: [String]) throws -> Outcome {
    try Programs.run("syncctl", arguments, script: Self.asOther)
  }

  private func lines() throws -> String {
    let file = world.directory.file("lines.jsonl")
    try Data(FaultWorld.insertion(UUID().uuidString).utf8).write(to: file)
    chmod(file.path, 0o644)
    return file.path
  }

  private func make(_ suffix: String, mode: mode_t, isTheirs: Bool) throws {
    let path = store.path + suffix
    try Data().write(to: URL(fileURLWithPath: path))
    chmod(path, mode)
    if isTheirs, Self.isRoot { try #require(chown(path, 65_534, 65_534) == 0) }
  }

  /// By root, as a person at the host would.
  private func enroll() throws {
    let enrolled = try Programs.run(
      "syncctl",
      [
        "enroll", "--store", store.path, "--server", world.server.address, "--zone", world.zone,
      ], environment: ["SYNCCTL_TOKEN": world.token])
    try #require(enrolled.status == 0, "\(enrolled)")
  }

  @Test("What root's commands make beside a store is its owner's, who goes on with it")
  func rootComes() throws {
    unlink(store.path + "-driftless-lock")
    try enroll()
    for arguments in [
      ["import", "--store", store.path, try lines()], ["sync", "--store", store.path],
    ] {
      let outcome = try Programs.run("syncctl", arguments)
      #expect(outcome.status == 0, "\(outcome)")
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let attributes = try FileManager.default.attributesOfItem(
        atPath: folder.appendingPathComponent(name).path)
      if attributes[.type] as? FileAttributeType == .typeSymbolicLink { continue }
      #expect((attributes[.ownerAccountID] as? NSNumber)?.intValue == Int(Self.other), "\(name)")
      if Self.isRoot {
        #expect((attributes[.groupOwnerAccountID] as? NSNumber)?.intValue == 65_534, "\(name)")
      }
    }
    for arguments in [
      ["import", "--store", store.path, try lines()], ["sync", "--store", store.path],
    ] {
      let outcome = try theirs(arguments)
      #expect(outcome.status == 0, "\(outcome)")
    }
  }

  @Test("Root asks the daemon of another user, which keeps the store")
  func daemonOfAnother() throws {
    try enroll()
    let daemon = try DaemonProcess(
      stores: [store], in: folder, script: "chmod 644 \"$2\"; \(Self.asOther)")
    try eventually("the daemon answers") {
      let status = try Programs.run("syncctl", ["status", "--store", store.path])
      return status.output.contains("daemon:      pid \(daemon.pid), ")
    }
    let socket = folder.appendingPathComponent("syncd.sock").path
    let all = try Programs.run("syncctl", ["status", "--socket", socket])
    #expect(all.status == 0 && all.output.contains(store.path), "\(all)")
    #expect(daemon.stop() == 0)
  }

  @Test("A user who may not ask a daemon is told so, with the place")
  func daemonOfRoot() throws {
    let place = world.directory.file("roots")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    chmod(place.path, 0o755)
    let daemon = try DaemonProcess(stores: [store], in: place)
    let socket = place.appendingPathComponent("syncd.sock").path
    try eventually("the daemon answers") {
      try Programs.run("syncctl", ["status", "--socket", socket]).status == 0
    }
    let outcome = try theirs(["status", "--socket", socket])
    #expect(outcome.status == (Self.isRoot ? 1 : 0), "\(outcome)")
    if Self.isRoot { #expect(outcome.errors.contains("\(socket): Permission denied")) }
    chmod(socket, 0o666)
    let refused = try theirs(["status", "--socket", socket])
    #expect(refused.status == (Self.isRoot ? 77 : 0), "\(refused)")
    if Self.isRoot { #expect(refused.errors.contains("belongs to another user")) }
    #expect(daemon.stop() == 0)
  }

  @Test("A side file of somebody else is named, with what to do", arguments: [0o600, 0o000])
  func lockOfAnother(mode: Int) throws {
    unlink(store.path + "-driftless-lock")
    // Without root, one's own file that is closed.
    try make("-driftless-lock", mode: Self.isRoot ? mode_t(mode) : 0, isTheirs: false)
    let outcome = try theirs(["import", "--store", store.path, try lines()])
    #expect(outcome.status != 0)
    #expect(outcome.errors.contains("\(store.path)-driftless-lock "), "\(outcome)")
    #expect(outcome.errors.contains(Self.isRoot ? "chown nobody:" : "chmod u+rw"), "\(outcome)")
    let doctor = try theirs(["doctor", "--store", store.path])
    #expect(doctor.status == outcome.status, "as every command ends: \(doctor)")
    #expect(doctor.output.contains(Self.isRoot ? "chown nobody:" : "chmod u+rw"), "\(doctor)")
  }

  @Test("A store that may not be written is refused before anything is made beside it")
  func readOnlyFile() throws {
    // Root may write any file.
    chmod(store.path, 0o444)
    let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    for arguments in [
      ["import", "--store", store.path, "/dev/null"], ["sync", "--store", store.path],
      ["conflicts", "keep", "--store", store.path, "1"],
    ] {
      let outcome = try theirs(arguments)
      #expect(outcome.status == 77, "\(arguments): \(outcome)")
      #expect(outcome.errors.contains("chmod u+w \(store.path)"), "\(outcome)")
      let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      #expect(left == before, "\(arguments)")
    }
    #expect(try theirs(["status", "--store", store.path]).status == 0)
    chmod(store.path, 0o600)
    let outcome = try theirs(["import", "--store", store.path, try lines()])
    #expect(outcome.status == 0, "\(outcome)")
  }

  @Test(
    "A replica that may not be written is not said to be in step: no sync of this user could tell"
  )
  func readOnlyReplica() throws {
    let enrolled = try Programs.run(
      "syncctl",
      [
        "enroll", "--store", store.path, "--server", world.server.address, "--zone", world.zone,
      ], environment: ["SYNCCTL_TOKEN": world.token])
    #expect(enrolled.status == 0, "\(enrolled)")
    #expect(try theirs(["sync", "--store", store.path]).status == 0)
    #expect(try theirs(["status", "--store", store.path, "--check"]).status == 0)
    for (path, closed, open) in [(store.path, 0o444, 0o600), (folder.path, 0o555, 0o755)] {
      chmod(path, mode_t(closed))
      defer { chmod(path, mode_t(open)) }
      let status = try theirs(["status", "--store", store.path, "--check"])
      #expect(status.status == 14, "\(status)")
      #expect(status.output.hasPrefix("state:       refused: "), "\(status)")
      #expect(status.output.lowercased().contains("this process may not write"), "\(status)")
      #expect(
        status.output.contains("what is known: in step with the zone, as of"), "\(status)")
      let json = try theirs(["status", "--store", store.path, "--json"])
      #expect(json.output.contains(#""state":"refused""#), "\(json)")
      #expect(json.output.contains(#""code":"read-only""#), "\(json)")
    }
    #expect(try theirs(["status", "--store", store.path, "--check"]).status == 0)
  }

  @Test(
    "What was made beside a store while it could not be written does not keep it from being written"
  )
  func closedLog() throws {
    try make("-wal", mode: 0o444, isTheirs: true)
    try make("-shm", mode: 0o444, isTheirs: true)
    let outcome = try theirs(["import", "--store", store.path, try lines()])
    #expect(outcome.status == 0, "\(outcome)")
  }

  @Test("A path that leads to no store says why, with one exit code in every command")
  func noStore() throws {
    let ring = folder.appendingPathComponent("ring.sqlite").path
    let nowhere = folder.appendingPathComponent("link.sqlite").path
    try #require(symlink(ring, ring) == 0 && symlink(folder.path + "/none", nowhere) == 0)
    let closed = folder.appendingPathComponent("closed")
    try FileManager.default.createDirectory(at: closed, withIntermediateDirectories: true)
    try #require(chmod(closed.path, 0) == 0)
    defer { chmod(closed.path, 0o700) }
    for (path, status, words) in [
      (folder.path + "/none.sqlite", 65, "There is no store at"),
      (ring, 65, "a symbolic link that leads back to itself"),
      (nowhere, 65, "a symbolic link that leads nowhere"),
      (store.path + "/x", 65, "is a file, and no folder"),
      (closed.path + "/x.sqlite", 77, "may not enter a folder"),
    ] {
      for command in [
        ["status", "--store", path], ["digest", "--store", path], ["sync", "--store", path],
        ["store", "info", path], ["store", "check", path],
        ["store", "compare", store.path, path],
      ] {
        let outcome = try theirs(command)
        #expect(Int(outcome.status) == status, "\(command): \(outcome)")
        #expect(outcome.errors.contains(words), "\(command): \(outcome)")
      }
    }
  }

  @Test("A socket in a folder that is closed to the daemon's user ends it as --check says")
  func closedSocketFolder() throws {
    let place = world.directory.file("closed")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    let file = world.directory.file("closed.json")
    func run(_ more: [String] = []) throws -> Outcome {
      try Programs.run("syncd", ["--config", file.path] + more, script: Self.asOther)
    }
    for socket in ["closed/s.sock", "closed/below/s.sock"] {
      chmod(place.path, 0o755)
      try Data(#"{"socket":"\#(socket)","stores":[{"path":"\#(store.path)"}]}"#.utf8)
        .write(to: file)
      chmod(file.path, 0o644)
      chmod(place.path, socket == "closed/s.sock" && Self.isRoot ? 0o755 : 0o600)
      let check = try run(["--check"])
      #expect(check.status == 77, "\(check)")
      #expect(check.errors.contains("cannot listen at"), "\(check)")
      #expect(check.errors.contains("Permission denied"), "\(check)")
      let daemon = try run()
      #expect(daemon.status == 77 && daemon.errors.contains("Permission denied"), "\(daemon)")
    }
    chmod(place.path, 0o755)
  }
}
