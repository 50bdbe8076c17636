import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// One-to-one relationships of which one end, or both, must have a partner: a merge leaves nobody without.
struct RequiredPartnerTests {
  /// Cars and drivers, of which a car owns the relationship.
  private func model(
    _ required: Set<String>, deleteRule: DeleteRule = .nullify
  ) -> ManagedObjectModel {
    let car = EntityDescription("Car")
    car.properties = [
      AttributeDescription("plate", .string),
      RelationshipDescription(
        "driver", to: "Driver", inverse: "car", deleteRule: deleteRule,
        isOptional: !required.contains("driver")),
    ]
    let driver = EntityDescription("Driver")
    driver.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "car", to: "Car", inverse: "driver", isOptional: !required.contains("car")),
    ]
    return ManagedObjectModel(entities: [car, driver])
  }

  private func world(_ required: String...) async throws -> World {
    try await World(3) { model(Set(required)) }
  }

  @Test("Two new objects that require one partner, by the reference that crosses, become one")
  func twoNewOwners() async throws {
    let world = try await world("driver")
    let driver = try world[0].insert("Driver")
    try await world.settle()
    let first = try world[0].make("Car", ["plate": .string("first")], to: ["driver": driver])
    let second = try world[1].make("Car", ["plate": .string("second")], to: ["driver": driver])
    try await world[0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.identities(of: "Car") == [first])
      #expect(try replica.reference(driver, "car") == first)
    }
    let told = try world[1].conflicts.filter {
      $0.explanation.contains(second.uuidString.lowercased())
    }
    #expect(told.contains { $0.explanation.contains("partner") })
    #expect(told.allSatisfy { !$0.explanation.contains("unique key") })
  }

  @Test("Two new objects that require one partner, by the end that follows, become one")
  func twoNewFollowers() async throws {
    let world = try await world("car")
    let car = try world[0].insert("Car")
    try await world.settle()
    let first = try world[0].make("Driver", ["name": .string("first")], to: ["car": car])
    _ = try world[1].make("Driver", ["name": .string("second")], to: ["car": car])
    try await world[0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.identities(of: "Driver") == [first])
      #expect(try replica.reference(car, "driver") == first)
    }
  }

  @Test("An object that requires its partner stays with it where the one that it went to was taken")
  func movedFollower() async throws {
    let world = try await world("car")
    let cars = try (0..<2).map { _ in try world[0].insert("Car") }
    let driver = try world[0].make("Driver", to: ["car": cars[0]])
    try await world.settle()
    let other = try world[0].make("Driver", to: ["car": cars[1]])
    try world[1].point(driver, "car", cars[1])
    try await world[0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.reference(driver, "car") == cars[0])
      #expect(try replica.reference(other, "car") == cars[1])
    }
    // Putting it back would leave the other one without.
    let lost = try #require(
      try world[1].conflicts.first {
        $0.property == "driver" && $0.object == cars[1] && $0.outcome == .remote
      })
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: lost.number, of: world[1].store, author: "person")
    }
    #expect(error?.code == .cannotUndo)
    try world.expectFilled()
  }

  @Test(
    "A taking that would empty what another object requires loses, and a new object is not one with an old one"
  )
  func takingLoses() async throws {
    let world = try await world("car")
    let cars = try (0..<3).map { _ in try world[0].insert("Car") }
    let alice = try world[0].make("Driver", ["name": .string("Alice")], to: ["car": cars[0]])
    try await world.settle()
    // There the driver goes to the second car; here, later, that gets a new one, who needs it as well.
    try world[0].point(alice, "car", cars[1])
    let bob = try world[1].make("Driver", ["name": .string("Bob")], to: ["car": cars[1]])
    try await world[0].sync()
    try await world.settle()
    try world.expectLacking(["\(bob.uuidString).car"])
    for replica in world.replicas {
      #expect(try replica.reference(cars[1], "driver") == alice)
      #expect(try replica.value(alice, "name") == .string("Alice"))
      #expect(try replica.value(bob, "name") == .string("Bob"))
    }
    let entry = try #require(
      try world[1].conflicts.first { $0.object == cars[1] && $0.property == "driver" })
    #expect(!entry.explanation.contains("unique"), "\(entry.explanation)")
    // Who joins by a snapshot names the same.
    var joined = world
    let folded = try FoldedZone(world.zone)
    try folded.fold()
    joined.replicas.append(
      try await TestReplica(
        "newcomer", zone: world.zone, clock: world.clock, model: model(["car"]),
        transport: folded))
    try await joined.settle()
    try joined.expectLacking(["\(bob.uuidString).car"])
    try world[2].point(bob, "car", cars[2])
    try await joined.settle()
    try joined.expectFilled()
  }

  @Test("A new object whose partner an old one moved to goes without it, and is named")
  func newOwnerOverOld() async throws {
    let world = try await world("driver")
    let drivers = try (0..<2).map { _ in try world[0].insert("Driver") }
    let old = try world[0].make("Car", ["plate": .string("old")], to: ["driver": drivers[0]])
    try await world.settle()
    try world[0].point(old, "driver", drivers[1])
    let new = try world[1].make("Car", ["plate": .string("new")], to: ["driver": drivers[1]])
    try await world[0].sync()
    try await world.settle()
    try world.expectLacking(["\(new.uuidString).driver"])
    for replica in world.replicas {
      #expect(try replica.reference(old, "driver") == drivers[1])
      #expect(try replica.value(old, "plate") == .string("old"))
      #expect(try replica.value(new, "plate") == .string("new"))
    }
  }

  @Test(
    "A partner that stands against a later word, since an object must have it, is in the journal")
  func standsAgainstLater() async throws {
    let world = try await world("car")
    let car = try world[0].insert("Car")
    try await world.settle()
    let driver = try world[0].make("Driver", to: ["car": car])
    let other = try world[1].make("Driver", to: ["car": car])
    try await world[1].sync()
    try world[1].delete(other)
    try await world[1].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas { #expect(try replica.reference(car, "driver") == driver) }
    let told = try world[0].conflicts.filter { $0.object == car && $0.property == "driver" }
    #expect(
      told.last?.outcome == .local
        && told.last?.explanation.contains(driver.uuidString.lowercased()) == true,
      "\(told.map(\.explanation))")
  }

  @Test(
    "An object is kept from its delete for a new partner that requires it, whoever comes last",
    arguments: [false, true])
  func deletedPartner(deleteComesLast: Bool) async throws {
    let world = try await world("car")
    let car = try world[0].insert("Car")
    try await world.settle()
    let driver = try world[0].make("Driver", to: ["car": car])
    try world[1].delete(car)
    try await world[deleteComesLast ? 0 : 1].sync()
    try await world[deleteComesLast ? 1 : 0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas { #expect(try replica.reference(driver, "car") == car) }
  }

  @Test(
    "A partner that takes what requires it along does so in a merge, whoever comes last",
    arguments: [false, true])
  func cascadingPartner(deleteComesLast: Bool) async throws {
    let world = try await World(3) { model(["car"], deleteRule: .cascade) }
    let car = try world[0].insert("Car")
    try await world.settle()
    let driver = try world[0].make("Driver", to: ["car": car])
    try world[1].delete(car)
    try await world[deleteComesLast ? 0 : 1].sync()
    try await world[deleteComesLast ? 1 : 0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas { #expect(try !replica.exists(driver)) }
  }

  @Test("What a reference that is required goes back to is brought back with it")
  func deletedBase() async throws {
    let world = try await world("driver")
    let drivers = try (0..<2).map { _ in try world[0].insert("Driver") }
    let car = try world[0].make("Car", to: ["driver": drivers[0]])
    try await world.settle()
    let other = try world[0].make("Car", to: ["driver": drivers[1]])
    try world[1].save { context in
      let object = try #require(try context.object(withIdentity: car))
      try object.setValue(try context.object(withIdentity: drivers[1]), forKey: "driver")
      context.delete(try #require(try context.object(withIdentity: drivers[0])))
    }
    try await world[0].sync()
    try await world.settle()
    try world.expectFilled()
    for replica in world.replicas {
      #expect(try replica.reference(car, "driver") == drivers[0])
      #expect(try replica.reference(other, "driver") == drivers[1])
    }
  }

  @Test(
    "Generated takings of required partners leave nobody without, or name who is", arguments: 0..<24
  )
  func generated(_ seed: UInt64) async throws {
    let required: Set<String> =
      [["car"], ["driver"], ["car", "driver"]][Int(seed % 3)]
    let world = try await World(3) {
      model(required, deleteRule: seed % 2 == 0 ? .cascade : .nullify)
    }
    var random = SeededGenerator(seed: seed)
    for _ in 0..<3 {
      try world[0].save { context in
        let car = try context.insert(entityNamed: "Car")
        try car.setValue(try context.insert(entityNamed: "Driver"), forKey: "driver")
      }
    }
    if required == ["car"] { for _ in 0..<2 { try world[0].insert("Car") } }
    if required == ["driver"] { for _ in 0..<2 { try world[0].insert("Driver") } }
    try await world.settle()
    for _ in 0..<40 {
      let replica = world[Int.random(in: 0..<3, using: &random)]
      if Int.random(in: 0..<4, using: &random) == 0 {
        try await replica.sync()
        continue
      }
      let cars = try replica.identities(of: "Car")
      let drivers = try replica.identities(of: "Driver")
      guard let car = cars.randomElement(using: &random),
        let driver = drivers.randomElement(using: &random)
      else { continue }
      let dice = Int.random(in: 0..<6, using: &random)
      // What the model refuses is no save.
      try? replica.save { context in
        let object = try #require(try context.object(withIdentity: car))
        let partner = try #require(try context.object(withIdentity: driver))
        switch dice {
        case 0: context.delete(object)
        case 1: context.delete(partner)
        case 2:
          try context.insert(entityNamed: "Car").setValue(partner, forKey: "driver")
        case 3:
          try context.insert(entityNamed: "Driver").setValue(object, forKey: "car")
        case 4:
          // Two change their partners.
          let other = try object.value(forKey: "driver") as? ManagedObject
          let former = try partner.value(forKey: "car") as? ManagedObject
          try object.setValue(partner, forKey: "driver")
          if let former, former !== object { try former.setValue(other, forKey: "driver") }
        default: try object.setValue(partner, forKey: "driver")
        }
      }
    }
    try await world.settle()
    try world.expectLacking(try world[0].lacking)
    for car in try world[0].identities(of: "Car") {
      guard let driver = try world[0].reference(car, "driver") else { continue }
      #expect(try world[0].reference(driver, "car") == car)
    }
  }
}
