import Foundation
import Synchronization
import TestSupport
import Testing

/// `syncctl status` without a store: all stores of a daemon.
@Suite(.serialized) struct StoresAtAGlanceTests {
  private let world: FaultWorld
  private let socket: String

  init() throws {
    world = try FaultWorld()
    socket = world.directory.file("syncd.sock").path
  }

  private func status(_ arguments: String..., environment: [String: String] = [:]) throws -> Outcome
  {
    try Programs.run("syncctl", ["status"] + arguments, environment: environment)
  }

  private func rows() throws -> [[String: Any]] {
    let outcome = try status("--socket", socket, "--json")
    #expect(outcome.status == 0, "\(outcome)")
    let rows = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    return try #require(rows as? [[String: Any]])
  }

  @Test("A line a store, a row a store in JSON, and the worst of them for a monitor")
  func glance() throws {
    let (first, second) = (try world.replica("first"), try world.replica("se cond"))
    let loose = try Replica(bare: "loose\nline", in: world.directory, model: world.model)
    let daemon = try DaemonProcess(stores: [first.store, second.store], in: world.directory.url)
    try eventually("both are in step") {
      let outcome = try status("--socket", socket, "--check")
      return outcome.status == 0
        && outcome.output.contains("pid \(daemon.pid) at \(socket), 2 stores")
    }
    let lines = try status("--socket", socket).output.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines[1].hasPrefix("in-step  items  0 pending  "), "\(lines)")
    #expect(lines[1].hasSuffix(first.store.path), "\(lines)")

    world.server.kill()
    try second.importLines([FaultWorld.insertion("1")])
    try eventually("one is offline") {
      try status("--socket", socket, "--check").status == 12
    }
    try daemon.reload(stores: [first.store, second.store, loose.store])
    try eventually("there are three") { try rows().count == 3 }
    #expect(try status("--socket", socket, "--check").status == 15)
    try eventually("each is as it is known to be") {
      let states = Set(try rows().map { $0["state"] as? String })
      return states.isSuperset(of: ["offline", "not-enrolled"]) && !states.contains("pending")
    }
    for row in try rows() {
      #expect((row["daemon"] as? [String: Any])?["pid"] as? Int == Int(daemon.pid))
      #expect(row["error"] is NSNull)
    }

    for name in try FileManager.default.contentsOfDirectory(atPath: first.folder.path) {
      unlink(first.folder.appendingPathComponent(name).path)
    }
    let gone = try status("--socket", socket, "--check")
    #expect(gone.status == 65, "\(gone)")
    #expect(gone.output.contains("unreadable    -      -          -  /"), "\(gone)")
    #expect(gone.output.split(separator: "\n").count == 4, "a line stays one: \(gone.output)")
    let row = try #require(try rows().first { $0["store"] as? String == first.store.path })
    #expect(row["state"] is NSNull && row["pending"] is NSNull)
    #expect((row["error"] as? [String: Any])?["code"] as? String == "no-store")
    #expect(daemon.stop() == 0)
  }

  @Test("The daemon is found where it usually listens, and without one each place is named")
  func places() throws {
    let runtime = world.directory.file("runtime")
    try FileManager.default.createDirectory(at: runtime, withIntermediateDirectories: true)
    let store = try world.replica("first").store
    let environment = ["XDG_RUNTIME_DIR": runtime.path, "RUNTIME_DIRECTORY": "/none"]
    let none = try status(environment: environment)
    #expect(none.status == 1, "\(none)")
    for part in ["/none/driftless-syncd.sock", runtime.path, "/tmp/driftless-syncd-", "Try: "] {
      #expect(none.errors.contains(part), "\(none)")
    }
    let daemon = try DaemonProcess(
      stores: [store], in: world.directory.url,
      script: #"sed -i 's|"syncd.sock"|"runtime/driftless-syncd.sock"|' "$2"; exec "$0" "$@""#)
    try eventually("it is found") {
      try status(environment: environment).output.contains("pid \(daemon.pid) at \(runtime.path)/")
    }
    #expect(daemon.stop() == 0)
  }

  @Test("A daemon that was stopped, or is killed while it is asked, keeps nobody waiting")
  func stopped() async throws {
    let replicas = try ["a", "b", "c"].map { try world.replica($0) }
    let daemon = try DaemonProcess(stores: replicas.map(\.store), in: world.directory.url)
    try eventually("it answers") { try status("--socket", socket).status == 0 }
    kill(daemon.pid, SIGSTOP)
    let silent = try status("--socket", socket)
    #expect(silent.status == 75 && silent.errors.contains("does not answer"), "\(silent)")
    kill(daemon.pid, SIGCONT)
    let (pid, place) = (daemon.pid, socket)
    let outcomes = Mutex<[Outcome]>([])
    try await onSeveralThreads(2) { number in
      if number == 0 {
        try eventually("some are answered") { outcomes.withLock { $0.count } >= 3 }
        kill(pid, SIGKILL)
      } else {
        try eventually("nobody is there") {
          let outcome = try Programs.run("syncctl", ["status", "--socket", place])
          outcomes.withLock { $0.append(outcome) }
          return outcome.status == 1
        }
      }
    }
    for outcome in outcomes.withLock({ $0 }) {
      #expect([0, 1, 75].contains(outcome.status), "\(outcome)")
      #expect(outcome.status == 0 || outcome.errors.contains("Try: "), "\(outcome)")
    }
  }
}
