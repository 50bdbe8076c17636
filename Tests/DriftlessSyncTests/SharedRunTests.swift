import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// A store that is kept in step by the front door: enrolled when it is needed, by one run however many ask.
struct SharedRunTests {
  private let clock = ManualClock()
  private let zone: MemoryZone
  private let directory: TemporaryDirectory
  /// Attempts follow each other at once.
  private let delays = SyncSchedule.Delays(settle: 0, retryFirst: 0.001, retryMax: 0.002)
  /// The next attempt is when somebody asks.
  private let patient = SyncSchedule.Delays(settle: 0, retryFirst: 3600, retryMax: 3600)

  init() throws {
    zone = MemoryZone(clock: clock)
    directory = try TemporaryDirectory()
  }

  private func open(_ name: String = "till") async throws -> LocalStore {
    let library = try await LocalStore.open(
      model: shopModel(), at: directory.file("\(name).sqlite"))
    library.store.setClock { [clock] in clock.date }
    return library
  }

  private func add(_ title: String, to library: LocalStore) async throws {
    try await library.write { try $0.insert(entityNamed: "Item")["title"] = title }
  }

  private typealias States = AsyncStream<SyncState>.Iterator

  /// Reads states until one fits.
  @discardableResult
  private func read(
    _ states: inout States, until isIt: (SyncState) -> Bool
  ) async -> SyncState? {
    while let state = await states.next(isolation: nil) {
      if isIt(state) { return state }
    }
    Issue.record("the states ended before the one that was waited for")
    return nil
  }

  private func isInStep(_ state: SyncState) -> Bool {
    if case .inStep = state { true } else { false }
  }

  /// Waits for the state in which nothing is pending.
  private func settle(_ states: inout States, _ library: LocalStore) async throws {
    while true {
      await read(&states, until: isInStep)
      if try SyncEngine.status(of: library.store).pending.objects == 0 { return }
    }
  }

  private func pause(_ state: SyncState?) -> SyncState.Pause? {
    switch state {
    case .offline(let pause), .waitingForPerson(let pause), .refused(let pause): pause
    default: nil
    }
  }

  // MARK: Enrolling

  @Test("A first start offline is a state; the store is enrolled when the server answers")
  func firstStartOffline() async throws {
    let library = try await open()
    try await add("before", to: library)
    let network = SwitchedTransport(zone)
    network.fail(with: SwitchedTransport.Away())
    var states = try await library.sync(through: network, delays: delays).makeAsyncIterator()
    let offline = await read(&states) { if case .offline = $0 { true } else { false } }
    #expect(pause(offline)?.failure.isTransient == true)
    #expect(try !SyncEngine.status(of: library.store).isEnrolled)
    // Work goes on meanwhile.
    try await add("offline", to: library)
    let attempts = network.asked
    network.fail(with: nil)
    try await settle(&states, library)
    #expect(network.asked > attempts)
    let status = try SyncEngine.status(of: library.store)
    #expect(status.zone == zone.name && status.server == MemoryZone.url && status.isCurrent)
    // Another replica has both.
    let other = try await TestReplica("other", zone: zone, clock: clock)
    try await other.sync()
    #expect(try other.export == ReplicaExport.text(of: library.store))
    #expect(try other.export.contains("before") && other.export.contains("offline"))
    // Once: the zone is not asked for it again.
    let asked = network.asked
    try await add("later", to: library)
    try await settle(&states, library)
    #expect(network.asked == asked)
  }

  @Test("A program that is killed between its enrolment and the first pull goes on where it was")
  func killedBeforeFirstPull() async throws {
    let other = try await TestReplica("other", zone: zone, clock: clock)
    try other.insert("Item", ["title": .string("there")])
    try await other.sync()
    let network = SwitchedTransport(zone)
    network.failPulls(with: SwitchedTransport.Away())
    do {
      let library = try await open()
      try await add("here", to: library)
      let engine = SyncEngine(store: library.store, enrollingThrough: network)
      await #expect(throws: SwitchedTransport.Away.self) { try await engine.sync() }
      #expect(try SyncEngine.status(of: library.store).isEnrolled)
      // Nothing is closed: what is in the file is all that is left.
    }
    network.failPulls(with: nil)
    let library = try await open()
    var states = try await library.sync(through: network, delays: delays).makeAsyncIterator()
    try await settle(&states, library)
    #expect(network.asked == 1)
    try await other.sync()
    #expect(try ReplicaExport.text(of: library.store) == other.export)
    #expect(try other.export.contains("there") && other.export.contains("here"))
  }

