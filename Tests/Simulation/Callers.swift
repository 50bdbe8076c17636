import Driftless
import DriftlessSync
import DriftlessTesting

/// Several callers of one engine, and of one store beside it.
extension Simulation {
  private enum Wish: UInt64, CaseIterable { case sync, push, pull, check, retry, status }

  func callers(_ host: Host, _ step: Step) async throws {
    guard try host.isEnrolled else { return }
    var generator = SeededGenerator(seed: step.dice &+ 55)
    let wishes = (0..<2 + generator.next() % 4).map { _ in
      Wish(rawValue: generator.next() % UInt64(Wish.allCases.count)) ?? .sync
    }
    tell("\(host.name) is asked at once to \(wishes.map { "\($0)" }.joined(separator: ", "))")
    host.network.faults = .none
    host.network.flippedBits = 0
    host.network.held = HeldReplies()
    defer { host.network.held = nil }
    let (engine, store) = (host.engine, host.store)
    await withTaskGroup(of: (any Error)?.self) { group in
      for wish in wishes {
        group.addTask {
          do {
            switch wish {
            case .sync: _ = try await engine.sync()
            case .push: _ = try await engine.push()
            case .pull: _ = try await engine.pull()
            case .check: _ = try SyncEngine.check(store)
            case .retry:
              try SyncEngine.retryQuarantined(of: store)
              try SyncEngine.retryParked(of: store)
            case .status: _ = try SyncEngine.status(of: store)
            }
            return nil
          } catch { return error }
        }
      }
      for await error in group { if let error { judge(error, of: host) } }
    }
    try host.look()
  }
}
