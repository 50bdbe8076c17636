import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

extension WriteTransaction {
  fileprivate func insert(sample name: String) throws -> ObjectKey {
    let entity = try #require(schema.model.entitiesByName[name])
    let key = try allocateKeys(entity, count: 1).lowerBound
    try insert(entity, key, values: entity.layout.slots.map { _ in .null })
    return ObjectKey(entity: schema.entityNumber(of: entity), key: key)
  }
}

/// Stores that are opened with a newer model.
struct MigrationTests {
  /// The first model: people with cars, and notes that nobody needs later.
  private func old() -> ManagedObjectModel {
    let person = EntityDescription("Person")
    let nick = AttributeDescription("nick", .string)
    nick.preservesValueInHistoryOnDeletion = true
    person.properties = [
      AttributeDescription("name", .string), nick, AttributeDescription("age", .integer16),
      AttributeDescription("shoe", .integer16),
      RelationshipDescription("cars", to: "Car", inverse: "owner", toMany: true),
      RelationshipDescription("home", to: "Place", inverse: "people"),
      RelationshipDescription("friends", to: "Person", inverse: "friends", toMany: true),
    ]
    let car = EntityDescription("Car")
    car.properties = [
      AttributeDescription("plate", .string),
      RelationshipDescription("owner", to: "Person", inverse: "cars"),
    ]
    let sportCar = EntityDescription("SportCar")
    sportCar.superentityName = "Car"
    sportCar.properties = [AttributeDescription("speed", .integer32)]
    let place = EntityDescription("Place")
    place.properties = [
      AttributeDescription("city", .string),
      RelationshipDescription("people", to: "Person", inverse: "home", toMany: true),
    ]
    let note = EntityDescription("Note")
    note.properties = [AttributeDescription("text", .string)]
    return ManagedObjectModel(entities: [person, car, sportCar, place, note])
  }

  /// The next one: names changed, a number became a real, a required attribute came, a to-one relationship became to-many,
  /// one got an order, an entity came above another, and one went.
  func new() -> ManagedObjectModel {
    let person = EntityDescription("Human")
    person.renamingIdentifier = "Person"
    let title = AttributeDescription("fullName", .string)
    title.renamingIdentifier = "name"
    let nick = AttributeDescription("nick", .string)
    nick.preservesValueInHistoryOnDeletion = true
    person.properties = [
      title, nick, AttributeDescription("age", .double),
      AttributeDescription("active", .boolean, isOptional: false, defaultValue: .bool(true)),
      RelationshipDescription("cars", to: "Car", inverse: "owner", toMany: true, isOrdered: true),
      RelationshipDescription("homes", to: "Place", inverse: "people", toMany: true),
      RelationshipDescription("friends", to: "Human", inverse: "friends", toMany: true),
    ]
    let homes = person.ownProperties.first { $0.name == "homes" }
    homes?.renamingIdentifier = "home"
    let thing = EntityDescription("Thing")
    thing.isAbstract = true
    let car = EntityDescription("Car")
    car.superentityName = "Thing"
    car.properties = [
      AttributeDescription("plate", .string, isOptional: false, defaultValue: .string("none")),
      RelationshipDescription("owner", to: "Human", inverse: "cars"),
    ]
    let sportCar = EntityDescription("SportCar")
    sportCar.superentityName = "Car"
    sportCar.properties = [AttributeDescription("speed", .integer64)]
    let place = EntityDescription("Place")
    place.properties = [
      AttributeDescription("city", .string),
      RelationshipDescription("people", to: "Human", inverse: "homes", toMany: true),
    ]
    return ManagedObjectModel(entities: [person, thing, car, sportCar, place])
  }

  private static let migrating = StoreOptions(migratesAutomatically: true)

  struct Sample {
    var people: [ObjectKey]
    var cars: [ObjectKey]
    var place: ObjectKey
    var identities: [UUID]
    var identifier: String
  }

