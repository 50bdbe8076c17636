import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Both ends of relationships that an older model did not know.
struct ParkedEndTests {
  /// What the older model of drivers and cars lacks beside the relationship.
  enum Lack: CaseIterable {
    case car, driver, relationship
  }

  private func olderModel(_ lack: Lack) -> ManagedObjectModel {
    let car = EntityDescription("Car")
    car.properties = [AttributeDescription("plate", .string)]
    let driver = EntityDescription("Driver")
    driver.properties = [AttributeDescription("name", .string)]
    return switch lack {
    case .car: ManagedObjectModel(entities: [driver])
    case .driver: ManagedObjectModel(entities: [car])
    case .relationship: ManagedObjectModel(entities: [car, driver])
    }
  }

  @Test(
    "A one-to-one that was parked is there at both ends once the model knows it",
    arguments: Lack.allCases)
  func oneToOne(_ lack: Lack) async throws {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    let newer = try await TestReplica("newer", zone: zone, clock: clock, model: fleetModel())
    let directory = try TemporaryDirectory()
    let file = directory.file("older.sqlite")
    let older = try await TestReplica(
      "older", zone: zone, clock: clock, model: olderModel(lack), file: file)
    let car = try newer.insert("Car", ["plate": .string("p")])
    let drivers = try (0..<2).map { _ in try newer.insert("Driver") }
    try await newer.sync()
    try await older.sync()
    try give(car, to: drivers[0], newer)
    try await newer.sync()
    try await older.sync()
    await older.engine.close()
    older.store.close()
    let migrated = try await TestReplica(
      "older", zone: zone, clock: clock, model: fleetModel(), enrolled: false, file: file)
    try await migrated.sync()
    #expect(try SyncEngine.parked(of: migrated.store).isEmpty)
    #expect(try migrated.reference(car, "driver") == drivers[0])
    #expect(try migrated.reference(drivers[0], "car") == car)
    // What is edited from then on goes by both ends.
    try give(car, to: drivers[1], migrated)
    try await migrated.sync()
    try await newer.sync()
    for replica in [newer, migrated] {
      #expect(try replica.reference(car, "driver") == drivers[1])
      #expect(try replica.reference(drivers[0], "car") == nil)
      #expect(try replica.reference(drivers[1], "car") == car)
    }
  }

  private func give(_ car: UUID, to driver: UUID, _ replica: TestReplica) throws {
    replica.clock.advance()
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: driver))
      try object.setValue(try context.object(withIdentity: car), forKey: "car")
    }
  }
}
