import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Migrations by a mapping model of more objects than are held at once.
struct MigrationPartsTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("people.sqlite")
  }

  private func model(_ isNew: Bool) throws -> ManagedObjectModel {
    let person = EntityDescription(isNew ? "Human" : "Person")
    person.renamingIdentifier = "Person"
    person.properties = [
      AttributeDescription("name", .string), AttributeDescription("nick", .string),
      RelationshipDescription("cars", to: "Car", inverse: "owner", toMany: true, isOrdered: true),
    ]
    let car = EntityDescription("Car")
    car.properties = [
      AttributeDescription("plate", .string),
      RelationshipDescription(
        "owner", to: person.name, inverse: "cars", isOptional: !isNew),
    ]
    let model = ManagedObjectModel(entities: [person, car])
    try model.freeze()
    return model
  }

  /// People and as many cars: each person has the car of the same number, the first has the first two.
  private func fill(_ count: Int64) throws {
    let store = try PersistentStore.open(url: url, model: model(false))
    defer { store.close() }
    _ = try store.write(TransactionInfo(author: "app")) { transaction in
      let person = try #require(store.model.entitiesByName["Person"])
      let car = try #require(store.model.entitiesByName["Car"])
      let number = store.schema.entityNumber(of: person)
      for key in try transaction.allocateKeys(person, count: Int(count)) {
        var values = person.layout.slots.map { _ in PropertyValue.null }
        values[person.layout.index(named: "name") ?? 0] = .string("P\(key)")
        values[person.layout.index(named: "nick") ?? 0] = .string("n\(key)")
        try transaction.insert(person, key, values: values)
      }
      for key in try transaction.allocateKeys(car, count: Int(count)) {
        var values = car.layout.slots.map { _ in PropertyValue.null }
        values[car.layout.index(named: "plate") ?? 0] = .string("C\(key)")
        values[car.layout.index(named: "owner") ?? 0] = .reference(
          ObjectKey(entity: number, key: key == 2 ? 1 : key))
        try transaction.insert(car, key, values: values)
      }
    }
  }

  private func check(_ store: PersistentStore, _ count: Int64) throws {
    #expect(try store.check().findings == [])
    try store.read { transaction throws in
      let connection = transaction.connection
      #expect(
        try connection.rows(
          "SELECT COUNT(*), SUM(ZNICK = 'N' || Z_PK), SUM(ZNAME = 'P' || Z_PK) FROM ZHUMAN")
          == [[.integer(count), .integer(count), .integer(count)]])
      #expect(
        try connection.rows(
          "SELECT COUNT(*), SUM(ZOWNER = Z_PK), SUM(ZPLATE = 'C' || Z_PK) FROM ZCAR")
          == [[.integer(count), .integer(count - 1), .integer(count)]])
      let human = try #require(store.model.entitiesByName["Human"])
      let cars = try #require(human.relationshipsByName["cars"])
      let first = ObjectKey(entity: store.schema.entityNumber(of: human), key: 1)
      #expect(try transaction.toManyKeys(of: first, cars).map(\.key) == [1, 2])
      #expect(try transaction.maximumTransactionNumber() == 2)
    }
  }

  private func modelFile() throws -> URL {
    let file = directory.file("New.xcdatamodel")
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
    try ModelDocument.xml(of: model(true)).write(to: file.appendingPathComponent("contents"))
    return file
  }

  @Test("100,000 objects take little more memory than 10,000")
  func memory() throws {
    let file = try modelFile()
    var peaks: [Int] = []
    for count: Int64 in [5_000, 50_000] {
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: url.path + suffix)
      }
      try fill(count)
      let probe = try Probe.run("weigh", url, ("kill", .max), model: file)
      #expect(probe.lines.first == "done")
      let peak = try #require(probe.lines.last?.split(separator: " ").last.flatMap { Int($0) })
      peaks.append(peak)
      try check(try PersistentStore.open(url: url, model: model(true)), count)
    }
    let bytes = (peaks[1] - peaks[0]) * 1024 / 90_000
    // Most of it are pages of the files, which SQLite keeps up to a bound.
    // Under a sanitizer each byte has several of its shadow's beside it.
    let isSanitized = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil
    #expect(bytes < (isSanitized ? 4000 : 400), "\(bytes) bytes an object: \(peaks) KiB")
  }

  @Test("Relationships of each object are made once, those of the part that is not saved yet too")
  func once() throws {
    let count = MigrationManager.unsavedMax + 10
    try fill(Int64(count))
    var mapping = try MappingModel.inferredMappingModel(
      forSourceModel: model(false), destinationModel: model(true))
    EntityMigrationPolicy.register(CountingPolicy.self)
    mapping["Human"]?.entityMigrationPolicyClassName = String(reflecting: CountingPolicy.self)
    let manager = MigrationManager(
      sourceModel: try model(false), destinationModel: try model(true))
    try manager.migrateStore(
      from: url, mapping: mapping, to: directory.file("new.sqlite"))
    let counts = try #require(manager.userInfo["visits"] as? [String: Int])
    #expect(counts.count == count && counts.values.allSatisfy { $0 == 1 })
  }

  @Test("F5 F73 Killed between the parts, the store is as it was, and the next attempt ends")
  func killed() throws {
    let file = try modelFile()
    let count = Int64(MigrationManager.unsavedMax) * 3 / 2
    try fill(count)
    let image = try StoreImage(of: url)
    let step = EveryWrite.isWanted ? 29 : 401
    var number = 1
    var wasKilled = true
    var kills = 0
    while wasKilled {
      try image.lay(at: url)
      let probe = try Probe.run("map", url, ("kill", number), model: file)
      wasKilled = probe.wasKilled
      if wasKilled {
        kills += 1
        let store = try PersistentStore.open(url: url, options: StoreOptions(createsFile: false))
        #expect(try store.check().findings == [], "\(number)")
        #expect(store.model.entitiesByName["Person"] != nil || kills > 2)
        store.close()
      }
      number += step
    }
    EveryWrite.report("map in parts", "kill", kills)
    #expect(kills > 2)
    try check(try PersistentStore.open(url: url, model: model(true)), count)
    #expect(
      try !FileManager.default.contentsOfDirectory(atPath: directory.url.path)
        .contains { $0.contains("partial") })
  }

  @Test(
    "A policy goes on with objects that were saved; what the model demands is checked at the end")
  func policies() throws {
    try fill(Int64(MigrationManager.unsavedMax) + 10)
    EntityMigrationPolicy.register(ClubPolicy.self)
    let destination = try model(true).copy()
    let human = try #require(destination.entitiesByName["Human"])
    let club = EntityDescription("Club")
    club.properties = [
      AttributeDescription("size", .integer64),
      RelationshipDescription("members", to: "Human", inverse: "club", toMany: true),
    ]
    human.properties.append(
      RelationshipDescription("club", to: "Club", inverse: "members", isOptional: false))
    destination.entities.append(club)
    try destination.freeze()
    let source = try model(false)
    var mapping = try MappingModel.inferredMappingModel(
      forSourceModel: source, destinationModel: model(true))
    mapping["Human"]?.entityMigrationPolicyClassName = "ClubPolicy"
    for entity in mapping.entityMappings.indices {
      mapping.entityMappings[entity].destinationEntityVersionHash = nil
    }
    mapping["Human"]?.userInfo["leavesOut"] = "P7"
    let new = directory.file("new.sqlite")
    let manager = MigrationManager(sourceModel: source, destinationModel: destination)
    let failure = #expect(throws: ValidationFailure.self) {
      try manager.migrateStore(from: url, mapping: mapping, to: new)
    }
    #expect(failure?.items.count == 1, "one has no club")
    #expect(!FileManager.default.fileExists(atPath: new.path))
    mapping["Human"]?.userInfo = [:]
    try manager.migrateStore(from: url, mapping: mapping, to: new)
    let store = try PersistentStore.open(url: new, model: destination)
    #expect(try store.check().findings == [])
    let clubs = try store.read {
      try $0.connection.rows(
        "SELECT ZSIZE, (SELECT COUNT(*) FROM ZHUMAN WHERE ZCLUB = c.Z_PK) FROM ZCLUB c")
    }
    let count = Int64(MigrationManager.unsavedMax) + 10
    #expect(clubs == [[.integer(count), .integer(count)]])
  }
}