  func fill(_ url: URL) throws -> Sample {
    let store = try PersistentStore.open(url: url, model: old())
    let place = try store.insert("Place", ["city": .string("Rome")])
    let people = try ["Ann", "Bob", "Cyd"].map {
      try store.insert(
        "Person",
        [
          "name": .string($0), "nick": .string($0.lowercased()), "age": .integer(40),
          "shoe": .integer(42), "home": .reference(place),
        ])
    }
    let cars = [
      try store.insert("Car", ["plate": .string("A1"), "owner": .reference(people[0])]),
      try store.insert("SportCar", ["speed": .integer(300), "owner": .reference(people[0])]),
    ]
    try store.insert("Note", ["text": .string("gone")])
    let friends = try #require(store.model.entitiesByName["Person"]?.relationshipsByName["friends"])
    _ = try store.write(TransactionInfo(author: "app")) { transaction in
      try transaction.addPairs(friends, people[0], [people[1]])
      try transaction.setSyncing(true)
    }
    try store.update(people[0], "name", .string("Anna"))
    _ = try store.write(TransactionInfo(author: "app")) {
      try $0.delete(people[2], expectedVersion: nil)
    }
    try store.setMetadata("kept", forKey: "AppKey")
    try store.registerHistoryReader("app", at: store.currentHistoryToken())
    let identities = try store.read { transaction in
      try (people + cars).map(transaction.identity(of:))
    }
    store.close()
    return Sample(
      people: people, cars: cars, place: place, identities: identities,
      identifier: store.identifier)
  }

