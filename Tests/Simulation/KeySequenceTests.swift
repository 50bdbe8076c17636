import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// Unique keys of objects that are deleted, made again and come back while their keys wait.
struct KeySequenceTests {
  @Test("Two objects that become one, each with a partner that was set here, have one partner")
  func partnersOfOne() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let badges = [try stage.insert(0, "Badge"), try stage.insert(0, "Badge")]
    try await stage.settle()
    let long = PropertyValue.string(String(repeating: "x", count: 900))
    let theirs = try stage.insert(0, "Item", ["email": .string("k"), "title": long])
    try await stage.sync(0)
    for _ in 0..<3 {
      try stage.insert(0, "Box", ["name": long])
      try await stage.sync(0)
    }
    let ours = try stage.insert(1, "Item", ["email": .string("k")])
    try stage.relate(1, ours, "badge", badges[0])
    // The pull breaks off with the other object here.
    let requests = Mutex(0)
    stage.hosts[1].network.interlude = { moment in
      guard moment == .beforeServer else { return }
      let number = requests.withLock {
        $0 += 1
        return $0
      }
      if number > 1 { throw SimulatedNetwork.Lost(description: "The request was lost") }
    }
    await #expect(throws: (any Error).self) { try await stage.sync(1) }
    stage.hosts[1].network.interlude = nil
    try stage.hosts[1].look()
    try stage.relate(1, theirs, "badge", badges[1])
    try await stage.settle()
    let owners = badges.map { stage.value(0, $0, "owner") }.filter { $0 != "null" }
    #expect(owners.count == 1, "\(owners)")
  }

  private func stage() async throws -> Stage {
    let model = Stage.model()
    model.entitiesByName["Item"]?.deletePolicy = .editWins
    return try await Stage(.memory, hosts: 2, model: model)
  }

  @Test("A key that was edited before a delete, and is taken since, waits for nobody")
  func editedDeletedAndTaken() async throws {
    let stage = try await stage()
    let item = try stage.insert(0, "Item", ["email": .string("first")])
    try await stage.settle()
    try stage.set(1, item, ["email": .string("taken")])
    try stage.delete(1, item)
    let other = try stage.insert(1, "Item", ["email": .string("taken")])
    stage.clock.advance(milliseconds: 1000)
    try stage.set(0, item, ["email": .null, "title": .string("edited")])
    try await stage.sync(0)
    try await stage.settle()
    #expect(stage.value(1, item, "title") == "\"edited\"")
    #expect(stage.value(0, other, "email") == "\"taken\"")
  }

  @Test("What takes a key that a refused edit gave up waits with that, and the rest goes on")
  func givenUpInQuarantine() async throws {
    let stage = try await stage()
    let item = try stage.insert(0, "Item", ["email": .string("first")])
    let second = try stage.insert(0, "Item", ["email": .string("second")])
    let owner = try stage.insert(0)
    let badges = [try stage.insert(0, "Badge"), try stage.insert(0, "Badge")]
    try stage.relate(0, badges[0], "owner", owner)
    try await stage.settle()
    stage.hosts[0].network.refused = "refused"
    try stage.set(0, item, ["email": .string("moved"), "title": .string("refused")])
    // One takes it over, and another one takes over what that had.
    try stage.set(0, second, ["email": .string("first"), "title": .string("goes on")])
    let third = try stage.insert(0, "Item", ["email": .string("second")])
    try stage.relate(0, badges[0], "owner", nil)
    try stage.set(0, badges[0], ["name": .string("refused")])
    try stage.relate(0, badges[1], "owner", owner)
    let box = try stage.insert(0, "Box")
    try await stage.sync(0)
    try await stage.sync(1)
    #expect(try stage.hosts[0].status.quarantined == 2)
    #expect(try stage.hosts[0].status.lastError == nil)
    #expect(stage.hosts[1].image.things[box] != nil)
    #expect(stage.value(1, second, "title") == "\"goes on\"")
    #expect(stage.value(1, item, "email") == "\"first\"")
    #expect(stage.hosts[1].image.things[third] == nil)
    let held = try SyncEngine.heldByQuarantine(of: stage.hosts[0].store)
    #expect(
      Dictionary(uniqueKeysWithValues: held.map { ($0.object, $0.properties) })
        == [second: ["email"], third: []])
    stage.hosts[0].network.refused = nil
    try SyncEngine.retryQuarantined(of: stage.hosts[0].store)
    try await stage.settle()
    #expect(stage.value(1, second, "email") == "\"first\"")
    #expect(stage.value(1, third, "email") == "\"second\"")
    #expect(Image.identities(in: stage.value(1, badges[1], "owner")) == [owner])
  }

  @Test("What is deleted while its key waits comes back with the key")
  func deletedWhileItsKeyWaits() async throws {
    let stage = try await stage()
    try stage.insert(0, "Item", ["email": .string("same")])
    let item = try stage.insert(1, "Item", ["email": .string("same")])
    try await stage.sync(1)
    for number in 0..<40 {
      try stage.insert(1, "Box", ["name": .string("\(number) of more than a page")])
      try await stage.push(1)
    }
    // A pull that ends before what it brought is settled.
    let host = stage.hosts[0]
    host.network.interlude = { [item] _ in
      try host.look()
      if host.image.things[item] != nil { throw SimulatedNetwork.Lost(description: "cut") }
    }
    await #expect(throws: (any Error).self) { try await stage.sync(0) }
    host.network.interlude = nil
    try host.look()
    #expect(stage.value(0, item, "email") == "null")
    try stage.delete(0, item)
    try stage.set(1, item, ["title": .string("edited")])
    try await stage.sync(1)
    try await stage.settle()
    #expect(stage.value(0, item, "email") == "\"same\"")
  }

  @Test("What the zone has had, and was deleted and made again here, becomes one with no other")
  func madeAgain() async throws {
    let stage = try await stage()
    let item = UUID()
    try stage.insert(0, "Item", ["email": .string("same")], identity: item)
    let box = try stage.insert(0, "Box")
    try stage.relate(0, item, "box", box)
    try await stage.settle()
    try stage.set(1, item, ["email": .string("moved on")])
    let other = try stage.insert(1, "Item", ["email": .string("same")])
    stage.clock.advance(milliseconds: 1000)
    try stage.delete(0, item)
    try stage.insert(0, "Item", ["email": .string("same")], identity: item)
    try await stage.sync(1)
    try await stage.settle()
    for host in stage.hosts {
      #expect(host.image.things[item] != nil, "\(host.name)")
      #expect(host.image.value(other, "email") == "\"same\"", "\(host.name)")
    }
  }

  @Test(
    "A key of two properties that is handed over while its push has no answer stays whole",
    arguments: [false, true])
  func handedOverUnanswered(isReached: Bool) async throws {
    let tag = EntityDescription("Tag")
    tag.properties = ["name", "area"].map { AttributeDescription($0, .string) }
    tag.uniquenessConstraints = [["name", "area"]]
    let stage = try await Stage(.memory, hosts: 2, model: ManagedObjectModel(entities: [tag]))
    let first = try stage.insert(0, "Tag", ["name": .string("n"), "area": .string("a")])
    let second = try stage.insert(0, "Tag", ["name": .string("n")])
    let network = stage.hosts[0].network
    network.isDeaf = isReached
    network.isCut = !isReached
    await #expect(throws: (any Error).self) { try await stage.push(0) }
    network.isDeaf = false
    network.isCut = false
    try stage.save(0) { context in
      try #require(try context.object(withIdentity: second)).setValue("a", forKey: "area")
      try #require(try context.object(withIdentity: first)).setValue("b", forKey: "area")
    }
    try await stage.settle()
    for number in 0..<2 {
      #expect(stage.value(number, first, "name") == "\"n\"")
      #expect(stage.value(number, first, "area") == "\"b\"")
      #expect(stage.value(number, second, "area") == "\"a\"")
    }
  }
}