/// Puts everybody into one club, which it holds on to, and counts them.
private final class ClubPolicy: EntityMigrationPolicy {
  private var club: ManagedObject?

  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let club = try self.club ?? manager.destinationContext.insert(entityNamed: "Club")
    self.club = club
    club["size"] = (club["size"] as? Int64 ?? 0) + 1
    let made = manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    #expect(made.count == 1)
    if source["name"] as? String != mapping.userInfo["leavesOut"] { made.first?["club"] = club }
  }

  override func endInstanceCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {
    // The first was saved with its part, and is found by its ID.
    let first = try manager.sourceContext.fetch(
      FetchRequest<ManagedObject>(entityName: "Person", sort: [FetchSort("name")], limit: 1))
    let made = manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: first)
    #expect(made.map { $0["name"] as? String } == ["P1"])
    #expect(
      manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: made)
        == first)
  }
}

/// Counts by name how often the relationships of an object are asked for.
private final class CountingPolicy: EntityMigrationPolicy {
  override func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    var visits = manager.userInfo["visits"] as? [String: Int] ?? [:]
    manager.userInfo["visits"] = nil
    visits[destination["name"] as? String ?? "", default: 0] += 1
    manager.userInfo["visits"] = visits
    // It counts as changed, so that parts are saved meanwhile.
    destination["nick"] = "seen"
    try super.createRelationships(forDestination: destination, in: mapping, manager: manager)
  }
}
