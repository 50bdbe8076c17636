import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import Testing

struct RunTests {
  private struct Away: Error {}
  private struct BadToken: TransportFailure {
    let name = "unauthorized"
    let message = "The token is unknown."
    let suggestion = "Make a new one."
    let isTransient = false
    let retryAfterSeconds: Double? = nil
  }

  private let clock = ManualClock()
  private let zone: MemoryZone
  private let network: SwitchedTransport
  private let replica: TestReplica
  private let other: TestReplica
  private let delays = SyncSchedule.Delays(settle: 0, retryFirst: 0.001, retryMax: 0.002)

  init() async throws {
    zone = MemoryZone(clock: clock)
    network = SwitchedTransport(zone)
    var options = SyncOptions()
    options.massDelete.floor = 2
    replica = try await TestReplica(
      "run", zone: zone, clock: clock, transport: network, options: options)
    other = try await TestReplica("other", zone: zone, clock: clock)
  }

  /// Reads states until one fits, and gives all that came.
  private func read(
    _ states: inout AsyncStream<SyncState>.Iterator, until isIt: (SyncState) -> Bool
  ) async -> [SyncState] {
    var seen: [SyncState] = []
    while let state = await states.next(isolation: nil) {
      seen.append(state)
      if isIt(state) { break }
    }
    return seen
  }

  private func isInStep(_ state: SyncState) -> Bool {
    if case .inStep = state { true } else { false }
  }

  @Test("A running engine sends what is saved and fetches news by itself, and says how far it is")
  func keepsInStep() async throws {
    var states = replica.engine.run(delays: delays).makeAsyncIterator()
    #expect(await read(&states, until: isInStep).first == .syncing)
    for number in 0..<3 { try replica.insert("Item", ["title": .string("\(number)")]) }
    var sent = 0
    while sent < 3 {
      for state in await read(&states, until: isInStep) {
        if case .inStep(let report) = state { sent += report.push.objects }
        if case .sending(let progress) = state { #expect(progress.total >= 1) }
      }
    }
    #expect(zone.head >= 1)
    try await other.sync()
    let id = try other.insert("Item", ["title": .string("news")])
    try await other.sync()
    network.wake()
    var received = false
    while !received {
      for state in await read(&states, until: isInStep) {
        if case .receiving(let progress) = state {
          #expect(progress.done >= 1 && progress.total >= progress.done)
          received = true
        }
      }
    }
    #expect(try replica.value(id, "title") == .string("news"))
  }

  @Test("Offline it tells since when, and goes on when the server is back")
  func offline() async throws {
    network.fail(with: Away())
    var states = replica.engine.run(delays: delays).makeAsyncIterator()
    try replica.insert("Item")
    var pauses: [SyncState.Pause] = []
    while pauses.count < 3 {
      guard let state = await states.next(isolation: nil) else { break }
      if case .offline(let pause) = state { pauses.append(pause) }
    }
    #expect(Set(pauses.map(\.since)).count == 1)
    #expect(pauses.map(\.attempts) == [1, 2, 3])
    network.fail(with: nil)
    _ = await read(&states, until: isInStep)
    #expect(zone.head == 1)
  }

  @Test("What the server refuses is told as refused")
  func refused() async throws {
    network.fail(with: BadToken())
    var states = replica.engine.run(delays: delays).makeAsyncIterator()
    let seen = await read(&states) { if case .refused = $0 { true } else { false } }
    guard case .refused(let pause)? = seen.last else {
      Issue.record("\(seen)")
      return
    }
    #expect(pause.failure.code == "unauthorized")
  }

  @Test("A mass delete waits for a person; a sync that allows it lets the loop go on")
  func person() async throws {
    let items = try (0..<6).map { _ in try other.insert("Item") }
    try await other.sync()
    try await replica.sync()
    for id in items.prefix(5) { try replica.delete(id) }
    let patient = SyncSchedule.Delays(settle: 0, retryFirst: 3600, retryMax: 3600)
    var states = replica.engine.run(delays: patient).makeAsyncIterator()
    let seen = await read(&states) { if case .waitingForPerson = $0 { true } else { false } }
    guard case .waitingForPerson(let pause)? = seen.last else {
      Issue.record("\(seen)")
      return
    }
    #expect(pause.failure.code == SyncError.Code.massDelete.rawValue)
    _ = try await replica.engine.sync(allowingMassDelete: true)
    _ = await read(&states, until: isInStep)
    #expect(try replica.status.pending.objects == 0)
  }

  @Test("It ends with its reader: what was under way is cancelled, and close need not wait")
  func ends() async throws {
    let engine = replica.engine
    let reader = Task { [delays] in
      for await state in engine.run(delays: delays) {
        if case .inStep = state { return }
      }
    }
    await reader.value
    await until { network.polls == 0 }
    await engine.close()
    #expect(try !replica.status.syncing)
    #expect(try replica.status.lastError == nil)
  }

  @Test("What was in flight when the process ended counts as sent by the sync that sends it")
  func reportsOutbox() async throws {
    try replica.insert("Item")
    let hook = HookedTransport(zone)
    hook.afterPush = { throw Away() }
    let engine = try await replica.engine(through: hook)
    await #expect(throws: Away.self) { try await engine.sync() }
    #expect(try await engine.sync().push.objects == 1)
    await engine.close()
  }
}
