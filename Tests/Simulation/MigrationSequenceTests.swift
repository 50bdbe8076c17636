import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Stores that go from one model to the next while pulls are cut, servers are put back and zones begin anew.
struct MigrationSequenceTests {
  /// As the simulator has it: the second version lacks the memo, and has a shade with another default than the third.
  private func model(_ version: Int, shade: String? = nil) throws -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.properties = [AttributeDescription("title", .string)]
    if version != 1 { item.properties.append(AttributeDescription("memo", .string)) }
    if version > 0 {
      item.properties.append(
        AttributeDescription(
          "shade", .string, defaultValue: .string(shade ?? (version == 1 ? "red" : "blue"))))
    }
    item.versionHashModifier = "\(version)"
    let model = ManagedObjectModel(entities: [item])
    try model.freeze()
    return model
  }

  private struct Cut: Error {}

  /// Objects that take more pages than one.
  private func fill(_ stage: Stage) async throws -> [UUID] {
    var items: [UUID] = []
    for number in 0..<4 {
      let title = (0..<30).map { _ in UUID().uuidString }.joined()
      items.append(
        try stage.insert(0, "Item", ["title": .string(title), "memo": .string("\(number)")]))
      try await stage.push(0)
    }
    return items
  }

  /// A host reads some of the log, and its network is cut before the head.
  private func pullInPart(_ stage: Stage, _ number: Int) async throws {
    let host = stage.hosts[number]
    let first = try host.status.cursor
    host.network.interlude = { moment in
      guard case .beforeServer = moment else { return }
      if try host.status.cursor > first { throw Cut() }
    }
    await #expect(throws: Cut.self) { _ = try await host.engine.pull() }
    host.network.interlude = nil
    let status = try host.status
    #expect(status.cursor > first)
    #expect(try await status.cursor < stage.server.zoneInfo().head)
  }

  private func migrate(_ stage: Stage, _ number: Int, _ version: Int) async throws {
    try await stage.hosts[number].reopen(model(version), version: version)
  }

  @Test(
    "What was read of the log before a pull was cut has the default of the model of now, not of the one that read it",
    arguments: [false, true])
  func readInPart(hasSynced: Bool) async throws {
    let stage = try await Stage(.memory, hosts: 2, model: model(0))
    if hasSynced {
      try stage.insert(0, "Item", ["title": .string("known")])
      try await stage.settle()
    }
    let items = try await fill(stage)
    try await migrate(stage, 1, 1)
    try await pullInPart(stage, 1)
    try await migrate(stage, 1, 2)
    for version in 1...2 { try await migrate(stage, 0, version) }
    try await stage.settle()
    for item in items {
      for number in 0..<2 { #expect(stage.value(number, item, "shade") == "\"blue\"") }
    }
  }

  @Test(
    "What was read in part with a model between has the default of the one before, which is there again"
  )
  func readBetween() async throws {
    let stage = try await Stage(.memory, hosts: 2, model: model(2))
    try stage.insert(0, "Item", ["title": .string("known")])
    try await stage.settle()
    let items = try await fill(stage)
    try await stage.hosts[1].reopen(model(3, shade: "red"), version: 3)
    try await pullInPart(stage, 1)
    try await stage.hosts[1].reopen(model(4), version: 4)
    try await stage.hosts[0].reopen(model(4), version: 4)
    try await stage.settle()
    for item in items { #expect(stage.value(1, item, "shade") == "\"blue\"") }
  }

  @Test("What was sent before the first pull has the default of the model of now")
  func sentFirst() async throws {
    let stage = try await Stage(.memory, hosts: 2, model: model(0))
    let item = try stage.insert(0, "Item", ["title": .string("sent")])
    try await stage.push(0)
    for number in 0..<2 { for version in 1...2 { try await migrate(stage, number, version) } }
    try await stage.settle()
    for number in 0..<2 { #expect(stage.value(number, item, "shade") == "\"blue\"") }
  }

  @Test(
    "What another copy of a store sent with the model of before has the default of the model of now"
  )
  func sentByCopy() async throws {
    let stage = try await Stage(.memory, hosts: 2, model: model(0))
    let item = try stage.insert(0, "Item", ["title": .string("of both copies")])
    let copy = try stage.clone(0)
    try await stage.push(0)
    for number in 0...copy { try await migrate(stage, number, 1) }
    try await stage.settle()
    for number in 0...copy { #expect(stage.value(number, item, "shade") == "\"red\"") }
  }

  @Test(
    "What a model has no name for goes with an object whose deleter had heard of it, and is in a journal where they had not",
    arguments: [false, true])
  func deletedWithoutName(isHeard: Bool) async throws {
    let stage = try await Stage(.memory, hosts: 2, model: model(0))
    let item = try stage.insert(0, "Item", ["title": .string("deleted")])
    try await stage.settle()
    if !isHeard { try await migrate(stage, 1, 1) }
    try stage.set(0, item, ["memo": .string("edited")])
    try await stage.sync(0)
    if isHeard {
      try await stage.sync(1)
      try await migrate(stage, 1, 1)
    }
    try stage.delete(1, item)
    for number in [1, 0, 1] { try await stage.sync(number) }
    for number in 0..<2 {
      while stage.hosts[number].version < 2 {
        try await migrate(stage, number, stage.hosts[number].version + 1)
      }
    }
    try await stage.settle()
    for host in stage.hosts { #expect(host.image.things[item] == nil, "\(host.name)") }
    let isNamed = try stage.hosts.contains { try $0.conflicts.contains { $0.object == item } }
    #expect(isNamed == !isHeard)
  }

  enum Loss: CaseIterable { case putBack, parted, renewed }

  @Test(
    "What a server lost of a property that a model between dropped comes back with the entries that a store keeps",
    arguments: Loss.allCases, [1, 2])
  func droppedAndLost(loss: Loss, comesBackWith version: Int) async throws {
    let stage = try await Stage(.memory, model: model(0))
    try stage.server.backup()
    let made = try stage.insert(0, "Item", ["memo": .string("made with it")])
    let edited = try stage.insert(0, "Item", ["memo": .string("at first")])
    try await stage.settle()
    try stage.set(1, edited, ["memo": .string("edited")])
    try await stage.settle()
    for number in 0..<3 { for next in 1...version { try await migrate(stage, number, next) } }
    switch loss {
    case .putBack, .parted:
      stage.clock.advance(milliseconds: 90_000_000)
      try stage.server.restore(0)
    case .renewed: try stage.renew()
    }
    if loss == .parted {
      let newcomer = try await stage.addHost(of: model(version))
      try stage.insert(newcomer.number, "Item", ["title": .string("in its place")])
      try await stage.push(newcomer.number)
    }
    try await stage.settle()
    if version == 1 {
      for number in stage.hosts.indices { try await migrate(stage, number, 2) }
      try await stage.settle()
    }
    for number in stage.hosts.indices {
      #expect(stage.value(number, made, "memo") == "\"made with it\"", "\(number)")
      #expect(stage.value(number, edited, "memo") == "\"edited\"", "\(number)")
    }
  }

  @Test(
    "What a server lost of a property that models drop and have again is there where stores keep the entries, with others that have none"
  )
  func keptByOne() async throws {
    var scenario = try #require(
      Scenario.combined.first { $0.name == "migrations and restored servers" })
    scenario.partObjectsMax = .max
    let steps = [
      Step(.backupServer, 1, 553589), Step(.save, 2, 874565), Step(.crash, 2, 987891),
      Step(.fold, 2, 455210), Step(.settle), Step(.upgrade, 2, 328058),
      Step(.restoreServer, 1, 873303), Step(.upgrade, 2, 434786), Step(.settle),
    ]
    let outcome = await Simulation.run(scenario, seed: 74, steps)
    #expect(outcome.failures == [])
  }

  @Test("A store whose first pull was cut, and which got another model then, shows what all show")
  func cutFirst() async throws {
    var scenario = try #require(
      Scenario.combined.first { $0.name == "migrations and restored servers" })
    scenario.partObjectsMax = .max
    let steps = [
      Step(.backupServer, 1, 820120), Step(.save, 2, 314828), Step(.upgrade, 1, 355706),
      Step(.sync, 2, 763764), Step(.restoreServer, 0, 951085), Step(.pull, 2, 566104),
      Step(.save, 2, 302073), Step(.sync, 2, 750595), Step(.join, 2, 872563),
      Step(.pull, 0, 48234), Step(.upgrade, 1, 448029), Step(.settle),
    ]
    let outcome = await Simulation.run(scenario, seed: 79, steps)
    #expect(outcome.failures == [])
  }

  @Test("A copy of a store shows what the other copy sent as all show it, whatever models they get")
  func copySent() async throws {
    var scenario = try #require(
      Scenario.combined.first { $0.name == "migrations of restored stores" })
    scenario.partObjectsMax = 2
    let steps = [
      Step(.save, 2, 572268), Step(.clone, 2, 256157), Step(.sync, 2, 811678),
      Step(.upgrade, 0, 456096), Step(.settle),
    ]
    let outcome = await Simulation.run(scenario, seed: 69, steps)
    #expect(outcome.failures == [])
  }
}
