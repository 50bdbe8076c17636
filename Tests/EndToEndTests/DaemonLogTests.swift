import Foundation
import TestSupport
import Testing

/// What `syncd` says of its syncs, and when it tries again.
@Suite(.serialized) struct DaemonLogTests {
  @Test("A sync that did something is a line of the log; one that did nothing is none")
  func loggedSync() throws {
    let world = try FaultWorld()
    let first = try world.replica("first")
    let second = try world.replica("second")
    let daemon = try DaemonProcess(stores: [first.store], in: world.directory.url)
    try first.importLines([FaultWorld.insertion("before")])
    try eventually("the daemon has sent it") { try first.pendingObjects == 0 }
    let log = world.directory.file("syncd.log")
    func lines() throws -> [Substring] {
      try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
        .filter { $0.contains("level=info") }
    }
    try eventually("the sync is logged") { try lines().contains { $0.contains("sent 1 object") } }
    #expect(try lines().allSatisfy { $0.contains(" s\"") && $0.contains(first.store.path) })
    let before = try lines().count
    for _ in 0..<3 { try first.sync() }
    #expect(try lines().count == before)
    try second.importLines([FaultWorld.insertion("news")])
    try second.sync()
    try eventually("news is logged") {
      try lines().contains { $0.contains("received 1 inserted") }
    }
    #expect(daemon.stop() == 0)
  }

  @Test(
    "A daemon whose token is not taken goes on soon after that is replaced, whoever has asked meanwhile",
    arguments: [false, true])
  func replacedToken(connects: Bool) throws {
    let world = try FaultWorld()
    let replica = try world.replica("first")
    let other = try world.replica("second")
    let token = URL(fileURLWithPath: replica.store.path + "-driftless-token")
    let right = try Data(contentsOf: token)
    try Data("wrong\n".utf8).write(to: token)
    let daemon = try DaemonProcess(
      stores: [replica.store], in: world.directory.url, retrySecondsMax: 3600)
    // Nothing is saved later: it is the token alone that has it go on.
    try replica.importLines([FaultWorld.insertion("a")])
    let next = try waitUntilFar(replica)
    if connects {
      // Who asks in the pause has the store connect with what lies there now.
      #expect(throws: (any Error).self) { try replica.sync() }
    }
    try right.write(to: token)
    // The daemon is not asked, for that would have it look.
    try eventually("it was sent before the next attempt") {
      try #require(Date() < next)
      try other.sync()
      return try other.export().contains("\"a\"")
    }
    #expect(daemon.stop() == 0)
  }

  /// Waits until the next attempt is so far away that what comes sooner has another reason.
  ///
  /// - Returns: the time of that attempt.
  private func waitUntilFar(_ replica: Replica) throws -> Date {
    var next = Date.distantPast
    try eventually(within: 120, "the next attempt is far") {
      let daemon = try replica.status()["daemon"] as? [String: Any]
      let state = daemon?["state"] as? [String: Any]
      guard let text = state?["nextAttempt"] as? String else { return false }
      let whole = ISO8601DateFormatter()
      let parts = ISO8601DateFormatter()
      parts.formatOptions.insert(.withFractionalSeconds)
      guard let time = whole.date(from: text) ?? parts.date(from: text) else { return false }
      next = time
      return next.timeIntervalSinceNow > 12
    }
    return next
  }
}
