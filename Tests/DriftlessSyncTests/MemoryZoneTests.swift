import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// The zone in memory behaves as a server does where somebody waits for news.
struct MemoryZoneTests {
  private func request(_ zone: MemoryZone, waitSeconds: Int) -> PullRequest {
    PullRequest(
      cursor: .start(generation: zone.log.generation), maxBytes: 1 << 20, waitSeconds: waitSeconds,
      replica: UUID(), ownThrough: 0)
  }

  @Test("A pull that may wait comes back with news when there is some, and when its time is over")
  func waits() async throws {
    let zone = MemoryZone()
    let replica = try await TestReplica("waiting", zone: zone, clock: ManualClock())
    let start = ContinuousClock.now
    #expect(try await zone.pull(request(zone, waitSeconds: 1)).entries.isEmpty)
    #expect(ContinuousClock.now - start >= .milliseconds(900))
    let waiting = Task { try await zone.pull(request(zone, waitSeconds: 600)) }
    while zone.traffic.pulls < 2 { await Task.yield() }
    try replica.insert("Item")
    try await replica.sync()
    #expect(try await waiting.value.entries.count == 1)
    let empty = MemoryZone()
    let cancelled = Task { try await empty.pull(request(empty, waitSeconds: 600)) }
    while empty.traffic.pulls < 1 { await Task.yield() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  @Test("What is no news for who waits does not end its waiting")
  func noNews() async throws {
    let zone = MemoryZone()
    let start = ContinuousClock.now
    let waiting = Task { try await zone.pull(request(zone, waitSeconds: 1)) }
    while zone.traffic.pulls < 1 { await Task.yield() }
    for _ in 0..<5 {
      zone.putBack(zone.log)
      // Who was woken by it has its turn.
      for _ in 0..<100 { await Task.yield() }
    }
    #expect(try await waiting.value.entries.isEmpty)
    #expect(ContinuousClock.now - start >= .milliseconds(900))
  }

  @Test("An engine that runs on it asks seldom")
  func isAskedSeldom() async throws {
    let zone = MemoryZone()
    let replica = try await TestReplica("seldom", zone: zone, clock: ManualClock())
    let running = Task {
      for await state in replica.engine.run() { if case .offline = state { break } }
    }
    while zone.traffic.pulls < 1 { await Task.yield() }
    // An engine that does not wait for an answer asks at each of its turns.
    for _ in 0..<20_000 { await Task.yield() }
    running.cancel()
    #expect(zone.traffic.pulls < 10, "\(zone.traffic.pulls) pulls")
  }
}
