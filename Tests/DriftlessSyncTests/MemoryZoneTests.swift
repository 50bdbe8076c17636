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
    let cancelled = Task { try await zone.pull(request(MemoryZone(), waitSeconds: 600)) }
    cancelled.cancel()
    _ = await cancelled.result
  }

  @Test("An engine that runs on it asks seldom")
  func isAskedSeldom() async throws {
    let zone = MemoryZone()
    let replica = try await TestReplica("seldom", zone: zone, clock: ManualClock())
    let running = Task {
      for await state in replica.engine.run() { if case .offline = state { break } }
    }
    try await Task.sleep(for: .seconds(1))
    running.cancel()
    #expect(zone.traffic.pulls < 10, "\(zone.traffic.pulls) pulls in a second")
  }
}