  @Test("Everything that the rules allow is carried over: values, references, pairs, order")
  func rows() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    let sample = try fill(url)
    #expect {
      _ = try PersistentStore.open(url: url, model: new())
    } throws: { ($0 as? StoreError)?.code == .incompatibleModel }
    let store = try PersistentStore.open(url: url, model: new(), options: Self.migrating)
    let findings = try store.check().findings
    #expect(findings == [], "\(findings)")
    #expect(store.identifier == sample.identifier)
    #expect(store.metadata.values["AppKey"] as? String == "kept")
    let ann = try #require(try store.values(sample.people[0]))
    #expect(ann["fullName"] == .string("Anna"))
    #expect(ann["age"] == .double(40))
    #expect(ann["active"] == .bool(true))
    #expect(ann["shoe"] == nil)
    #expect(try store.values(sample.cars[0])?["plate"] == .string("A1"))
    #expect(try store.values(sample.cars[1])?["plate"] == .string("none"))
    #expect(try store.values(sample.cars[1])?["speed"] == .integer(300))
    let human = try #require(store.model.entitiesByName["Human"]?.relationshipsByName)
    let people = try #require(store.model.entitiesByName["Place"]?.relationshipsByName["people"])
    try store.read { transaction throws in
      func ends(_ key: ObjectKey, _ name: String) throws -> [Int64] {
        try transaction.toManyKeys(of: key, #require(human[name])).map(\.key)
      }
      #expect(try ends(sample.people[0], "cars") == sample.cars.map(\.key))
      #expect(try ends(sample.people[0], "homes") == [sample.place.key])
      #expect(try ends(sample.people[0], "friends") == [sample.people[1].key])
      #expect(try ends(sample.people[1], "friends") == [sample.people[0].key])
      #expect(try transaction.toManyKeys(of: sample.place, people).count == 2)
      #expect(
        try (sample.people + sample.cars).map(transaction.identity(of:)) == sample.identities)
      for (identity, key) in zip(sample.identities, sample.people + sample.cars)
      where key != sample.people[2] {
        #expect(try transaction.key(of: identity)?.key == key.key)
      }
    }
    let next = try store.insert("Car")
    #expect(next.key == sample.cars[1].key + 1, "keys go on")
  }

  @Test("History and what sync keeps are carried over, under the new names and places")
  func history() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    let sample = try fill(url)
    let store = try PersistentStore.open(url: url, model: new(), options: Self.migrating)
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    #expect(history.count == 9)
    let changes = history.flatMap { $0.changes ?? [] }
    #expect(changes.allSatisfy { $0.changedEntity != nil })
    let update = try #require(changes.last { $0.changeType == .update })
    #expect(update.entityName == "Human" && update.updatedProperties == ["fullName"])
    #expect(changes.last?.tombstone == ["nick": .string("cyd")])
    let grave = try #require(try store.read { try $0.grave(of: sample.people[2]) })
    let layout = try #require(store.model.entitiesByName["Human"]?.layout)
    #expect(grave[try #require(layout.index(named: "fullName"))] == .string("Cyd"))
    #expect(try store.historyReaders().map(\.name) == ["app"])
    #expect(try store.read { try $0.setting("syncing") } == .integer(1))
  }

  @Test("F74 A store that is further than the model is refused, and stays as it is")
  func newer() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    _ = try fill(url)
    try PersistentStore.open(url: url, model: new(), options: Self.migrating).close()
    let bytes = try Data(contentsOf: url)
    #expect {
      _ = try PersistentStore.open(url: url, model: old(), options: Self.migrating)
    } throws: { error in
      guard let error = error as? StoreError else { return false }
      return error.code == .newerModel && error.suggestion.contains("newer version")
    }
    #expect(try Data(contentsOf: url) == bytes)
  }

  @Test("What needs a mapping of its own is refused by name, and the store stays as it is")
  func refusals() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    let sample = try fill(url)
    let store = try PersistentStore.open(url: url)
    let friends = try #require(store.model.entitiesByName["Person"]?.relationshipsByName["friends"])
    _ = try store.write(TransactionInfo()) { transaction throws in
      let third = try transaction.insert(sample: "Person")
      try transaction.addPairs(friends, sample.people[0], [third])
    }
    store.close()
    let bytes = try Data(contentsOf: url)
    func refusal(_ change: (ManagedObjectModel) throws -> Void) throws -> String? {
      let model = old()
      try change(model)
      do {
        _ = try PersistentStore.open(url: url, model: model, options: Self.migrating)
        return nil
      } catch let error as StoreError {
        #expect(error.code == .cannotMigrate)
        return error.message
      }
    }
    func replace(_ name: String, by property: PropertyDescription) -> (ManagedObjectModel) -> Void {
      { model in
        let person = model.entities[0]
        person.properties = person.ownProperties.filter { $0.name != name } + [property]
      }
    }
    #expect(
      try refusal(replace("age", by: AttributeDescription("age", .string)))?.contains("Person.age")
        == true)
    #expect(
      try refusal(replace("x", by: AttributeDescription("x", .string, isOptional: false)))?
        .contains("default value") == true)
    #expect(
      try refusal(replace("name", by: AttributeDescription("name", .string, isOptional: false)))?
        .contains("Person.name") == true)
    #expect(
      try refusal { model in
        let friends = model.entities[0].ownProperties.first { $0.name == "friends" }
        (friends as? RelationshipDescription)?.maxCount = 1
      }?.contains("several at the end of Person.friends") == true)
    #expect(try Data(contentsOf: url) == bytes)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
    #expect(!names.contains { $0.contains("partial") })
  }

  @Test("F75 Values that break a new constraint end the migration, and the store stays as it is")
  func constraint() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    _ = try fill(url)
    let model = old()
    model.entities[0].uniquenessConstraints = [["shoe"]]
    #expect {
      _ = try PersistentStore.open(url: url, model: model, options: Self.migrating)
    } throws: { error in
      guard let error = error as? StoreError, error.code == .constraint else { return false }
      // Which objects, and with which value.
      return error.message.contains(
        #/Person objects [0-9a-f-]{36} and [0-9a-f-]{36} both have shoe \d+/#)
    }
    #expect(try PersistentStore.open(url: url, model: old()).check().isSound)
  }

  @Test("A store that somebody has open is not migrated under them")
  func openElsewhere() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    _ = try fill(url)
    let other = try PersistentStore.open(url: url, model: old())
    #expect {
      _ = try PersistentStore.open(url: url, model: new(), options: Self.migrating)
    } throws: { ($0 as? StoreError)?.code == .busy }
    try other.insert("Note")
    other.close()
    var parts: [Double] = []
    try PersistentStore.migrate(at: url, to: new()) { parts.append($0) }
    #expect(parts == parts.sorted() && parts.last == 1 && parts.count > 3)
    #expect(try PersistentStore.open(url: url, model: new()).check().isSound)
  }

  @Test("A migration that is broken off changes nothing, and the next attempt succeeds")
  func brokenOff() throws {
    struct Stop: Error {}
    let directory = try TemporaryDirectory()
    let url = directory.file("people.sqlite")
    _ = try fill(url)
    #expect(throws: Stop.self) {
      try PersistentStore.migrate(at: url, to: new()) { if $0 > 0.3 { throw Stop() } }
    }
    #expect(try PersistentStore.open(url: url, model: old()).check().isSound)
    #expect(
      try PersistentStore.open(url: url, model: new(), options: Self.migrating).check().isSound)
  }

  @Test(
    "A file that Core Data wrote is migrated, with its history and large values",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func coreDataFile() throws {
    let original = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    let directory = try TemporaryDirectory()
    let url = directory.file("books.sqlite")
    try Data(contentsOf: original).write(to: url)
    let first = try PersistentStore.open(url: url)
    let model = try first.model.copy()
    let title = try #require(first.values(ObjectKey(entity: 1, key: 1))?["title"])
    first.close()
    let book = try #require(model.entities.first { $0.name == "Book" })
    book.properties = book.ownProperties + [AttributeDescription("shelf", .string)]
    let store = try PersistentStore.open(url: url, model: model, options: Self.migrating)
    #expect(try store.check().findings == [])
    #expect(try store.values(ObjectKey(entity: 1, key: 1))?["title"] == title)
    #expect(try store.fetchHistory(.fetchHistory(after: Date.distantPast)).count == 1)
    #expect(try store.check().objectCount == 52 + 444 + 4970 + 2)
  }
}
