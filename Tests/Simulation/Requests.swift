import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization

/// What engines are told to do, and what comes between a request and its answer.
extension Simulation {
  private struct Crashed: Error {}

  /// What comes between the requests of one step and their answers.
  private final class Moments: Sendable {
    enum Event { case crash, interlude(UInt64) }

    private let state: Mutex<(generator: SeededGenerator, left: Int)>
    private let interludes: Int
    private let isReplaced: Mutex<Bool>

    init(_ step: Step, interludes: Int) {
      var generator = SeededGenerator(seed: step.dice &+ 77)
      let left = step.kind == .crash ? Int(generator.next() % 6) : Int.max
      state = Mutex((generator, left))
      self.interludes = interludes
      isReplaced = Mutex(step.dice % 4 == 0)
    }

    /// Whether the zone is replaced now: once, when the engine asks again what the zone is, as who begins its log again does.
    func replaces(_ questions: Int) -> Bool {
      guard questions > 1 else { return false }
      return isReplaced.withLock { isReplaced in
        defer { isReplaced = true }
        return !isReplaced
      }
    }

    func next() -> Event? {
      state.withLock { state in
        guard state.left > 0 else { return .crash }
        state.left -= 1
        guard state.generator.chance(interludes) else { return nil }
        return .interlude(state.generator.next())
      }
    }
  }

  func sync(_ host: Host, _ step: Step) async throws {
    guard try host.isEnrolled else { return }
    let network = host.network
    host.isAtWork = true
    network.faults = scenario.faults
    network.flippedBits = scenario.flippedBits
    network.refused = scenario.hasRefusals ? "v3" : nil
    crashImage = nil
    if step.kind == .crash, scenario.crashesBetweenCommits {
      try host.endAfterCommits(Int(step.dice / 7 % 12)) { [unowned self] image in
        crashImage = crashImage ?? image
      }
    }
    defer { host.endsAfterNone() }
    let moments = Moments(step, interludes: scenario.interludes)
    network.interlude = { [unowned self] _ in
      // It has ended already, between two commits.
      if crashImage != nil { throw Crashed() }
      if scenario.isReplacedBetween, moments.replaces(network.questions) {
        tell("meanwhile:")
        hasPlainTimes = false
        try replaceZone()
      }
      switch moments.next() {
      case .crash:
        crashImage = try FileImage.take(host.file)
        throw Crashed()
      case .interlude(let dice):
        guard !isInterlude else { return }
        isInterlude = true
        defer { isInterlude = false }
        try await interlude(host, dice)
      case nil: return
      }
    }
    defer {
      network.interlude = nil
      host.isAtWork = false
    }
    do {
      switch step.kind {
      case .push: _ = try await host.engine.push()
      case .pull: _ = try await host.engine.pull()
      case .allow:
        _ = try await host.engine.sync(allowingMassDelete: true)
        host.asks = false
      default: _ = try await host.engine.sync()
      }
      tell("\(host.name) \(step.kind.rawValue)s")
    } catch is Crashed {
      tell("\(host.name) crashes")
    } catch {
      judge(error, of: host)
    }
    if let image = crashImage {
      tell("\(host.name) begins again from where it was")
      try await host.reopen(models[host.version], contents: image)
    }
    host.isAtWork = false
    await host.follow()
    try host.look()
    try checkAccepted(host)
  }

  /// What else happens while a request is under way.
  func interlude(_ host: Host, _ dice: UInt64) async throws {
    tell("meanwhile:")
    clock.advance(milliseconds: 100)
    if scenario.hasZoneRenames || scenario.hasVisits, dice % 5 == 0 {
      return try await move(host, dice / 5)
    }
    if scenario.hasServerInterludes, dice % 3 == 1 {
      // A day passes within a request: nobody learns by its answer what time it is.
      hasPlainTimes = false
      return try dice % 5 == 0 ? server.backup() : restoreServer(dice / 5)
    }
    let other = hosts[Int(dice % UInt64(hosts.count))]
    if other === host || dice % 3 == 0 { return try save(host, dice) }
    other.network.begin(dice: dice)
    try await sync(other, Step(.sync, other.number, dice))
  }

  func twoCallers(_ host: Host, _ step: Step) async throws {
    guard try host.isEnrolled else { return }
    tell("\(host.name): two callers")
    host.network.faults = .none
    host.network.flippedBits = 0
    host.network.held = HeldReplies()
    defer { host.network.held = nil }
    let engine = host.engine
    await withTaskGroup(of: (any Error)?.self) { group in
      for _ in 0..<2 {
        group.addTask {
          do {
            _ = try await engine.sync()
            return nil
          } catch { return error }
        }
      }
      for await error in group { if let error { judge(error, of: host) } }
    }
    try host.look()
  }

  /// An error of the network is told; any other is one that stops sync.
  func judge(_ error: any Error, of host: Host) {
    switch error {
    case is SimulatedNetwork.Lost: tell("\(host.name) \(error)")
    case _ where isOfFullDisk(error, of: host): return
    case let error as SyncError where error.code == .massDelete && scenario.hasMassDeletes:
      host.asks = true
      tell("\(host.name) asks: \(brief(error))")
    case let error as ProtocolError
    where error.code == .noZone && (isRenamed(host) || host.isElsewhere):
      tell("\(host.name) finds no zone under its name")
    case let error as SyncError where host.isElsewhere && Self.otherwise.contains(error.code):
      tell("\(host.name) was enrolled meanwhile: \(error.code.rawValue)")
    case let error as ProtocolError
    where (scenario.hasServerInterludes || scenario.isReplacedBetween)
      && (error.code == .diverged || error.code == .generationChanged):
      tell("\(host.name) comes to another log again and again")
    case let error as ProtocolError
    where scenario.hasServerInterludes && error.code == .noSnapshot:
      tell("\(host.name) finds no snapshot any more")
    case let error as SyncError where error.code == .logPurged && scenario.hasPurges:
      tell("\(host.name) cannot go on: \(brief(error))")
    case let error as ProtocolError where error.code == .busy:
      tell("\(host.name) is told to come again")
    case let error as ProtocolError where host.network.hasFlipped:
      tell("\(host.name) gets other bytes than were sent: \(error.code.rawValue)")
    case let error as ProtocolError where error.code == .damaged && host.network.damaged != nil:
      tell("\(host.name) gets an entry that cannot be read")
    case let error as SyncError where error.code == .damagedOnTheWay && host.network.hasFlipped:
      tell("\(host.name) sent other bytes than arrived")
    case let error as SyncError where error.code == .stillStale:
      tell("\(host.name) gives up for now")
    case let error as ProtocolError where error.code == .unauthorized && host.network.isRevoked:
      tell("\(host.name) is told that its token is not known")
    case let error as SyncError where error.code == .diverged && scenario.asksWhenDiverged:
      tell("\(host.name) asks whether it may come back to another log")
    default: fail("sync goes on", "\(host.name): \(brief(error))")
    }
  }
}
