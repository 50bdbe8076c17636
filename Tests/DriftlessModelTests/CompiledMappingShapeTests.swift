import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A compiled mapping model with all that Xcode's compiler writes into one: its classes, key paths as objects of a class of
/// their own, mutable and immutable arrays, the mappings once more by name, a mapping that only adds, and nothing where nothing is
/// said.
struct CompiledMappingShapeTests {
  private typealias Value = ArchiveBuilder.Value

  private func list(_ values: [Value], mutable: Bool = false) -> Value {
    .object(mutable ? "NSMutableArray" : "NSArray", ["NS.objects": .array(values)])
  }

  private func constant(_ text: String) -> Value {
    .object(
      "NSConstantValueExpression",
      ["NSExpressionType": .integer(0), "NSConstantValue": .text(text)])
  }

  private func variable(_ name: String) -> Value {
    .object("NSVariableExpression", ["NSExpressionType": .integer(2), "NSVariable": .text(name)])
  }

  private func keyPath(_ name: String, _ path: String) -> Value {
    let specifier = Value.object(
      "NSKeyPathSpecifierExpression",
      ["NSExpressionType": .integer(10), "NSKeyPath": .text(path)])
    return .object(
      "NSKeyPathExpression",
      [
        "NSExpressionType": .integer(4), "NSOperand": variable(name),
        "NSSelectorName": .text("valueForKeyPath:"),
        "NSArguments": list([specifier], mutable: true),
      ])
  }

  private func call(_ selector: String, _ arguments: [Value], mutable: Bool) -> Value {
    .object(
      "NSFunctionExpression",
      [
        "NSExpressionType": .integer(4), "NSOperand": variable("manager"),
        "NSSelectorName": .text(selector), "NSArguments": list(arguments, mutable: mutable),
      ])
  }

  private func property(_ name: String, _ expression: Value) -> Value {
    .object(
      "NSPropertyMapping",
      [
        "NSDestinationPropertyName": .text(name), "NSValueExpression": expression,
        "NSPropertyTransforms": .null, "NSUserInfo": .null,
      ])
  }

  private func attributes(_ names: String...) -> Value {
    list(names.map { property($0, keyPath("source", $0)) })
  }

  private func source(_ entity: String) -> Value {
    .object(
      "NSFetchRequestExpression",
      [
        "NSExpressionType": .integer(50), "NSCountOnlyFlag": .bool(false),
        "NSFRExpression": call(
          MigrationManager.fetchRequest, [constant(entity), constant("TRUEPREDICATE")],
          mutable: false),
        "NSMOCExpression": keyPath("manager", "sourceContext"),
      ])
  }

  private func mapping(
    _ name: String, type: Int, from: String?, to: String, _ models: Models, policy: String? = nil,
    attributes: Value, relationships: [Value]
  ) -> Value {
    func hash(_ model: ManagedObjectModel, _ entity: String?) -> Value {
      entity.flatMap { model.entityVersionHashesByName[$0] }.map { .data($0) } ?? .null
    }
    return .named(
      name, "NSEntityMapping",
      [
        "NSMappingName": .text(name), "NSMappingType": .integer(type),
        "NSSourceEntityName": from.map { .text($0) } ?? .null,
        "NSDestinationEntityName": .text(to),
        "NSSourceEntityVersionHash": hash(models.old, from),
        "NSDestinationEntityVersionHash": hash(models.new, to),
        "NSSourceExpression": from.map(source) ?? .null,
        "NSEntityMigrationPolicyClassName": policy.map { .text($0) } ?? .null,
        "NSUserInfo": .null, "NSAttributeMappings": attributes,
        "NSRelationshipMappings": list(relationships),
      ])
  }

  private struct Models {
    let old: ManagedObjectModel
    let new: ManagedObjectModel

    init() throws {
      old = try Self.model(false)
      new = try Self.model(true)
    }

    private static func model(_ isNew: Bool) throws -> ManagedObjectModel {
      let person = EntityDescription("Person")
      person.properties = [
        AttributeDescription("firstName", .string),
        RelationshipDescription("cars", to: "Car", inverse: "owner", toMany: true),
      ]
      let car = EntityDescription("Car")
      car.properties = [
        AttributeDescription("numberPlate", .string),
        RelationshipDescription("owner", to: "Person", inverse: "cars"),
      ]
      let sportCar = EntityDescription("SportCar")
      sportCar.superentityName = "Car"
      var entities = [person, car, sportCar]
      if isNew {
        person.properties.append(
          RelationshipDescription(
            "previousCars", to: "Car", inverse: "previousOwners", toMany: true))
        car.properties += [
          RelationshipDescription(
            "previousOwners", to: "Person", inverse: "previousCars", toMany: true),
          RelationshipDescription("createdBy", to: "Maker", inverse: "cars"),
        ]
        let maker = EntityDescription("Maker")
        maker.properties = [
          AttributeDescription("name", .string),
          RelationshipDescription("cars", to: "Car", inverse: "createdBy", toMany: true),
        ]
        entities.append(maker)
      } else {
        car.properties.append(AttributeDescription("maker", .string))
      }
      let model = ManagedObjectModel(entities: entities)
      try model.freeze()
      return model
    }
  }