  @Test(
    "A store that is enrolled already is kept in step, under the address that answers"
  )
  func alreadyEnrolled() async throws {
    let library = try await open()
    let former = try #require(URL(string: "https://former.example"))
    try SyncEngine.enroll(
      store: library.store, server: former, zone: zone.name, info: try await zone.zoneInfo())
    let replica = try SyncEngine.status(of: library.store).replica
    try await add("here", to: library)
    let network = SwitchedTransport(zone)
    network.fail(with: SwitchedTransport.Away())
    var states = try await library.sync(through: network, delays: delays).makeAsyncIterator()
    await read(&states) { if case .offline = $0 { true } else { false } }
    // An address at which nobody answered yet is not kept.
    #expect(try SyncEngine.status(of: library.store).server == former)
    network.fail(with: nil)
    try await settle(&states, library)
    let status = try SyncEngine.status(of: library.store)
    #expect(status.replica == replica && status.server == MemoryZone.url)
    #expect(network.asked == 0)
  }

  @Test(
    "A store that is enrolled elsewhere is refused, or waits for a person where it is later"
  )
  func enrolledElsewhere() async throws {
    let library = try await open()
    let network = SwitchedTransport(zone)
    network.fail(with: SwitchedTransport.Away())
    var states = try await library.sync(through: network, delays: delays).makeAsyncIterator()
    await read(&states) { if case .offline = $0 { true } else { false } }
    // Somebody enrols it with another zone by hand meanwhile.
    let elsewhere = MemoryZone(name: "elsewhere", clock: clock)
    try SyncEngine.enroll(
      store: library.store, server: MemoryZone.url, zone: elsewhere.name,
      info: try await elsewhere.zoneInfo())
    let state = await read(&states) { if case .waitingForPerson = $0 { true } else { false } }
    #expect(pause(state)?.failure.code == SyncError.Code.alreadyEnrolled.rawValue)
    let error = await #expect(throws: SyncError.self) {
      _ = try await library.sync(through: zone)
    }
    #expect(error?.code == .alreadyEnrolled)
    #expect(error?.message.contains("elsewhere") == true)
    #expect(error?.suggestion.contains("unenroll") == true)
    await #expect(throws: SyncError.self) {
      try await SyncEngine(store: library.store, enrollingThrough: zone).sync()
    }
    #expect(zone.head == 0 && elsewhere.head == 0)
  }

  @Test(
    "A token that is rejected waits for a person; with another it goes on for all")
  func rejectedToken() async throws {
    let library = try await open()
    try await add("here", to: library)
    let wrong = SwitchedTransport(zone)
    wrong.fail(
      with: ProtocolError(.unauthorized, "The token is unknown.", suggestion: "Make a new one."))
    var states = try await library.sync(through: wrong, delays: patient).makeAsyncIterator()
    let state = await read(&states) { if case .waitingForPerson = $0 { true } else { false } }
    #expect(pause(state)?.failure.isAboutTheToken == true)
    let right = SwitchedTransport(zone)
    var others = try await library.sync(through: right, delays: patient).makeAsyncIterator()
    try await settle(&others, library)
    try await settle(&states, library)
    let asked = wrong.asked
    try await add("later", to: library)
    try await settle(&others, library)
    #expect(wrong.asked == asked && right.pushes == 2)
  }

  @Test(
    "A zone that is renewed before the first pull, or while a program is away, is offered all"
  )
  func renewedZone() async throws {
    let network = SwitchedTransport(zone)
    network.failPulls(with: SwitchedTransport.Away())
    do {
      let library = try await open()
      try await add("first", to: library)
      var states = try await library.sync(through: network, delays: delays).makeAsyncIterator()
      await read(&states) { if case .offline = $0 { true } else { false } }
      #expect(try SyncEngine.status(of: library.store).isEnrolled)
      zone.renew()
      network.failPulls(with: nil)
      try await settle(&states, library)
      #expect(zone.head == 1)
    }
    zone.renew()
    let library = try await open()
    try await add("second", to: library)
    var states = try await library.sync(through: network, delays: delays).makeAsyncIterator()
    try await settle(&states, library)
    let other = try await TestReplica("other", zone: zone, clock: clock)
    try await other.sync()
    #expect(try other.export == ReplicaExport.text(of: library.store))
    #expect(try other.export.contains("first") && other.export.contains("second"))
  }

  // MARK: Sharing

  @Test(
    "However many ask at once, one engine works for all; the last lets go of the store"
  )
  func callersAtOnce() async throws {
    let library = try await open()
    try await add("here", to: library)
    let network = SwitchedTransport(zone)
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          var states = try await library.sync(through: network, delays: delays).makeAsyncIterator()
          await read(&states, until: isInStep)
          // One long poll for all.
          await until { network.polls == 1 }
        }
      }
      try await group.waitForAll()
    }
    #expect(network.asked == 1 && network.pushes == 1)
    await until { network.polls == 0 }
    await until { (try? SyncEngine.status(of: library.store).syncing) == false }
    // And it can begin again.
    try await add("again", to: library)
    var states = try await library.sync(through: network, delays: delays).makeAsyncIterator()
    try await settle(&states, library)
    #expect(network.asked == 1 && network.pushes == 2)
  }

  @Test("Who comes later hears the newest state, and has a waiting store try at once")
  func latecomer() async throws {
    let library = try await open()
    let network = SwitchedTransport(zone)
    network.fail(with: SwitchedTransport.Away())
    var states = try await library.sync(through: network, delays: patient).makeAsyncIterator()
    await read(&states) { if case .offline = $0 { true } else { false } }
    network.fail(with: nil)
    var late = try await library.sync(through: network, delays: patient).makeAsyncIterator()
    let first = await late.next(isolation: nil)
    #expect(pause(first) != nil)
    await read(&late, until: isInStep)
    await read(&states, until: isInStep)
    #expect(network.asked == 2)
  }

  @Test("Other options begin the run anew; the same names of custom policies do not")
  func otherOptions() async throws {
    let library = try await open()
    let network = SwitchedTransport(zone)
    var options = SyncOptions()
    options.customPolicies["longest"] = { $0.local }
    var states = try await library.sync(through: network, options: options, delays: delays)
      .makeAsyncIterator()
    await read(&states, until: isInStep)
    options.customPolicies["longest"] = { $0.remote }
    var same = try await library.sync(through: network, options: options, delays: delays)
      .makeAsyncIterator()
    // The newest state of the one that goes on, and not the first of another.
    let state = await same.next(isolation: nil)
    #expect(state.map(isInStep) == true)
    options.pushObjectsMax = 1
    for _ in 0..<2 { try await add("one", to: library) }
    try await settle(&same, library)
    let pushes = network.pushes
    var other = try await library.sync(through: network, options: options, delays: delays)
      .makeAsyncIterator()
    await read(&other, until: isInStep)
    try await library.write { context in
      for _ in 0..<3 { _ = try context.insert(entityNamed: "Item") }
    }
    try await settle(&other, library)
    try await settle(&states, library)
    #expect(network.pushes > pushes)
  }

  @Test("An engine by itself enrols as well; of two at once one does it")
  func engines() async throws {
    let library = try await open()
    try await add("here", to: library)
    let network = SwitchedTransport(zone)
    let engines = (0..<2).map { _ in
      SyncEngine(store: library.store, enrollingThrough: network)
    }
    try await withThrowingTaskGroup { group in
      for engine in engines { group.addTask { _ = try await engine.sync() } }
      try await group.waitForAll()
    }
    #expect(network.asked == 1 && zone.head == 1)
    // One that was not made for it still says that the store is not enrolled.
    let second = try await open("second")
    let error = await #expect(throws: SyncError.self) {
      try await SyncEngine(store: second.store, transport: network).sync()
    }
    #expect(error?.code == .notEnrolled)
  }
}
