import Driftless
import DriftlessHTTP
import DriftlessSync
import Foundation
import Synchronization
import TestSupport
import Testing

/// A zone that began anew, to which a whole fleet comes back at once: each replica offers all that it has.
@Suite(.serialized) struct OfferingFleetTests {
  /// What a process has had of memory at most. KiB.
  private static func peak(of pid: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return line.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
  }

  private final class Told: Sendable {
    struct Sum {
      var back = 0
      var stale = 0
      var changeSets = 0
    }

    private let state = Mutex(Sum())
    var sum: Sum { state.withLock { $0 } }

    func add(_ report: SyncReport?) {
      state.withLock { sum in
        sum.back += 1
        sum.stale += report?.push.staleAnswers ?? 0
        sum.changeSets += report?.push.changeSets ?? 0
      }
    }
  }

  @Test(
    "Fifty replicas that offer all they have at once come to one state, and another zone's pushes go on meanwhile"
  )
  func atOnce() async throws {
    let world = try FaultWorld()
    let zone = try Programs.run(
      "driftless-server", ["zone", "create", "other", "--data", world.server.data.path])
    #expect(zone.status == 0, "\(zone.errors)")
    let honest = try await EmbeddedReplica(
      "honest", in: world.directory, model: world.model, server: world.server.address,
      zone: "other",
      token: world.server.token(zone: "other"))
    var fleet: [EmbeddedReplica] = []
    for index in 0..<50 {
      let replica = try await world.embedded("r\(index)") {
        $0.retry.attemptsMax = 100
        $0.retry.delaySecondsMax = 2
      }
      if index == 0 { try replica.addItems((0..<400).map { "item \($0) \(UUID())" }) }
      _ = try await replica.engine.sync()
      fleet.append(replica)
    }
    // Each has something that it has not sent as well.
    for (index, replica) in fleet.enumerated() { try replica.addItem("own \(index)") }
    try world.renew()
    let told = Told()
    let coming = fleet.map(\.engine).map { engine in
      Task {
        do {
          told.add(try await engine.sync())
        } catch {
          told.add(nil)
          throw error
        }
      }
    }
    // One after the other, as a host does that has nothing to do with all that.
    var longest = Duration.zero
    var count = 0
    while told.sum.back < fleet.count {
      try honest.addItem("honest \(count)")
      let start = ContinuousClock.now
      _ = try await honest.engine.push()
      longest = max(longest, ContinuousClock.now - start)
      count += 1
    }
    for replica in coming { try await replica.value }
    let peak = try Self.peak(of: world.server.pid)
    let sum = told.sum
    print(
      "offered by \(fleet.count): \(sum.stale) stale, \(sum.changeSets) change sets, peak \(peak) KiB; "
        + "\(count) pushes to another zone, \(longest) at most")
    // Each push that is stale lost to one that got in: what is offered by all is taken from one.
    #expect(sum.stale < 10 * fleet.count)
    #expect(peak < 512 << 10)
    for replica in fleet { _ = try await replica.engine.sync() }
    let first = try fleet[0].export
    #expect(first.split(separator: "\n").count == 450)
    for replica in fleet {
      #expect(try replica.export == first, "\(replica.name)")
      #expect(try replica.pendingObjects == 0, "\(replica.name)")
    }
    #expect(count > 0)
  }
}
