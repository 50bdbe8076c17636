import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What a migration by a mapping records of relationships that are not columns of their object: pairs and orders.
struct MappedRelationshipTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("people.sqlite") }

  init() throws { directory = try TemporaryDirectory() }

  private static func model(_ version: Int) throws -> ManagedObjectModel {
    let person = EntityDescription("Person")
    person.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("friends", to: "Person", inverse: "friends", toMany: true),
      RelationshipDescription("books", to: "Book", inverse: "owner", toMany: true, isOrdered: true),
      RelationshipDescription("tags", to: "Tag", inverse: "people", toMany: true, isOrdered: true),
    ]
    let book = EntityDescription("Book")
    book.properties = [
      AttributeDescription("title", .string),
      RelationshipDescription("owner", to: "Person", inverse: "books"),
    ]
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("people", to: "Person", inverse: "tags", toMany: true),
    ]
    if version > 1 { person.properties += [AttributeDescription("nick", .string)] }
    let model = ManagedObjectModel(entities: [person, book, tag])
    try model.freeze()
    return model
  }

  private struct Sample {
    var people: [ObjectKey]
    var books: [ObjectKey]
    var tags: [ObjectKey]
  }

  /// Two people: friends, each with the three books and tags, in an order of its own.
  private func fill() throws -> Sample {
    let store = try PersistentStore.open(url: url, model: Self.model(1))
    defer { store.close() }
    let people = try ["Ann", "Bob"].map { try store.insert("Person", ["name": .string($0)]) }
    let books = try (0..<6).map {
      try store.insert(
        "Book", ["title": .string("\($0)"), "owner": .reference(people[$0 < 3 ? 0 : 1])])
    }
    let tags = try (0..<3).map { try store.insert("Tag", ["name": .string("\($0)")]) }
    let names = try #require(store.model.entitiesByName["Person"]?.relationshipsByName)
    _ = try store.write(TransactionInfo(author: "app")) { transaction in
      try transaction.setSyncing(true)
      try transaction.addPairs(#require(names["friends"]), people[0], [people[1]])
      for person in people {
        let own = person == people[0] ? books[..<3] : books[3...]
        try transaction.setOrder(#require(names["books"]), person, own.reversed())
        try transaction.addPairs(#require(names["tags"]), person, tags)
        try transaction.setOrder(#require(names["tags"]), person, [tags[1], tags[2], tags[0]])
      }
    }
    return Sample(people: people, books: books, tags: tags)
  }

  private func places(_ store: PersistentStore) throws -> [[SQLiteValue]] {
    try store.read { transaction throws in
      let join = try #require(
        store.model.entitiesByName["Person"]?.relationshipsByName["tags"]
          .flatMap { store.schema.joinTable(for: $0) })
      let order = try #require(join.destinationOrderColumn)
      return try transaction.connection.rows(
        """
        SELECT Z_PK, ZOWNER, Z_FOK_OWNER FROM ZBOOK UNION ALL
        SELECT "\(join.sourceColumn)", "\(join.destinationColumn)", "\(order)" FROM "\(join.name)"
        ORDER BY 1, 2
        """)
    }
  }

  /// - Returns: The store, and what the migration recorded, sorted.
  private func migrated(
    _ policy: EntityMigrationPolicy.Type?
  ) throws -> (PersistentStore, [String]) {
    var mapping = try MappingModel.inferredMappingModel(
      forSourceModel: Self.model(1), destinationModel: Self.model(2))
    if let policy {
      EntityMigrationPolicy.register(policy)
      mapping["Person"]?.entityMigrationPolicyClassName = String(reflecting: policy)
    }
    try PersistentStore.migrate(at: url, to: Self.model(2), mapping: mapping)
    let store = try PersistentStore.open(url: url, model: Self.model(2))
    let history = try store.fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
    let changes = history.filter { $0.author == "migration" }.flatMap { $0.changes ?? [] }
    return (
      store,
      changes.map {
        "\($0.changeType) \($0.changedObjectID?.uriRepresentation().lastPathComponent ?? "") "
          + "\($0.entityName) \(($0.updatedProperties ?? []).sorted().joined(separator: " "))"
      }.sorted()
    )
  }

  @Test("Pairs that a policy took away are changes of the ends that record them")
  func pairs() throws {
    let sample = try fill()
    let (store, changes) = try migrated(LonelyPolicy.self)
    #expect(changes == ["update p1 Person friends", "update p2 Person friends"])
    let names = try #require(store.model.entitiesByName["Person"]?.relationshipsByName)
    try store.read { transaction throws in
      #expect(try transaction.toManyKeys(of: sample.people[0], #require(names["friends"])) == [])
    }
    #expect(try store.check().isSound)
  }

  @Test("Who keeps the orders keeps the places, and has recorded nothing")
  func sameOrder() throws {
    _ = try fill()
    let before = try PersistentStore.open(url: url)
    let former = try places(before)
    before.close()
    let (store, changes) = try migrated(nil)
    #expect(changes == [])
    #expect(try places(store) == former)
  }

  @Test("Another order is a change of the objects that moved, and of a pair's recorded end")
  func otherOrder() throws {
    let sample = try fill()
    let (store, changes) = try migrated(TurningPolicy.self)
    #expect(changes.filter { $0.contains("Person") } == ["update p1 Person tags"])
    let moved = changes.filter { $0.contains("Book") }
    #expect(moved.count >= 2 && moved.allSatisfy { $0.hasSuffix("Book owner") })
    #expect(moved.allSatisfy { text in (1...3).contains { text.contains("p\($0) ") } })
    let names = try #require(store.model.entitiesByName["Person"]?.relationshipsByName)
    try store.read { transaction throws in
      #expect(
        try transaction.toManyKeys(of: sample.people[0], #require(names["books"]))
          == Array(sample.books[..<3]))
      #expect(
        try transaction.toManyKeys(of: sample.people[1], #require(names["books"]))
          == sample.books[3...].reversed())
      #expect(
        try transaction.toManyKeys(of: sample.people[0], #require(names["tags"]))
          == [sample.tags[0], sample.tags[2], sample.tags[1]])
    }
    #expect(try store.check().isSound)
  }
}

private typealias Objects = ToMany<ManagedObject, ManagedObject>

/// Nobody has friends any more.
private final class LonelyPolicy: EntityMigrationPolicy {
  override func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createRelationships(forDestination: destination, in: mapping, manager: manager)
    destination[Objects("friends")] = []
  }
}

/// Ann has her books and tags the other way round.
private final class TurningPolicy: EntityMigrationPolicy {
  override func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createRelationships(forDestination: destination, in: mapping, manager: manager)
    guard destination["name"] as? String == "Ann" else { return }
    for name in ["books", "tags"] {
      destination[Objects(name)] = RelatedObjects(destination[Objects(name)].array.reversed())
    }
  }
}
