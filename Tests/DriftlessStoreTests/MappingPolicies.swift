import Foundation
import Testing

@testable import Driftless

/// Splits the name, and puts everybody into a town, which it makes once.
final class PersonPolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let made = manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    let parts = (source["name"] as? String ?? "").split(separator: " ").map(String.init)
    made.first?["first"] = parts.first
    made.first?["last"] = parts.last
    let town =
      try manager.userInfo["town"] as? ManagedObject
      ?? manager.destinationContext.insert(entityNamed: "Town")
    town["name"] = "Rome"
    manager.userInfo["town"] = town
    made.first?["town"] = town
  }

  override func perform(
    _ selector: String, _ arguments: [Any?], manager: MigrationManager
  ) throws -> Any? {
    guard selector == "inDogYears:" else {
      return try super.perform(selector, arguments, manager: manager)
    }
    return (arguments.first as? Int64).map { $0 * 7 }
  }
}

struct Trouble: Error {}

/// Fails where its mapping says.
final class FailingPolicy: EntityMigrationPolicy {
  override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
    if mapping.userInfo["fails"] == "cancel" { manager.cancelMigrationWithError(Trouble()) }
  }

  override func performCustomValidation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {
    if mapping.userInfo["fails"] == "validation" { throw Trouble() }
  }
}

/// Writes down what is called.
final class LoggingPolicy: EntityMigrationPolicy {
  private func log(_ text: String, _ manager: MigrationManager) {
    manager.userInfo["log"] = (manager.userInfo["log"] as? [String] ?? []) + [text]
  }

  override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
    log("begin \(mapping.name) \(manager.currentEntityMapping?.name ?? "")", manager)
  }
  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    log("create", manager)
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
  }
  override func endInstanceCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws { log("endInstanceCreation", manager) }
  override func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws { log("relate", manager) }
  override func endRelationshipCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws { log("endRelationshipCreation", manager) }
  override func performCustomValidation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws { log("validate", manager) }
  override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
    log("end", manager)
    let log = manager.userInfo["log"] as? [String] ?? []
    throw StoreError(.invalidArgument, log.joined(separator: " "), suggestion: "")
  }
}

/// Makes each object twice, and looks at what the manager knows.
final class CuriousPolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    for _ in 0..<2 {
      let name = try #require(manager.destinationEntity(for: mapping)?.name)
      let made = try manager.destinationContext.insert(entityNamed: name)
      made["plate"] = source["plate"]
      try manager.associate(sourceInstance: source, withDestinationInstance: made, for: mapping)
    }
  }

  override func endInstanceCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {
    #expect(manager.sourceEntity(for: mapping)?.name == "Car")
    #expect(manager.mappingModel.entityMappings.count == 1)
    #expect(manager.sourceModel.entitiesByName["Note"] != nil)
    #expect(manager.destinationModel.entitiesByName["Town"] != nil)
    let cars = try manager.sourceContext.fetch(FetchRequest<ManagedObject>(entityName: "Car"))
    for car in cars {
      let made = manager.destinationInstances(
        forEntityMappingName: mapping.name, sourceInstances: [car])
      #expect(made.count == 2)
      let sources = manager.sourceInstances(
        forEntityMappingName: mapping.name, destinationInstances: made)
      #expect(sources.map(\.objectID) == [car.objectID, car.objectID])
    }
  }
}
