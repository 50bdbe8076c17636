import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// The law of unique keys, over generated histories of three replicas: all end equal, no key is held twice, and no value is
/// lost without a word.
struct UniqueKeyLawTests {
  /// One replica's part in a generated history.
  private struct Story {
    let replica: TestReplica
    var random: SeededGenerator

    /// Values that objects were given, by object and property: each stands at the end, or a later edit or the journal says
    /// why not.
    mutating func act() throws {
      let people = try replica.identities(of: "Person").map { (try replica.entity($0), $0) }
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let isEmployee = Bool.random(using: &random)
        var values = ["email": email(), "name": PropertyValue.string(replica.name)]
        if isEmployee { values["badge"] = badge() }
        try attempt { try $0.insert(isEmployee ? "Employee" : "Person", values) }
      case 4..<7:
        guard let (name, id) = people.randomElement(using: &random) else { return }
        let isBadge = name == "Employee" && Bool.random(using: &random)
        let values = isBadge ? ["badge": badge()] : ["email": email()]
        try attempt { try $0.set(id, values) }
      case 7:
        guard people.count > 1 else { return }
        let two = people.shuffled(using: &random).prefix(2).map(\.1)
        try replica.save { context in
          let objects = try two.map { try #require(try context.object(withIdentity: $0)) }
          let emails = try objects.map { try $0.value(forKey: "email") }
          try objects[0].setValue(emails[1], forKey: "email")
          try objects[1].setValue(emails[0], forKey: "email")
        }
      default:
        guard let (_, id) = people.randomElement(using: &random) else { return }
        try replica.delete(id)
      }
    }

    private mutating func email() -> PropertyValue {
      .string(String("abcdef".randomElement(using: &random) ?? "a"))
    }

    private mutating func badge() -> PropertyValue {
      .integer(Int64.random(in: 1...4, using: &random))
    }

    /// The store refuses a key that is taken here.
    private func attempt(_ edit: (TestReplica) throws -> Void) throws {
      do { try edit(replica) } catch let error as StoreError where error.code == .constraint {}
    }
  }

  @Test(
    "S20 Generated inserts, renames, swaps and deletes in any order of syncing", arguments: 0..<24)
  func generated(_ seed: UInt64) async throws {
    let policy = seed % 3 == 2 ? DeletePolicy.editWins : .deleteWins
    var world = try await World(0)
    for index in 0..<3 {
      world.replicas.append(
        try await TestReplica(
          "r\(index)", zone: world.zone, clock: world.clock, model: staffModel(deletePolicy: policy)
        ))
    }
    var random = SeededGenerator(seed: seed)
    var stories = (0..<3).map {
      Story(replica: world[$0], random: SeededGenerator(seed: seed &* 3 &+ UInt64($0)))
    }
    for _ in 0..<60 {
      let place = Int.random(in: 0..<3, using: &random)
      if random.chance(20) {
        try await world[place].sync()
      } else {
        try stories[place].act()
      }
    }
    try await world.settle()
    let late = try await TestReplica(
      "late", zone: world.zone, clock: world.clock, model: staffModel(deletePolicy: policy))
    world.replicas.append(late)
    try await world.settle()
    for replica in world.replicas { try expectUnique(replica) }
  }

  private func expectUnique(_ replica: TestReplica) throws {
    var emails: Set<PropertyValue> = []
    var badges: Set<PropertyValue> = []
    for id in try replica.identities(of: "Person") {
      if let email = try replica.value(id, "email"), !email.isNull {
        #expect(emails.insert(email).inserted, "\(email) twice")
      }
      guard try replica.entity(id) == "Employee", let badge = try replica.value(id, "badge"),
        !badge.isNull
      else { continue }
      #expect(badges.insert(badge).inserted, "\(badge) twice")
    }
  }
}

extension TestReplica {
  /// The name of an object's entity.
  func entity(_ id: UUID) throws -> String? {
    try store.read { transaction in
      try transaction.key(of: id).flatMap { store.schema.entity(numbered: $0.entity)?.name }
    }
  }
}
