import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import Testing

/// What is pending goes in parts (four objects a push here): each of them must make sense without the rest.
struct PartOfPendingTests {
  /// Objects that fill a push.
  private func fill(_ stage: Stage, _ number: Int) throws {
    try stage.save(number) { context in
      for box in 0..<4 {
        try context.insert(entityNamed: "Box").setValue("\(box)", forKey: "name")
      }
    }
  }

  @Test(
    "A partner is taken in one part and let go of in a later one, where the zone learned of it between"
  )
  func partnerLetGoLater() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let wanted = try stage.insert(0)
    let other = try stage.insert(0)
    let first = try stage.insert(0, "Badge")
    let second = try stage.insert(0, "Badge")
    try await stage.settle()
    try stage.relate(1, first, "owner", wanted)
    try fill(stage, 1)
    stage.clock.advance(milliseconds: 1000)
    try stage.relate(0, second, "owner", wanted)
    try await stage.sync(0)
    stage.clock.advance(milliseconds: 1000)
    // Later than the zone's: it stands, and frees what the first badge takes.
    try stage.relate(1, second, "owner", other)
    try await stage.settle()
    #expect(Image.identities(in: stage.value(0, second, "owner")) == [other])
    #expect(Image.identities(in: stage.value(0, first, "owner")) == [wanted])
  }

  @Test(
    "A key is taken in one part and let go of in a later one, where the zone learned of it between")
  func keyLetGoLater() async throws {
    let stage = try await Stage(.memory, hosts: 2)
    let first = try stage.insert(0, "Item", ["email": .string("a")])
    let second = try stage.insert(0, "Item", ["email": .string("b")])
    try await stage.settle()
    try stage.set(1, first, ["email": .string("k")])
    try fill(stage, 1)
    stage.clock.advance(milliseconds: 1000)
    try stage.set(0, second, ["email": .string("k")])
    try await stage.sync(0)
    stage.clock.advance(milliseconds: 1000)
    try stage.set(1, second, ["email": .string("c")])
    try await stage.settle()
    #expect(stage.value(0, second, "email") == "\"c\"")
    #expect(stage.value(0, first, "email") == "\"k\"")
  }

  @Test(
    "An edit that was made before a delete of a later part is pending again when the delete loses")
  func editBeforeDelete() async throws {
    let model = Stage.model()
    model.entitiesByName["Item"]?.deletePolicy = .editWins
    let stage = try await Stage(.memory, hosts: 2, model: model)
    let item = try stage.insert(0, "Item", ["title": .string("base")])
    try await stage.settle()
    try stage.set(1, item, ["title": .string("mine")])
    try fill(stage, 1)
    try stage.delete(1, item)
    // The first part goes; the second, with the delete, does not get through, and an edit comes.
    let requests = Mutex(0)
    let network = stage.hosts[1].network
    network.interlude = { moment in
      guard case .beforeServer = moment else { return }
      let number = requests.withLock { count in
        count += 1
        return count
      }
      if number > 2 { throw SimulatedNetwork.Lost(description: "lost") }
    }
    await #expect(throws: SimulatedNetwork.Lost.self) { try await stage.sync(1) }
    #expect(try stage.hosts[1].status.pending.objects == 1)
    try stage.set(0, item, ["done": .bool(true)])
    try await stage.sync(0)
    network.interlude = nil
    try await stage.settle()
    for number in 0..<2 {
      #expect(stage.value(number, item, "title") == "\"mine\"")
      #expect(stage.value(number, item, "done") == "true")
    }
  }
}
