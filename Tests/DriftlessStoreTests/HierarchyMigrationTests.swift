import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Models whose hierarchies change, and what sync keeps of their objects.
struct HierarchyMigrationTests {
  private static let migrating = StoreOptions(migratesAutomatically: true)

  /// People and companies apart; cars and boats are vehicles.
  private func old() -> ManagedObjectModel {
    let person = EntityDescription("Person")
    person.properties = [
      AttributeDescription("first", .string), AttributeDescription("last", .string),
      AttributeDescription("gone", .string),
      RelationshipDescription("vehicles", to: "Vehicle", inverse: "owner", toMany: true),
      RelationshipDescription("clubs", to: "Company", inverse: "members", toMany: true),
    ]
    let company = EntityDescription("Company")
    company.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("members", to: "Person", inverse: "clubs", toMany: true),
      RelationshipDescription("boat", to: "Boat", inverse: nil),
    ]
    let vehicle = EntityDescription("Vehicle")
    vehicle.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("owner", to: "Person", inverse: "vehicles"),
      RelationshipDescription("tows", to: "Vehicle", inverse: nil),
    ]
    let boat = EntityDescription("Boat")
    boat.superentityName = "Vehicle"
    boat.properties = [AttributeDescription("length", .double)]
    return ManagedObjectModel(entities: [person, company, vehicle, boat])
  }

  /// Both are parties, which own vehicles; boats are none any more. First and last names changed places.
  private func new() -> ManagedObjectModel {
    let party = EntityDescription("Party")
    party.isAbstract = true
    let person = EntityDescription("Person")
    person.superentityName = "Party"
    let surname = AttributeDescription("surname", .string)
    surname.renamingIdentifier = "last"
    let given = AttributeDescription("given", .string)
    given.renamingIdentifier = "first"
    person.properties = [
      surname, given,
      RelationshipDescription("vehicles", to: "Vehicle", inverse: "owner", toMany: true),
      RelationshipDescription("clubs", to: "Company", inverse: "members", toMany: true),
    ]
    let company = EntityDescription("Company")
    company.superentityName = "Party"
    company.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("members", to: "Person", inverse: "clubs", toMany: true),
      RelationshipDescription("boat", to: "Boat", inverse: nil),
    ]
    let vehicle = EntityDescription("Vehicle")
    vehicle.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("owner", to: "Person", inverse: "vehicles"),
      RelationshipDescription("tows", to: "Vehicle", inverse: nil),
    ]
    let boat = EntityDescription("Boat")
    boat.properties = [
      AttributeDescription("name", .string), AttributeDescription("length", .double),
    ]
    return ManagedObjectModel(entities: [party, person, company, vehicle, boat])
  }

  @Test(
    "Keys of a damaged file that cannot be counted on are told as it is migrated, and nothing is changed",
    arguments: [
      "UPDATE Z_PRIMARYKEY SET Z_MAX = \(Int64.max) WHERE Z_NAME = 'Person'",
      "UPDATE Z_PRIMARYKEY SET Z_MAX = \(Int64.max) WHERE Z_NAME = 'Company'",
      "INSERT INTO ZDL_IDENTITY VALUES (1, \(Int64.max), 1, NULL, randomblob(16))",
      "INSERT INTO ZDL_IDENTITY VALUES (1, \(Int64.min), 1, NULL, randomblob(16))",
      "UPDATE ZVEHICLE SET Z_PK = \(Int64.max) WHERE ZNAME = 'Argo'",
    ])
  func damagedKeys(damage: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("old.sqlite")
    _ = try fill(url)
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    try connection.execute("PRAGMA ignore_check_constraints = ON; " + damage)
    connection.close()
    do {
      try PersistentStore.open(url: url, model: new(), options: Self.migrating).close()
    } catch let error as StoreError {
      #expect(error.code == .damaged, "\(error)")
      #expect(!error.suggestion.isEmpty)
      let store = try PersistentStore.open(url: url, model: old())
      #expect(try !store.check().isSound)
    }
  }

  private struct Sample {
    var keys: [String: ObjectKey] = [:]
    var identities: [String: UUID] = [:]
  }

  private func fill(_ url: URL) throws -> Sample {
    let store = try PersistentStore.open(url: url, model: old())
    var keys: [String: ObjectKey] = [:]
    for name in ["Ann", "Bob", "Cyd"] {
      keys[name] = try store.insert("Person", ["first": .string(name), "last": .string("L")])
    }
    keys["boat"] = try store.insert(
      "Boat", ["name": .string("Argo"), "owner": try reference(keys, "Bob"), "length": .double(9)])
    keys["tug"] = try store.insert("Boat", ["name": .string("Tug")])
    keys["car"] = try store.insert(
      "Vehicle",
      [
        "name": .string("Fiat"), "owner": try reference(keys, "Bob"),
        "tows": try reference(keys, "boat"),
      ])
    keys["truck"] = try store.insert("Vehicle", ["tows": try reference(keys, "car")])
    for name in ["Acme", "Bolt"] {
      keys[name] = try store.insert(
        "Company", ["name": .string(name), "boat": try reference(keys, "boat")])
    }
    let clubs = try #require(store.model.entitiesByName["Person"]?.relationshipsByName["clubs"])
    let all = keys
    _ = try store.write(TransactionInfo(author: "app")) { transaction throws in
      try transaction.setSyncing(true)
      try transaction.addPairs(clubs, #require(all["Bob"]), [#require(all["Bolt"])])
    }
    _ = try store.write(TransactionInfo(author: "app")) { transaction throws in
      try transaction.delete(#require(all["Cyd"]), expectedVersion: nil)
      try transaction.delete(#require(all["tug"]), expectedVersion: nil)
    }
    let identities = try store.read { transaction in try all.mapValues(transaction.identity(of:)) }
    store.close()
    return Sample(keys: keys, identities: identities)
  }

  private func reference(_ keys: [String: ObjectKey], _ name: String) throws -> PropertyValue {
    .reference(try #require(keys[name]))
  }

  @Test("Hierarchies are split and merged: values, references, pairs and identities come along")
  func rows() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("parties.sqlite")
    let sample = try fill(url)
    let store = try PersistentStore.open(url: url, model: new(), options: Self.migrating)
    let findings = try store.check().findings
    #expect(findings == [], "\(findings)")
    let keys = try store.read { transaction in
      try sample.identities.mapValues { try #require(try transaction.key(of: $0)) }
    }
    try store.read { transaction throws in
      for (name, identity) in sample.identities where name != "Cyd" && name != "tug" {
        #expect(try transaction.identity(of: #require(keys[name])) == identity, "\(name)")
      }
    }
    func values(_ name: String) throws -> [String: PropertyValue] {
      let key = try #require(keys[name])
      return try #require(try store.values(key))
    }
    #expect(try values("Ann")["given"] == .string("Ann"))
    #expect(try values("Ann")["surname"] == .string("L"))
    #expect(try values("Acme")["name"] == .string("Acme"))
    #expect(try values("Acme")["boat"] == reference(keys, "boat"))
    #expect(try values("boat")["name"] == .string("Argo"))
    #expect(try values("boat")["length"] == .double(9))
    #expect(try values("car")["owner"] == reference(keys, "Bob"))
    #expect(try values("car")["tows"] ?? .null == .null, "a boat is no vehicle any more")
    #expect(try values("truck")["tows"] == reference(keys, "car"))
    #expect(Set(["Ann", "Bob", "Acme", "Bolt"].map { keys[$0]?.key }).count == 4)
    let clubs = try #require(store.model.entitiesByName["Person"]?.relationshipsByName["clubs"])
    let bobs = try store.read { try $0.toManyKeys(of: #require(keys["Bob"]), clubs) }
    #expect(bobs == [try #require(keys["Bolt"])])
    // New objects get keys and identities of their own.
    let fresh = try ["Company", "Boat", "Vehicle", "Person"].map { try store.insert($0) }
    let identities = try store.read { try fresh.map($0.identity(of:)) }
    #expect(Set(identities).isDisjoint(with: sample.identities.values))
    for (key, identity) in zip(fresh, identities) {
      #expect(try store.read { try $0.key(of: identity) } == key)
    }
    #expect(try store.check().findings == [])
  }

  @Test("History and the rows of deleted objects follow the objects to their new keys")
  func history() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("parties.sqlite")
    let sample = try fill(url)
    let store = try PersistentStore.open(url: url, model: new(), options: Self.migrating)
    let changes = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
      .flatMap { $0.changes ?? [] }
    func key(_ name: String) throws -> ObjectKey {
      let identity = try #require(sample.identities[name])
      return try #require(try store.read { try $0.key(of: identity) })
    }
    #expect(changes.allSatisfy { $0.changedEntity != nil })
    let inserts = changes.filter { $0.changeType == .insert }
    #expect(inserts.count == 9)
    for name in ["Ann", "boat", "Bolt"] {
      let key = try key(name)
      #expect(inserts.filter { $0.changedObjectID?.key == key }.count == 1, "\(name)")
    }
    let person = try #require(store.model.entitiesByName["Person"])
    let grave = try store.read {
      try $0.grave(
        of: ObjectKey(entity: store.schema.entityNumber(of: person), key: try key("Cyd").key))
    }
    let given = try #require(person.layout.index(named: "given"))
    #expect(grave?[given] == .string("Cyd"))
  }

  @Test("What sync keeps by name follows the names")
  func names() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("parties.sqlite")
    let sample = try fill(url)
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    let (ann, acme) = try (#require(sample.keys["Ann"]), #require(sample.keys["Acme"]))
    try connection.execute(
      """
      CREATE TABLE ZDL_PENDING(entity INTEGER NOT NULL, key INTEGER NOT NULL,
      transaction_number INTEGER NOT NULL, state BLOB NOT NULL, PRIMARY KEY (entity, key)) WITHOUT ROWID;
      CREATE TABLE ZDL_OMITTED(entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL,
      PRIMARY KEY (entity, key, property)) WITHOUT ROWID;
      CREATE TABLE ZDL_JOURNAL(number INTEGER PRIMARY KEY, entity TEXT NOT NULL, property TEXT, row BLOB);
      INSERT INTO ZDL_OMITTED VALUES (\(ann.entity), \(ann.key), 'first'),
      (\(ann.entity), \(ann.key), 'last'), (\(ann.entity), \(ann.key), 'gone'),
      (\(acme.entity), \(acme.key), 'name');
      INSERT INTO ZDL_BASE VALUES (\(ann.entity), \(ann.key), 'first', x'0000000000000000');
      INSERT INTO ZDL_JOURNAL VALUES (1, 'Person', 'first', NULL), (2, 'Company', 'name', NULL)
      """)
    let state = """
      {"edits":[{"properties":["first","gone"],"transaction":3},
      {"properties":["gone"],"transaction":4}],"whole":"none","wholeTransaction":0}
      """
    try connection.run(
      "INSERT INTO ZDL_PENDING VALUES (?, ?, 1, ?)", .integer(Int64(ann.entity)),
      .integer(ann.key), .blob(Data(state.utf8)))
    connection.close()
    let store = try PersistentStore.open(url: url, model: new(), options: Self.migrating)
    try store.read { transaction throws in
      let connection = transaction.connection
      #expect(
        try connection.rows("SELECT entity, property FROM ZDL_OMITTED ORDER BY entity, property")
          .map { "\($0[1])" }.sorted()
          == ["given", "name", "surname"].map { "\(SQLiteValue.text($0))" })
      #expect(
        try connection.scalar("SELECT property FROM ZDL_BASE WHERE length(value) = 8")
          == .text("given"))
      #expect(
        try connection.rows("SELECT property FROM ZDL_JOURNAL ORDER BY number")
          == [[.text("given")], [.text("name")]])
      guard case .blob(let bytes)? = try connection.scalar("SELECT state FROM ZDL_PENDING") else {
        Issue.record("the pending state is gone")
        return
      }
      #expect(
        String(decoding: bytes, as: UTF8.self)
          == #"{"edits":[{"properties":["given"],"transaction":3}],"whole":"none","wholeTransaction":0}"#
      )
      let company = try #require(store.model.entitiesByName["Company"])
      let acme = try #require(sample.identities["Acme"])
      let key = try #require(try transaction.key(of: acme))
      #expect(
        try connection.scalar(
          "SELECT key FROM ZDL_OMITTED WHERE entity = ?",
          .integer(Int64(store.schema.entityNumber(of: company)))) == .integer(key.key))
    }
  }

  @Test("Keys change only when nothing is on its way to the server")
  func inFlight() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("parties.sqlite")
    _ = try fill(url)
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    try connection.execute(
      "CREATE TABLE ZDL_OUTBOX(push_number INTEGER); INSERT INTO ZDL_OUTBOX VALUES (1)")
    connection.close()
    let bytes = try Data(contentsOf: url)
    #expect {
      _ = try PersistentStore.open(url: url, model: new(), options: Self.migrating)
    } throws: { error in
      guard let error = error as? StoreError else { return false }
      return error.code == .cannotMigrate && error.suggestion.contains("Sync once")
    }
    #expect(try Data(contentsOf: url) == bytes)
  }

  @Test("A to-many relationship becomes to-one where no object has several, and to-many again")
  func toOne() throws {
    func model(_ note: String, toMany: Bool, inverseToMany: Bool) -> ManagedObjectModel {
      let person = EntityDescription("Person")
      person.properties = [
        AttributeDescription("name", .string), AttributeDescription(note, .string),
        RelationshipDescription("homes", to: "Place", inverse: "people", toMany: toMany),
      ]
      let place = EntityDescription("Place")
      place.properties = [
        RelationshipDescription("people", to: "Person", inverse: "homes", toMany: inverseToMany)
      ]
      let city = EntityDescription("City")
      city.superentityName = "Place"
      return ManagedObjectModel(entities: [person, place, city])
    }
    let directory = try TemporaryDirectory()
    let url = directory.file("homes.sqlite")
    var store = try PersistentStore.open(
      url: url, model: model("one", toMany: true, inverseToMany: true))
    let people = try ["a", "b"].map { try store.insert("Person", ["name": .string($0)]) }
    let city = try store.insert("City")
    func homes() throws -> RelationshipDescription {
      try #require(store.model.entitiesByName["Person"]?.relationshipsByName["homes"])
    }
    var relationship = try homes()
    _ = try store.write(TransactionInfo()) { transaction in
      for person in people { try transaction.addPairs(relationship, person, [city]) }
    }
    store.close()
    store = try PersistentStore.open(
      url: url, model: model("two", toMany: false, inverseToMany: true), options: Self.migrating)
    #expect(try store.check().findings == [])
    for person in people { #expect(try store.values(person)?["homes"] == .reference(city)) }
    store.close()
    #expect {
      _ = try PersistentStore.open(
        url: url, model: model("three", toMany: false, inverseToMany: false),
        options: Self.migrating)
    } throws: { "\($0)".contains("Place.people") }
    store = try PersistentStore.open(
      url: url, model: model("four", toMany: true, inverseToMany: true), options: Self.migrating)
    relationship = try homes()
    for person in people {
      #expect(try store.read { try $0.toManyKeys(of: person, relationship) } == [city])
    }
    #expect(try store.check().findings == [])
  }
}
