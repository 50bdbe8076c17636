import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Seeded runs: whatever is lost, repeated or restarted, all replicas end equal.
///
/// `DRIFTLESS_SEEDS=first-last` runs other seeds.
@Suite(.serialized) struct SimulationTests {
  static let seeds: ClosedRange<UInt64> = {
    let parts = (ProcessInfo.processInfo.environment["DRIFTLESS_SEEDS"] ?? "").split(separator: "-")
      .compactMap { UInt64($0) }
    guard parts.count == 2, parts[0] <= parts[1] else { return 1...40 }
    return parts[0]...parts[1]
  }()

  @Test(
    "Replicas that lose requests and replies, repeat pushes and restart end equal", arguments: seeds
  )
  func faults(seed: UInt64) async throws {
    let replicas = 2 + Int(seed % 4)
    var simulation = try await Simulation(
      seed: seed, replicas: replicas, faults: FaultyTransport.Faults())
    try await simulation.run(steps: 120)
    try await check(simulation)
  }

  @Test(
    "Replicas whose server refuses some objects for a while lose nothing and end equal",
    arguments: seeds
  )
  func refusals(seed: UInt64) async throws {
    var simulation = try await Simulation(
      seed: seed &+ 1_000_000, replicas: 3, faults: FaultyTransport.Faults(), refused: "t3")
    try await simulation.run(steps: 120)
    try await check(simulation)
  }

  private func check(_ simulation: Simulation) async throws {
    let world = simulation.world
    do {
      try await world.syncAll()
      try await world.syncAll()
      try await world.syncAll()
    } catch {
      Issue.record("seed \(simulation.seed): \(error)\n\(simulation.trace.joined(separator: "\n"))")
      return
    }
    let exports = try world.replicas.map { try $0.export }
    let isEqual = exports.allSatisfy { $0 == exports[0] }
    let statuses = try world.replicas.map { try $0.status }
    let isQuiet = statuses.allSatisfy { $0.pending.objects == 0 && $0.cursor == world.zone.head }
    guard isEqual, isQuiet else {
      Issue.record(
        """
        seed \(simulation.seed): equal \(isEqual), quiet \(isQuiet)
        \(simulation.trace.joined(separator: "\n"))
        \(exports.enumerated().map { "r\($0):\n\($1)" }.joined(separator: "\n"))
        """)
      return
    }
    // A newcomer who reads the log from its beginning arrives at the same state.
    let newcomer = try await TestReplica("newcomer", zone: world.zone, clock: world.clock)
    try await newcomer.sync()
    let export = try newcomer.export
    #expect(export == exports[0], "seed \(simulation.seed): a newcomer differs")
  }
}
