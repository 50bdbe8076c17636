import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport

/// Hosts, a server and a network between them, that live through the steps of a trace.
// Sendable by use: one task has it; the engines that call back do so while that task waits for them.
final class Simulation: @unchecked Sendable {
  let scenario: Scenario
  let seed: UInt64
  let clock = ManualClock(milliseconds: 1_800_000_000_000)
  let folder: TemporaryDirectory
  let server: SimulatedServer
  /// Another one, with a zone of the same name.
  private(set) lazy var other = Result {
    try SimulatedServer(scenario.server, clock: clock, folder: folder.file("other"))
  }
  let generated: GeneratedModel
  private(set) var models: [ManagedObjectModel]
  /// Of each version.
  private(set) var traits: [Traits]
  var hosts: [Host] = []
  var ledger = Ledger()
  private(set) var given: GivenIdentities
  private(set) var trace: [String] = []
  private(set) var failures: [Failure] = []
  private var objectNames: [UUID: String] = [:]
  private var nextValue = 0
  /// Whether an interlude is under way: there is one at a time.
  var isInterlude = false
  var crashImage: [String: Data]?
  /// What the rogue pushed so far, and whether the log took any of it.
  var rogueNumber: UInt64 = 0
  var hasRogue = false
  /// How often an operator had to begin the zone anew because its log was purged.
  var renewals = 0
  /// Whether every clock went nearly right so far.
  var hasPlainTimes = true

  static let folder: URL? = {
    let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
    return FileManager.default.isWritableFile(atPath: memory.path) ? memory : nil
  }()

  static let hostsMax = 5

  private init(_ scenario: Scenario, seed: UInt64) throws {
    self.scenario = scenario
    self.seed = seed
    folder = try TemporaryDirectory(in: Self.folder)
    server = try SimulatedServer(
      scenario.server, clock: clock, folder: folder.file("server"))
    generated = GeneratedModel(scenario: scenario, seed: seed)
    let versions =
      scenario.hasMigrations
      ? GeneratedModel.migrations
      : scenario.renamesTwice
        ? 3 : scenario.hasModelVersions || scenario.hasNarrowModels ? 2 : 1
    models = (0..<versions).map(generated.version)
    for model in models { try model.freeze() }
    traits = models.map(Traits.init)
    given = GivenIdentities(zone: nil, entities: traits[traits.count - 1].entities)
  }

  struct Outcome: Sendable {
    var failures: [Failure]
    var trace: [String]
  }

  /// Lives through the steps, until a law does not hold.
  static func run(_ scenario: Scenario, seed: UInt64, _ steps: [Step]) async -> Outcome {
    await SeededRandomness.$current.withValue(SeededRandomness(seed: seed)) {
      do {
        let simulation = try Simulation(scenario, seed: seed)
        await simulation.run(steps)
        return Outcome(failures: simulation.failures, trace: simulation.trace)
      } catch {
        return Outcome(failures: [Failure(law: "start", text: "\(error)")], trace: [])
      }
    }
  }

  private func run(_ steps: [Step]) async {
    do {
      if scenario.hasIdentityOfTwoEntities { given.zone = try await server.zoneInfo().zoneID }
      for _ in 0..<scenario.replicas { try await addHost() }
      for step in steps {
        try await perform(step)
        if !failures.isEmpty { break }
      }
    } catch {
      fail("harness", "\(error)")
    }
    for host in hosts { await host.close() }
    server.close()
    if scenario.hasVisits { try? other.get().close() }
  }

  // MARK: - Telling

  func tell(_ line: String) {
    let line = String(line.prefix(4000))
    trace.append(line)
    if Self.isToldAtOnce { print("\(scenario.name) \(seed): \(line)") }
  }

  /// For a seed that ends the process.
  private static let isToldAtOnce = ProcessInfo.processInfo.environment["DRIFTLESS_TELL"] != nil

  func fail(_ law: String, _ text: String) {
    let failure = Failure(law: law, text: readable(text))
    failures.append(failure)
    tell("FAILS: \(failure)")
  }

  func name(_ id: UUID) -> String { objectNames[id] ?? id.uuidString.lowercased() }

  /// Long identities by their short names.
  private func readable(_ text: String) -> String {
    var text = text
    for (id, name) in objectNames {
      text = text.replacingOccurrences(of: id.uuidString.lowercased(), with: name)
    }
    return text
  }

