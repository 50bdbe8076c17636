import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Migrations that change the file in place, and leave for later what nobody reads any more.
struct DeferredMigrationTests {
  private static let key = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("people.sqlite")
  }

  private func old() throws -> ManagedObjectModel {
    let person = EntityDescription("Person")
    let picture = AttributeDescription("picture", .binaryData)
    picture.allowsExternalBinaryDataStorage = true
    let nick = AttributeDescription("nick", .string)
    nick.preservesValueInHistoryOnDeletion = true
    person.properties = [
      AttributeDescription("name", .string), nick, AttributeDescription("age", .integer16),
      AttributeDescription("shoe", .integer16), picture,
      RelationshipDescription("cars", to: "Car", inverse: "owner", toMany: true, isOrdered: true),
      RelationshipDescription("friends", to: "Person", inverse: "friends", toMany: true),
      RelationshipDescription("notes", to: "Note", inverse: "readers", toMany: true),
    ]
    person.uniquenessConstraints = [["nick"]]
    person.indexes = [
      FetchIndexDescription(
        name: "byShoe", elements: [FetchIndexElementDescription(propertyName: "shoe")]),
      FetchIndexDescription(
        name: "byName", elements: [FetchIndexElementDescription(propertyName: "name")]),
    ]
    let car = EntityDescription("Car")
    car.properties = [
      AttributeDescription("plate", .string), AttributeDescription("color", .string),
      RelationshipDescription("owner", to: "Person", inverse: "cars"),
    ]
    let sportCar = EntityDescription("SportCar")
    sportCar.superentityName = "Car"
    sportCar.properties = [AttributeDescription("speed", .integer32)]
    let note = EntityDescription("Note")
    note.properties = [
      AttributeDescription("text", .string),
      RelationshipDescription("readers", to: "Person", inverse: "notes", toMany: true),
    ]
    let model = ManagedObjectModel(entities: [person, car, sportCar, note])
    try model.freeze()
    return model
  }

  /// Names changed, a wider number, properties, an entity, a subentity and a relationship came, others went with their entity.
  private func new() throws -> ManagedObjectModel {
    let person = EntityDescription("Human")
    person.renamingIdentifier = "Person"
    let name = AttributeDescription("fullName", .string)
    name.renamingIdentifier = "name"
    let nick = AttributeDescription("nick", .string)
    nick.preservesValueInHistoryOnDeletion = true
    person.properties = [
      name, nick, AttributeDescription("age", .integer64),
      AttributeDescription("active", .boolean, isOptional: false, defaultValue: .bool(true)),
      RelationshipDescription("cars", to: "Car", inverse: "owner", toMany: true, isOrdered: true),
      RelationshipDescription("friends", to: "Human", inverse: "friends", toMany: true),
      RelationshipDescription("town", to: "Town", inverse: "people"),
    ]
    person.uniquenessConstraints = [["fullName"]]
    person.indexes = [
      FetchIndexDescription(
        name: "byAge", elements: [FetchIndexElementDescription(propertyName: "age")])
    ]
    let car = EntityDescription("Car")
    car.properties = [
      AttributeDescription("plate", .string, isOptional: false, defaultValue: .string("none")),
      RelationshipDescription("owner", to: "Human", inverse: "cars"),
    ]
    let sportCar = EntityDescription("SportCar")
    sportCar.superentityName = "Car"
    sportCar.properties = [AttributeDescription("speed", .integer32)]
    let truck = EntityDescription("Truck")
    truck.superentityName = "Car"
    truck.properties = [
      AttributeDescription("load", .double, isOptional: false, defaultValue: .double(1))
    ]
    let town = EntityDescription("Town")
    town.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("people", to: "Human", inverse: "town", toMany: true),
    ]
    let model = ManagedObjectModel(entities: [person, car, sportCar, truck, town])
    try model.freeze()
    return model
  }

  private struct Sample {
    var people: [ObjectKey]
    var cars: [ObjectKey]
    var identities: [UUID]
  }

  private func fill(_ count: Int = 3) throws -> Sample {
    let store = try PersistentStore.open(url: url, model: old())
    let people = try (0..<count).map { number in
      try store.insert(
        "Person",
        [
          "name": .string("P\(number)"), "nick": .string("p\(number)"), "age": .integer(40),
          "shoe": .integer(42),
          "picture": .data(Data(repeating: 1, count: StoreTuning.externalBytes + 1)),
        ])
    }
    let cars = [
      try store.insert("Car", ["color": .string("red"), "owner": .reference(people[0])]),
      try store.insert(
        "SportCar", ["plate": .string("S"), "speed": .integer(300), "owner": .reference(people[0])]),
    ]
    let note = try store.insert("Note", ["text": .string("gone")])
    let person = try #require(store.model.entitiesByName["Person"])
    let friends = try #require(person.relationshipsByName["friends"])
    let notes = try #require(person.relationshipsByName["notes"])
    _ = try store.write(TransactionInfo(author: "app")) { transaction in
      try transaction.addPairs(friends, people[0], [people[1]])
      try transaction.addPairs(notes, people[0], [note])
      try transaction.setSyncing(true)
    }
    try store.update(people[0], "name", .string("Anna"))
    _ = try store.write(TransactionInfo(author: "app")) {
      try $0.delete(people[2], expectedVersion: nil)
    }
    try store.setMetadata("kept", forKey: "AppKey")
    let identities = try store.read { try (people + cars).map($0.identity(of:)) }
    store.close()
    return Sample(people: people, cars: cars, identities: identities)
  }

  private static let deferring = StoreOptions(
    migratesAutomatically: true, defersMigrationCleanup: true)

  private func tables(_ store: PersistentStore) throws -> [String] {
    try store.read {
      try $0.connection.rows(
        """
        SELECT m.name || ' ' || group_concat(c.name) FROM sqlite_master m
        JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name GLOB 'Z*'
        AND m.name NOT GLOB 'ZDL_*' GROUP BY m.name ORDER BY m.name
        """
      ).compactMap { if case .text(let text) = $0[0] { text } else { nil } }
    }
  }

  /// What the store has to have after the migration, however it was done.
  private func check(_ store: PersistentStore, _ sample: Sample) throws {
    #expect(try store.check().findings == [])
    let anna = try #require(try store.values(sample.people[0]))
    #expect(anna["fullName"] == .string("Anna") && anna["nick"] == .string("p0"))
    #expect(anna["age"] == .integer(40) && anna["active"] == .bool(true))
    #expect(try store.values(sample.cars[0])?["plate"] == .string("none"))
    #expect(try store.values(sample.cars[1])?["plate"] == .string("S"))
    #expect(try store.values(sample.cars[1])?["speed"] == .integer(300))
    let human = try #require(store.model.entitiesByName["Human"]?.relationshipsByName)
    try store.read { transaction throws in
      func ends(_ name: String) throws -> [Int64] {
        try transaction.toManyKeys(of: sample.people[0], #require(human[name])).map(\.key)
      }
      #expect(try ends("cars") == sample.cars.map(\.key))
      #expect(try ends("friends") == [sample.people[1].key])
      #expect(
        try (sample.people + sample.cars).map(transaction.identity(of:)) == sample.identities)
    }
    #expect(store.metadata.values["AppKey"] as? String == "kept")
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    let changes = history.flatMap { $0.changes ?? [] }
    #expect(changes.allSatisfy { $0.changedEntity != nil && $0.entityName != "Note" })
    #expect(changes.last { $0.changeType == .update }?.updatedProperties == ["fullName"])
    #expect(changes.last { $0.changeType == .delete }?.tombstone == ["nick": .string("p2")])
  }

  @Test("The schema is the new one at once; what went stays for later, and is in nobody's way")
  func whole() throws {
    let sample = try fill()
    let inode = FileIdentity(of: url.path)?.file
    var store = try PersistentStore.open(url: url, model: new(), options: Self.deferring)
    try check(store, sample)
    #expect(store.metadata.values[Self.key] != nil)
    let before = try tables(store)
    #expect(before.contains { $0.hasPrefix("ZNOTE ") })
    #expect(before.contains { $0.hasPrefix("ZHUMAN ") && $0.contains("ZSHOE") })
    #expect(FileIdentity(of: url.path)?.file == inode)
    let truck = try store.insert("Truck", ["owner": .reference(sample.people[1])])
    #expect(truck.key == sample.cars[1].key + 1, "keys go on")
    #expect {
      try store.insert("Human", ["fullName": .string("Anna")])
    } throws: { ($0 as? StoreError)?.code == .constraint }
    let town = try store.insert("Town", ["name": .string("Rome")])
    try store.update(sample.people[1], "town", .reference(town))
    store.close()
    // Others open it as any other: with the model, without it, to look at it, as a copy.
    for options in [StoreOptions(), .inspecting(url)] {
      for model in [try new(), nil] {
        let again = try PersistentStore.open(url: url, model: model, options: options)
        #expect(try again.values(sample.people[1])?["town"] == .reference(town))
        #expect(try again.check().findings == [])
        again.close()
      }
    }
    store = try PersistentStore.open(url: url, model: new())
    try store.setMetadata(["AppKey": "kept"])
    let backup = directory.file("backup.sqlite")
    try store.backup(to: backup)
    for file in [store, try PersistentStore.open(url: backup)] {
      let coordinator = PersistentStoreCoordinator(store: file)
      var count = 1
      while try coordinator.finishDeferredLightweightMigrationTask() {
        count += 1
        #expect(try file.check().findings == [])
      }
      #expect(count == 5, "three columns, a table and a join table")
      try coordinator.finishDeferredLightweightMigration()
      #expect(file.metadata.values[Self.key] == nil)
      #expect(try file.values(sample.people[1])?["town"] == .reference(town))
      let left = try tables(file)
      let gone = ["NOTE", "ZSHOE", "COLOR"]
      #expect(!left.contains { table in gone.contains { table.contains($0) } })
      try file.vacuum()
      let folder = ExternalDataFolder(store: file.url?.path ?? "")
      #expect(folder.names.isEmpty)
    }
  }

  @Test("It ends with the file that a migration without the option writes")
  func sameEnd() throws {
    let sample = try fill()
    let image = try StoreImage(of: url)
    func columns(_ options: StoreOptions) throws -> ([Set<String>], [[SQLiteValue]]) {
      try image.lay(at: url)
      let store = try PersistentStore.open(url: url, model: new(), options: options)
      defer { store.close() }
      try check(store, sample)
      try PersistentStoreCoordinator(store: store).finishDeferredLightweightMigration()
      try check(store, sample)
      let tables = try tables(store).map { Set($0.split { " ,".contains($0) }.map(String.init)) }
      let rest = try store.read {
        try $0.connection.rows(
          """
          SELECT name, '' FROM sqlite_master WHERE type <> 'table' AND name GLOB 'Z*'
          UNION SELECT Z_NAME, Z_ENT || ' ' || Z_SUPER || ' ' || Z_MAX FROM Z_PRIMARYKEY
          ORDER BY 1
          """)
      }
      return (tables, rest)
    }
    let (deferred, whole) = (
      try columns(Self.deferring), try columns(StoreOptions(migratesAutomatically: true))
    )
    #expect(deferred.0 == whole.0)
    #expect(deferred.1 == whole.1)
  }

  @Test("A change that needs new rows is done at once, and one upon what is left cleans up first")
  func others() throws {
    let sample = try fill()
    try PersistentStore.open(url: url, model: new(), options: Self.deferring).close()
    // Another column of a name that is left.
    let third = try new().copy()
    let human = try #require(third.entitiesByName["Human"])
    human.properties.append(AttributeDescription("shoe", .integer16))
    try third.freeze()
    var store = try PersistentStore.open(url: url, model: third, options: Self.deferring)
    #expect(try store.values(sample.people[0])?["shoe"] == .null)
    #expect(store.metadata.values[Self.key] == nil, "nothing went")
    try check(store, sample)
    store.close()
    // To-one becomes to-many: rows are written anew.
    let fourth = try third.copy()
    let cars = try #require(fourth.entitiesByName["Human"])
    cars.properties.removeAll { $0.name == "age" }
    cars.indexes = []
    let owner = try #require(fourth.entitiesByName["Car"]?.relationshipsByName["owner"])
    owner.maxCount = 0
    try fourth.freeze()
    store = try PersistentStore.open(url: url, model: fourth, options: Self.deferring)
    #expect(store.metadata.values[Self.key] == nil)
    #expect(try store.check().findings == [])
    #expect(try !tables(store).contains { $0.contains("ZAGE") })
  }

  @Test("A store that is open elsewhere, or breaks a new constraint, is refused as it was")
  func refused() throws {
    _ = try fill()
    let other = try PersistentStore.open(url: url)
    var options = Self.deferring
    options.busyTimeoutMilliseconds = 50
    #expect {
      try PersistentStore.open(url: url, model: new(), options: options)
    } throws: { ($0 as? StoreError)?.code == .busy }
    let last = try other.read { try $0.connection.scalar("SELECT MAX(Z_PK) FROM ZPERSON") }
    guard case .integer(let second)? = last else { throw CocoaError(.coderValueNotFound) }
    let number = other.schema.entityNumber(of: try #require(other.model.entitiesByName["Person"]))
    try other.update(ObjectKey(entity: number, key: second), "name", .string("Anna"))
    other.close()
    #expect {
      try PersistentStore.open(url: url, model: new(), options: Self.deferring)
    } throws: { error in
      guard let error = error as? StoreError, error.code == .constraint else { return false }
      return error.message.contains("both have fullName 'Anna'")
    }
    let same = try PersistentStore.open(url: url, model: old())
    #expect(try same.check().findings == [])
    #expect(try tables(same).contains { $0.hasPrefix("ZPERSON ") && $0.contains("ZSHOE") })
  }

  @Test("The option has Core Data's name in a description")
  func option() throws {
    _ = try fill()
    let description = PersistentStoreDescription(url: url)
    description.setOption(true, forKey: Self.key)
    description.setOption(true, forKey: "NSMigratePersistentStoresAutomaticallyOption")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try new())
    let store = try coordinator.addPersistentStore(with: description)
    #expect(store.metadata.values[Self.key] != nil)
  }

  @Test(
    "F5 F73 Killed at any write, the schema is the old or the new, whole, and what is left is finished by the next",
    arguments: ["deferred", "finish"], ["kill", "torn"])
  func killed(work: String, kind: String) throws {
    let sample = try fill()
    let model = directory.file("New.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try ModelDocument.xml(of: new()).write(to: model.appendingPathComponent("contents"))
    let options = StoreOptions(createsFile: false)
    if work == "finish" {
      try PersistentStore.open(url: url, model: new(), options: Self.deferring).close()
    }
    let image = try StoreImage(of: url)
    let (files, kept) = (
      ExternalDataFolder(store: url.path), ExternalDataFolder(store: directory.file("kept").path)
    )
    try files.copy(files.names, to: kept)
    var number = 0
    var wasKilled = true
    while wasKilled {
      number += EveryWrite.stride(after: number)
      try image.lay(at: url)
      try kept.copy(kept.names, to: files)
      let probe = try Probe.run(
        work, url, (kind, number), model: work == "finish" ? nil : model)
      wasKilled = probe.wasKilled
      let label: Comment = "\(work) \(kind) \(number)"
      if !wasKilled { #expect(probe.lines == ["done"], label) }
      var store = try PersistentStore.open(url: url, options: options)
      #expect(try store.check().findings == [], label)
      #expect((store.model.entitiesByName["Human"] != nil) || (work == "deferred" && wasKilled))
      store.close()
      store = try PersistentStore.open(url: url, model: new(), options: Self.deferring)
      try check(store, sample)
      try PersistentStoreCoordinator(store: store).finishDeferredLightweightMigration()
      #expect(store.metadata.values[Self.key] == nil, label)
      // Killed between a transaction and the removal, it leaves files that no row names.
      #expect(files.names.isEmpty || (work == "finish" && wasKilled), label)
      try check(store, sample)
      store.close()
    }
    EveryWrite.report(work, kind, number - 1)
    #expect(number > 5)
  }

  @Test("With a full disk the store stays as it is, and is migrated when there is room")
  func fullDisk() throws {
    let sample = try fill()
    let model = directory.file("New.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try ModelDocument.xml(of: new()).write(to: model.appendingPathComponent("contents"))
    let image = try StoreImage(of: url)
    var number = 0
    var isDone = false
    while !isDone {
      number += EveryWrite.stride(after: number)
      try image.lay(at: url)
      let probe = try Probe.run("deferred", url, ("full", number), model: model)
      isDone = probe.lines == ["done"]
      #expect(isDone || probe.lines == ["diskFull"], "\(number)")
      // What was committed before the disk was full may be all of it.
      var store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
      #expect(try store.check().findings == [], "\(number)")
      store.close()
      store = try PersistentStore.open(url: url, model: new(), options: Self.deferring)
      try check(store, sample)
      store.close()
    }
    EveryWrite.report("deferred", "full", number - 1)
    #expect(number > 20)
  }
}