  private func archive(_ models: Models) -> Data {
    func people(_ relationship: String) -> Value {
      property(
        relationship,
        call(
          MigrationManager.byMapping, [constant("PersonToPerson"), keyPath("source", "owner")],
          mutable: true))
    }
    func cars(_ relationship: String) -> Value {
      property(
        relationship,
        call(
          MigrationManager.byRelationship, [constant("cars"), keyPath("source", "cars")],
          mutable: true))
    }
    func cars(entity: String) -> Value {
      mapping(
        "\(entity)To\(entity)", type: 1, from: entity, to: entity, models,
        policy: "REPLACE_AT_RUNTIME.MakerPolicy", attributes: attributes("numberPlate"),
        relationships: [
          property("createdBy", .null), people("owner"), people("previousOwners"),
        ])
    }
    let mappings = [
      cars(entity: "Car"),
      mapping(
        "PersonToPerson", type: 4, from: "Person", to: "Person", models,
        attributes: attributes("firstName"), relationships: [cars("cars"), cars("previousCars")]),
      cars(entity: "SportCar"),
      mapping(
        "Maker", type: 2, from: nil, to: "Maker", models,
        attributes: list([property("name", .null)]), relationships: [property("cars", .null)]),
    ]
    let names = ["CarToCar", "PersonToPerson", "SportCarToSportCar", "Maker"]
    return ArchiveBuilder.archive(
      .object(
        "NSMappingModel",
        [
          "NSEntityMappings": list(mappings),
          "NSEntityMappingsByName": .object(
            "NSMutableDictionary",
            [
              "NS.keys": .array(names.map { .text($0) }),
              "NS.objects": .array(names.map { .reference($0) }),
            ]),
        ]))
  }

  @Test("A mapping model as the compiler writes it is read whole, and migrates a store")
  func whole() throws {
    let models = try Models()
    let directory = try TemporaryDirectory()
    let file = directory.file("V2toV3.cdm")
    try archive(models).write(to: file)
    let mapping = try MappingModel(contentsOf: file)
    #expect(mapping.entityMappings.map(\.mappingType) == [.custom, .copy, .custom, .add])
    #expect(mapping.isFor(models.old, models.new) && !mapping.isFor(models.new, models.old))
    let adding = try #require(mapping.entityMappingsByName["Maker"])
    #expect(adding.sourceEntityName == nil && adding.sourceExpression == nil)
    #expect(adding.sourceEntityVersionHash == nil && adding.destinationEntityVersionHash != nil)
    let car = try #require(mapping.entityMappingsByName["SportCarToSportCar"])
    #expect(car.relationshipMappings["createdBy"]?.valueExpression == nil)
    #expect(
      car.attributeMappings["numberPlate"]?.valueExpression?.description
        == "$source.numberPlate")

    EntityMigrationPolicy.register(MakerPolicy.self)
    let url = directory.file("cars.sqlite")
    let container = PersistentContainer(name: "cars", model: models.old, storeURL: url)
    try container.loadPersistentStores()
    try container.performAndWait { context in
      let ann = try context.insert(entityNamed: "Person")
      ann["firstName"] = "Ann"
      for (number, entity) in ["Car", "SportCar", "Car"].enumerated() {
        let car = try context.insert(entityNamed: entity)
        car["numberPlate"] = "N\(number)"
        car["maker"] = number == 1 ? "Alfa" : "Fiat"
        car["owner"] = number == 2 ? nil : ann
      }
      try context.save()
    }
    for store in container.persistentStoreCoordinator.persistentStores { store.close() }
    var options = StoreOptions(migratesAutomatically: true)
    // The file is found where it lies, and nothing is inferred.
    options.mappingFolders = [directory.url]
    options.infersMappingModel = false
    let store = try PersistentStore.open(url: url, model: models.new, options: options)
    #expect(try store.check().findings == [])
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let cars = try context.fetch(
      FetchRequest<ManagedObject>(entityName: "Car", sort: [FetchSort("numberPlate")]))
    #expect(cars.map { $0.entity.name } == ["Car", "SportCar", "Car"])
    #expect(
      cars.map { ($0["createdBy"] as? ManagedObject)?["name"] as? String }
        == ["Fiat", "Alfa", "Fiat"])
    #expect(
      cars.map { ($0["owner"] as? ManagedObject)?["firstName"] as? String } == ["Ann", "Ann", nil])
    #expect(
      try context.count(for: FetchRequest<ManagedObject>(entityName: "Maker")) == 2)
    let ann = try #require(
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).first)
    #expect((ann["previousCars"] as? [ManagedObject])?.count == 2)
  }
}

/// Makes a maker for each name, once.
private final class MakerPolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let made = manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    guard let name = source["maker"] as? String else { return }
    var makers = manager.userInfo["makers"] as? [String: ManagedObject] ?? [:]
    let maker = try makers[name] ?? manager.destinationContext.insert(entityNamed: "Maker")
    maker["name"] = name
    makers[name] = maker
    manager.userInfo["makers"] = makers
    made.first?["createdBy"] = maker
  }
}