  func nameObjects(_ image: Image) {
    let new = image.things.filter { objectNames[$0.key] == nil }
    for (id, thing) in new.sorted(by: { $0.key.uuidString < $1.key.uuidString }) {
      objectNames[id] = String(format: "%@%03d", thing.entity, objectNames.count + 1)
    }
  }

  // MARK: - Hosts

  /// The newest version that a host may join with.
  var newest: Int {
    scenario.hasMigrations ? hosts.map(\.version).max() ?? 0 : traits.count - 1
  }

  @discardableResult
  func addHost(
    version: Int? = nil, name: String? = nil, server way: (any SyncTransport)? = nil
  ) async throws -> Host {
    let number = hosts.count
    let version = version ?? (scenario.hasMigrations ? newest : number % models.count)
    let host = try Host(
      number: number, name: name ?? "r\(number)",
      file: folder.file("\(name ?? "r\(number)").sqlite"),
      model: models[version], version: version, server: way ?? server, world: clock,
      skew: Int64(number) * 137, drift: Int64(number % 3 - 1) * scenario.clockDrift,
      options: Host.options(scenario, number: number))
    if scenario.clockDrift > 0 { hasPlainTimes = false }
    if scenario.hasDamagedEntries, way == nil { host.network.damaged = UInt8(number % 3) }
    try await host.enroll(server)
    hosts.append(host)
    ledger.orders.join(number)
    return host
  }

  /// - Returns: nil where there are hosts enough.
  @discardableResult
  func clone(_ host: Host) throws -> Host? {
    guard hosts.count < Self.hostsMax else { return nil }
    let number = hosts.count
    let file = folder.file("r\(number).sqlite")
    try FileImage.put(
      try FileImage.take(host.file).filter { ["", "-wal"].contains($0.key) }, at: file)
    let clone = try Host(
      number: number, name: "r\(number)", file: file, model: models[host.version],
      version: host.version, server: server, world: clock,
      skew: host.skew.withLock { $0 } + 31, options: Host.options(scenario, number: number))
    clone.accepted = host.accepted
    hosts.append(clone)
    ledger.orders.clone(host.number, as: number)
    tell("\(host.name) is cloned as \(clone.name)")
    return clone
  }

  // MARK: - Steps

  func perform(_ step: Step) async throws {
    clock.advance(milliseconds: 1000)
    let host = hosts[step.replica % hosts.count]
    host.network.begin(dice: step.dice)
    switch step.kind {
    case .save: try save(host, step.dice)
    case .decide, .undo: try judge(host, step)
    case .retry:
      tell("\(host.name) tries again what was refused")
      try SyncEngine.retryQuarantined(of: host.store)
    case .deleteMany: try deleteMany(host, step.dice)
    case .allow, .keepDeleted: try await answer(host, step)
    case .fillDisk: try fillDisk(host, step.dice)
    case .makeRoom: try makeRoom(host)
    case .fillServer: try fillServer(step.dice)
    case .clearServer: makeRoomAtServer()
    case .sync, .push, .pull, .crash: try await sync(host, step)
    case .twoCallers: try await twoCallers(host, step)
    case .callers: try await callers(host, step)
    case .revoke, .admit: admit(host, step.kind == .admit)
    case .comeBack: try comeBack(host)
    case .restart:
      tell("\(host.name) restarts")
      try await host.reopen(models[host.version])
    case .offline, .online:
      host.network.isCut = step.kind == .offline
      host.network.isDeaf = false
      tell("\(host.name) is \(step.kind.rawValue)")
    case .deaf:
      host.network.isDeaf = true
      tell("\(host.name) gets no answers")
    case .backup: try backUp(host)
    case .restore: try await restore(host, step)
    case .restoreMain: try await restoreMain(host, step)
    case .join: if hosts.count < Self.hostsMax { tell("\(try await addHost().name) joins") }
    case .fold:
      tell("the server adds up its log")
      try await server.fold()
    case .purge: tell("the log is purged: \(try server.purge(step.dice))")
    case .clone: try clone(host)
    case .clock: setClock(host, step)
    case .upgrade: try await upgrade(host)
    case .backupServer:
      tell("the server is backed up")
      try server.backup()
    case .restoreServer: try restoreServer(step.dice)
    case .renewZone: try renewZone()
    case .replaceZone: try replaceZone()
    case .renameZone: try renameZone()
    case .enroll: try await enroll(host)
    case .visit: try await visit(host)
    case .unenroll: try await unenroll(host)
    case .anew: try await beginAnew(host)
    case .twin: try await twin(host, step.dice)
    case .serverClock: try setServerClock(step)
    case .rogue: try await rogue(step)
    case .take: try take(host, step.dice)
    case .lose: try await lose(host, step.dice)
    case .part: try await part(host, step.dice)
    case .accept: try accept(host, step.dice)
    case .giveUp: try await giveUp(host)
    case .hand: try setByHand(host, step.dice)
    case .loseKey, .findKey:
      tell("\(host.name) \(step.kind == .loseKey ? "loses" : "finds") its key")
      await host.setKey(step.kind == .findKey)
    case .letGo, .fetch: try await letGo(host, step)
    case .settle: try await settle(step)
    }
  }

