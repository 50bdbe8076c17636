import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Stores that are migrated by a mapping model.
struct MappingMigrationTests {
  private func old() throws -> ManagedObjectModel {
    let person = EntityDescription("Person")
    let picture = AttributeDescription("picture", .binaryData)
    picture.allowsExternalBinaryDataStorage = true
    person.properties = [
      AttributeDescription("name", .string), AttributeDescription("age", .integer16), picture,
      RelationshipDescription("cars", to: "Car", inverse: "owner", toMany: true, isOrdered: true),
      RelationshipDescription("friends", to: "Person", inverse: "friends", toMany: true),
    ]
    let car = EntityDescription("Car")
    car.properties = [
      AttributeDescription("plate", .string), AttributeDescription("kind", .string),
      RelationshipDescription("owner", to: "Person", inverse: "cars"),
    ]
    let note = EntityDescription("Note")
    note.properties = [AttributeDescription("text", .string)]
    let model = ManagedObjectModel(entities: [person, car, note])
    try model.freeze()
    return model
  }

  private func new() throws -> ManagedObjectModel {
    let person = EntityDescription("Person")
    let picture = AttributeDescription("picture", .binaryData)
    picture.allowsExternalBinaryDataStorage = true
    person.properties = [
      AttributeDescription("first", .string), AttributeDescription("last", .string),
      AttributeDescription("age", .integer64), AttributeDescription("dogAge", .integer64), picture,
      RelationshipDescription(
        "vehicles", to: "Vehicle", inverse: "keeper", toMany: true, isOrdered: true),
      RelationshipDescription("friends", to: "Person", inverse: "friends", toMany: true),
      RelationshipDescription("town", to: "Town", inverse: "people", isOptional: false),
    ]
    let vehicle = EntityDescription("Vehicle")
    vehicle.properties = [
      AttributeDescription("plate", .string), AttributeDescription("made", .string),
      RelationshipDescription("keeper", to: "Person", inverse: "vehicles"),
    ]
    let truck = EntityDescription("Truck")
    truck.superentityName = "Vehicle"
    let town = EntityDescription("Town")
    town.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("people", to: "Person", inverse: "town", toMany: true),
    ]
    let model = ManagedObjectModel(entities: [person, vehicle, truck, town])
    try model.freeze()
    return model
  }

  private func mapping() throws -> MappingModel {
    func cars(_ predicate: String) throws -> FetchExpression {
      try FetchExpression(
        format: """
          FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Car", %@), \
          $manager.sourceContext, NO)
          """, predicate)
    }
    func vehicle(_ name: String, _ predicate: String) throws -> EntityMapping {
      EntityMapping(
        name: "CarTo\(name)", from: "Car", to: name,
        attributes: [
          PropertyMapping(
            name: "plate", valueExpression: try FetchExpression(format: "uppercase:($source.plate)")
          ),
          PropertyMapping(
            name: "made", valueExpression: try FetchExpression(format: "$entityMapping.name")),
        ],
        relationships: [
          PropertyMapping(
            name: "keeper",
            valueExpression: try FetchExpression(
              format: """
                FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", \
                "PersonToPerson", $source.owner)
                """))
        ], sourceExpression: try cars(predicate))
    }
    return MappingModel(entityMappings: [
      EntityMapping(
        type: .custom, from: "Person", to: "Person",
        attributes: [
          PropertyMapping(name: "age", from: "age"),
          PropertyMapping(name: "picture", from: "picture"),
          PropertyMapping(
            name: "dogAge",
            valueExpression: try FetchExpression(
              format: "FUNCTION($entityPolicy, \"inDogYears:\", $source.age)")),
        ],
        relationships: [
          PropertyMapping(name: "friends", fromRelationship: "friends"),
          PropertyMapping(name: "vehicles", fromRelationship: "cars"),
        ], policy: PersonPolicy.self),
      try vehicle("Vehicle", "kind == \"car\""), try vehicle("Truck", "kind == \"truck\""),
      EntityMapping(type: .add, to: "Town"), EntityMapping(type: .remove, from: "Note"),
    ])
  }

  private struct Sample {
    var people: [ObjectKey]
    var cars: [ObjectKey]
    var identities: [UUID]
  }

  private func fill(_ url: URL) throws -> Sample {
    let store = try PersistentStore.open(url: url, model: old())
    let people = try ["Ann Lee", "Bob Ray"].map {
      try store.insert(
        "Person",
        [
          "name": .string($0), "age": .integer(3),
          "picture": .data(Data(repeating: 5, count: StoreTuning.externalBytes + 9)),
        ])
    }
    let cars = try [("c1", "car"), ("c2", "truck"), ("c3", "car"), ("c4", "wreck")].map {
      try store.insert(
        "Car",
        ["plate": .string($0.0), "kind": .string($0.1), "owner": .reference(people[0])])
    }
    try store.insert("Note", ["text": .string("gone")])
    let friends = try #require(store.model.entitiesByName["Person"]?.relationshipsByName["friends"])
    let ownCars = try #require(store.model.entitiesByName["Person"]?.relationshipsByName["cars"])
    _ = try store.write(TransactionInfo(author: "app")) { transaction in
      try transaction.setSyncing(true)
      try transaction.addPairs(friends, people[0], [people[1]])
      try transaction.setOrder(ownCars, people[0], [cars[2], cars[1], cars[0], cars[3]], added: [])
    }
    try store.update(people[0], "name", .string("Anna Lee"))
    let identities = try store.read { try (people + cars).map($0.identity(of:)) }
    store.close()
    return Sample(people: people, cars: cars, identities: identities)
  }

  @Test("Values by expression, split entities, objects of a policy; keys and identities stay")
  func objects() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    let sample = try fill(url)
    let options = StoreOptions(migratesAutomatically: true, mappingModels: [try mapping()])
    var store = try PersistentStore.open(url: url, model: new(), options: options)
    store.close()
    // Large values are still there when the files that no row names were swept up.
    store = try PersistentStore.open(url: url, model: new())
    store.checkpointNow(sweeps: true)
    #expect(try store.check().findings == [])
    let ann = try #require(try store.values(sample.people[0]))
    #expect(ann["first"] == .string("Anna") && ann["last"] == .string("Lee"))
    #expect(ann["age"] == .integer(3) && ann["dogAge"] == .integer(21))
    #expect(ann["picture"] == .data(Data(repeating: 5, count: StoreTuning.externalBytes + 9)))
    let first = try #require(try store.values(sample.cars[0]))
    #expect(first["plate"] == .string("C1") && first["made"] == .string("CarToVehicle"))
    #expect(first["keeper"] == .reference(sample.people[0]))
    let names = store.model.entitiesByName
    let vehicles = try #require(names["Person"]?.relationshipsByName["vehicles"])
    let friends = try #require(names["Person"]?.relationshipsByName["friends"])
    let truck = store.schema.entityNumber(of: try #require(names["Truck"]))
    try store.read { transaction throws in
      #expect(try transaction.toManyKeys(of: sample.people[1], friends) == [sample.people[0]])
      let kept = try transaction.toManyKeys(of: sample.people[0], vehicles)
      #expect(kept.count == 3 && kept[0] == sample.cars[2] && kept[2] == sample.cars[0])
      #expect(
        kept[1].entity == truck && kept[1].key > sample.cars[3].key, "a truck is a new object")
      #expect(try transaction.identity(of: sample.people[0]) == sample.identities[0])
      #expect(try transaction.key(of: sample.identities[2]) == sample.cars[0])
    }
    #expect(try store.check().objectCount == 2 + 3 + 1)
  }

  @Test("The history goes on: what the mapping computed, made and let go of is one transaction")
  func history() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    let sample = try fill(url)
    let options = StoreOptions(migratesAutomatically: true, mappingModels: [try mapping()])
    let store = try PersistentStore.open(url: url, model: new(), options: options)
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(history.count == 2 + 4 + 1 + 2 + 1)
    let last = try #require(history.last)
    #expect(last.author == "migration")
    let changes = last.changes ?? []
    func names(_ type: ChangeType) -> [String] {
      changes.filter { $0.changeType == type }.map(\.entityName).sorted()
    }
    #expect(names(.insert) == ["Town", "Truck"])
    #expect(names(.delete) == ["Vehicle", "Vehicle"], "a truck, and a wreck that became nothing")
    #expect(names(.update) == ["Person", "Person", "Vehicle", "Vehicle"])
    let person = try #require(changes.first { $0.entityName == "Person" })
    #expect(Set(person.updatedProperties ?? []) == ["dogAge", "first", "last", "town"])
    let vehicle = try #require(
      changes.first { $0.entityName == "Vehicle" && $0.changeType == .update })
    #expect(Set(vehicle.updatedProperties ?? []) == ["made", "plate"])
    let grave = try #require(try store.read { try $0.grave(of: sample.cars[3]) })
    #expect(grave.contains(.reference(sample.people[0])))
    // The update of before the migration: the name is no property any more.
    #expect(history[8].changes?.first?.updatedProperties == [])
  }

  @Test("An inferred mapping gives object by object what the migration without a mapping gives")
  func inferred() throws {
    let directory = try TemporaryDirectory()
    func next() throws -> ManagedObjectModel {
      let model = try old().copy()
      let person = try #require(model.entities.first { $0.name == "Person" })
      person.name = "Human"
      person.renamingIdentifier = "Person"
      for entity in model.entities {
        for case let relationship as RelationshipDescription in entity.ownProperties
        where relationship.destinationEntityName == "Person" {
          relationship.destinationEntityName = "Human"
        }
      }
      let name = try #require(person.ownProperties.first { $0.name == "name" })
      name.name = "title"
      name.renamingIdentifier = "name"
      person.properties =
        person.ownProperties + [
          AttributeDescription("active", .boolean, isOptional: false, defaultValue: .bool(true))
        ]
      model.entities = model.entities.filter { $0.name != "Note" }
      try model.freeze()
      return model
    }
    let mapping = try MappingModel.inferredMappingModel(
      forSourceModel: old(), destinationModel: next())
    #expect(
      mapping.entityMappings.map(\.name) == [
        "IEM_Transform_Car", "IEM_Transform_Human", "IEM_Remove_Note",
      ])
    #expect(
      mapping["Human"]?.attributeMappings["title"]?.valueExpression?.description == "$source.name")
    var stores: [PersistentStore] = []
    var sample: Sample?
    for (name, mappings) in [("plain", []), ("objects", [mapping])] {
      let url = directory.file("\(name).sqlite")
      sample = try fill(url)
      stores.append(
        try PersistentStore.open(
          url: url, model: next(),
          options: StoreOptions(migratesAutomatically: true, mappingModels: mappings)))
    }
    let all = try #require(sample)
    for key in all.people + all.cars {
      let values = try stores.map { try $0.values(key) }
      #expect(values[0] == values[1] && values[0] != nil)
    }
    let histories = try stores.map {
      try $0.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?)).map {
        ($0.changes ?? []).map {
          "\($0.changeType) \($0.entityName) \($0.updatedProperties ?? [])"
        }
      }
    }
    #expect(histories[0] == histories[1], "nothing was computed, so nothing changed")
    for relation in ["cars", "friends"] {
      let keys = try stores.map { store in
        let relationship = try #require(
          store.model.entitiesByName["Human"]?.relationshipsByName[relation])
        return try store.read { try $0.toManyKeys(of: all.people[0], relationship) }
      }
      #expect(keys[0] == keys[1] && !keys[0].isEmpty)
    }
  }

  @Test("A manager migrates to a file of its own, tells how far it is, and leaves the source alone")
  func toAnotherFile() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    let target = directory.file("new.sqlite")
    let sample = try fill(url)
    let bytes = try Data(contentsOf: url)
    let manager = MigrationManager(sourceModel: try old(), destinationModel: try new())
    var parts: [Double] = []
    manager.progressHandler = { parts.append($0.migrationProgress) }
    try manager.migrateStore(from: url, mapping: mapping(), to: target)
    #expect(parts == parts.sorted() && parts.last == 1 && parts.count > 5)
    #expect(try Data(contentsOf: url) == bytes)
    let store = try PersistentStore.open(url: target, model: new())
    #expect(try store.check().findings == [])
    #expect(try store.values(sample.people[0])?["first"] == .string("Anna"))
    #expect(throws: StoreError.self) {
      try manager.migrateStore(from: url, mapping: mapping(), to: target)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
    #expect(!names.contains { $0.contains("partial") })
    manager.reset()
  }

  @Test("What fails ends the migration with its error, and the store stays as it is")
  func failures() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    _ = try fill(url)
    let bytes = try Data(contentsOf: url)
    func failure(_ change: (inout MappingModel) throws -> Void) throws -> String {
      var mapping = try mapping()
      try change(&mapping)
      do {
        try PersistentStore.migrate(at: url, to: new(), mapping: mapping)
        return "none"
      } catch {
        #expect(try Data(contentsOf: url) == bytes)
        return "\(error)"
      }
    }
    for place in ["cancel", "validation"] {
      let text = try failure {
        $0.entityMappings[0] = EntityMapping(
          type: .custom, from: "Person", to: "Person", policy: FailingPolicy.self,
          userInfo: ["fails": place])
      }
      #expect(text.contains("Trouble"))
    }
    #expect(
      try failure { $0.entityMappings[0].entityMigrationPolicyClassName = "Shop.Unknown" }
        .contains("EntityMigrationPolicy.register(Unknown.self)"))
    #expect(
      try failure { $0.entityMappings[0].attributeMappings.append(PropertyMapping(name: "x")) }
        .contains("Person.x, which is not there"))
    #expect(try failure { $0.entityMappings[1].sourceEntityName = "Nobody" }.contains("Nobody"))
    #expect(
      try failure { $0.entityMappings[0].entityMigrationPolicyClassName = nil }
        .contains("inDogYears:"))
    // Without its policy, nobody has a town.
    #expect(
      try failure {
        $0.entityMappings[0].entityMigrationPolicyClassName = nil
        $0.entityMappings[0].attributeMappings["dogAge"] = nil
      }.contains("town"))
    #expect(
      try failure {
        $0.entityMappings[1].relationshipMappings["keeper"]?.valueExpression =
          try FetchExpression(
            format: "FUNCTION($manager, \"\(MigrationManager.byMapping)\", \"No\", $source.owner)")
      }.contains("no mapping No"))
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
    #expect(!names.contains { $0.contains("partial") })
  }

  @Test("A policy's methods are called in Core Data's order")
  func order() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    _ = try fill(url)
    let mapping = MappingModel(entityMappings: [
      EntityMapping(
        type: .custom, from: "Person", to: "Person",
        attributes: [PropertyMapping(name: "age", from: "age")], policy: LoggingPolicy.self)
    ])
    #expect {
      try PersistentStore.migrate(at: url, to: new(), mapping: mapping)
    } throws: { error in
      (error as? StoreError)?.message
        == "begin PersonToPerson PersonToPerson create create endInstanceCreation relate relate "
        + "endRelationshipCreation validate end"
    }
  }

  @Test("A policy finds the models, the contexts and what became of what at the manager")
  func managerMembers() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    let sample = try fill(url)
    let mapping = MappingModel(entityMappings: [
      EntityMapping(type: .custom, from: "Car", to: "Vehicle", policy: CuriousPolicy.self)
    ])
    try PersistentStore.migrate(at: url, to: new(), mapping: mapping)
    let store = try PersistentStore.open(url: url, model: new())
    #expect(try store.check().objectCount == 8)
    #expect(try store.values(sample.cars[0])?["plate"] == .string("c1"))
    let identities = try store.read { transaction in
      try (1...8).map {
        try transaction.identity(of: ObjectKey(entity: sample.cars[0].entity, key: $0))
      }
    }
    #expect(Set(identities).count == 8 && Set(identities).isSuperset(of: sample.identities[2...]))
  }

  @Test("A mapping model is for the models that have its entities, with its hashes")
  func fitting() throws {
    let (old, new) = try (old(), new())
    var mapping = try mapping()
    #expect(mapping.isFor(old, new))
    #expect(!mapping.isFor(new, old))
    mapping.entityMappings[0].sourceEntityVersionHash = old.entityVersionHashesByName["Person"]
    #expect(mapping.isFor(old, new))
    mapping.entityMappings[0].sourceEntityVersionHash = new.entityVersionHashesByName["Person"]
    #expect(!mapping.isFor(old, new))
    #expect(!MappingModel().isFor(old, new))
    #expect(mapping.entityMappingsByName["CarToTruck"]?.destinationEntityName == "Truck")
  }
}