  func renewZone() throws {
    clock.advance(milliseconds: 90_000_000)
    tell("the zone gets a new generation")
    ledger.forgetKept()
    for host in hosts {
      try host.look()
      ledger.forget(host: host.number, showing: Set(given.named(host.image).things.keys))
    }
    try server.renew()
  }

  /// A person's change: written down from what the replica showed before and shows after it.
  func asPerson(_ host: Host, _ body: () throws -> Void) throws {
    let before = host.image
    let hidden = try hidden(host)
    try body()
    try host.look()
    nameObjects(host.image)
    try ledger.note(
      host: host, before: given.named(before), after: given.named(host.image),
      traits: traits[host.version], hidden: hidden)
  }

  func save(_ host: Host, _ dice: UInt64) throws {
    try save(host, dice) { try $0.change($1, $2) }
  }

  /// - Parameter change: what is changed, in a context of a replica that shows an image.
  func save(
    _ host: Host, _ dice: UInt64,
    _ change: (inout Saves, ManagedObjectContext, Image) throws -> Void
  ) throws {
    try host.look()
    let before = scenario.hasFullDisks ? try ReplicaExport.text(of: host.store) : nil
    let context = ManagedObjectContext(host.coordinator)
    context.transactionAuthor = host.name
    var saves = Saves(
      scenario: scenario, traits: traits[host.version], model: models[host.version], dice: dice,
      nextValue: nextValue, names: { [unowned self] in self.name($0) })
    do {
      try asPerson(host) {
        try change(&saves, context, host.image)
        try context.save()
      }
      tell("\(host.name) \(saves.told.joined(separator: "; "))")
    } catch {
      // The model refuses it, as it should; or it refuses what a merge left, which the laws see.
      tell("\(host.name) may not save: \(saves.told.joined(separator: "; ")): \(brief(error))")
      if let before, try ReplicaExport.text(of: host.store) != before {
        fail("saves", "\(host.name) saved a part of what it may not save")
      }
    }
    nextValue = saves.nextValue
  }

  /// What hosts of two versions both show under one name.
  func common(_ first: Host, _ second: Host) -> [String: Set<String>] {
    common(first.version, second.version)
  }

  func common(_ first: Int, _ second: Int) -> [String: Set<String>] {
    let properties = traits[min(first, second)].properties
    guard first != second else { return properties }
    let other = scenario.hasRenames ? GeneratedModel.renamed : []
    return properties.mapValues {
      $0.subtracting(other).subtracting(scenario.hasNarrowModels ? GeneratedModel.widened : [])
    }
  }

  func brief(_ error: any Error) -> String { String(readable("\(error)").prefix(300)) }

  func judge(_ host: Host, _ step: Step) throws {
    let all = try host.conflicts.filter {
      $0.decision == nil && (step.kind == .undo || $0.isWaiting)
    }
    guard !all.isEmpty else { return }
    try host.look()
    let entry = all[Int(step.dice % UInt64(all.count))]
    let what = "conflict \(entry.number) about \(name(entry.object)).\(entry.property ?? "")"
    do {
      try asPerson(host) {
        if step.kind == .undo {
          try SyncEngine.undo(conflict: entry.number, of: host.store, author: host.name)
        } else {
          let side: JournalEntry.Side = step.dice % 2 == 0 ? .local : .remote
          try SyncEngine.decide(
            conflict: entry.number, for: side, of: host.store, author: host.name)
        }
      }
      tell("\(host.name) \(step.kind.rawValue)s \(what)")
    } catch {
      tell("\(host.name) cannot \(step.kind.rawValue) \(what): \(brief(error))")
    }
    // What a person put back counts no more by the sum of differences.
    ledger.makeFuzzy(given.name(entry.object, entry.entity))
  }
}
