import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Programs of before and after a change of the model on one zone, and stores that are migrated while something waits.
struct MigratedFleetTests {
  struct End {
    var isToMany = true
    var isOrdered = false

    static var many: Self { Self() }
    static var list: Self { Self(isOrdered: true) }
    static var one: Self { Self(isToMany: false) }
  }

  /// A relationship before and after a change: the ends at articles and at tags, and what articles are called then.
  struct Change {
    var before: (tags: End, articles: End)
    var name = "Article"
    var after: (tags: End, articles: End)
  }

  /// - Parameters:
  ///   - article: what articles are called: where it is not their first name, tags come first.
  ///   - tags: the end at articles.
  ///   - articles: the end at tags.
  private func model(
    _ article: String = "Article", _ tags: End = .many, _ articles: End = .many
  ) -> ManagedObjectModel {
    let item = EntityDescription(article)
    if article != "Article" { item.renamingIdentifier = "Article" }
    item.properties = [
      AttributeDescription("name", .string),
      AttributeDescription(
        "stock", .integer64, defaultValue: .integer(0), conflictPolicy: .counter),
      RelationshipDescription(
        "tags", to: "Tag", inverse: "articles", toMany: tags.isToMany, isOrdered: tags.isOrdered),
    ]
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "articles", to: article, inverse: "tags", toMany: articles.isToMany,
        isOrdered: articles.isOrdered),
    ]
    return ManagedObjectModel(entities: [item, tag])
  }

  private func relate(_ article: UUID, _ tags: [UUID], _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: article))
      let tags = try tags.map { try #require(try context.object(withIdentity: $0)) }
      let isToMany = object.entity.relationshipsByName["tags"]?.isToMany == true
      try object.setValue(isToMany ? tags as Any : tags.first as Any, forKey: "tags")
    }
  }

  private func insert(_ entity: String, _ count: Int, _ replica: TestReplica) throws -> [UUID] {
    try (0..<count).map { try replica.insert(entity, ["name": .string("\($0)")]) }
  }

  /// The tags of a first article and of a second, as programs of before and after a renaming set them at once; nil for none.
  enum AtOnce: CaseIterable {
    case addAndClear, clearAndSet, set, take

    fileprivate func edit(
      _ articles: [UUID], _ tags: [UUID], _ relate: (UUID, [UUID], Int) throws -> Void
    ) throws {
      switch self {
      case .addAndClear:
        try relate(articles[0], [tags[0], tags[1]], 0)
        try relate(articles[0], [], 1)
      case .clearAndSet:
        try relate(articles[0], [], 0)
        try relate(articles[0], [tags[1], tags[0]], 1)
      case .set:
        try relate(articles[0], [tags[1]], 0)
        try relate(articles[0], [tags[2]], 1)
      case .take:
        try relate(articles[1], [tags[0]], 0)
        try relate(articles[0], [tags[0], tags[2]], 1)
      }
    }
  }

  @Test(
    "A pair that programs of before and after a renaming change at once is one everywhere",
    arguments: AtOnce.allCases, [[true, true], [true, false], [false, false], [false, true]])
  func atOnce(_ edit: AtOnce, order: [Bool]) async throws {
    let end = order[0] ? End.one : End.many
    let (old, new) = (model("Article", end, end), model("Ware", end, end))
    var fleet = try await Fleet(3, old)
    let tags = try insert("Tag", 3, fleet[0])
    let articles = try insert("Article", 2, fleet[0])
    try relate(articles[0], [tags[0]], fleet[0])
    try await fleet.sync(0, 1, 2)
    try await fleet.migrate(1, to: new)
    try await fleet.sync(1)
    try edit.edit(articles, tags) { try relate($0, $1, fleet[$2]) }
    for number in order[1] ? [0, 1] : [1, 0] { _ = try? await fleet[number].push() }
    try await fleet.sync(0, 1, 2, 0, 1, 2)
    #expect(try fleet[0].export == fleet[2].export, "programs of before")
    for number in [0, 2] { try await fleet.migrate(number, to: new) }
    try await fleet.joinBothWays(new)
    try await fleet.world.settle()
  }

  @Test(
    "What is said under an entity's name of before comes after what was parked under its name of now"
  )
  func renamedEntity() async throws {
    var fleet = try await Fleet(3, model())
    let articles = try insert("Article", 1, fleet[0])
    let tags = try insert("Tag", 2, fleet[0])
    try relate(articles[0], [tags[0]], fleet[0])
    try await fleet.sync(0, 1, 2)
    try await fleet.migrate(0, to: model("Ware"))
    try fleet[0].set(articles[0], ["name": .string("of now"), "stock": .integer(5)])
    try await fleet.sync(0, 1, 2)
    fleet.world.clock.advance()
    try fleet[1].set(articles[0], ["name": .string("of before, and later")])
    try relate(articles[0], [tags[1]], fleet[1])
    try await fleet.sync(1, 0, 2)
    for number in [1, 2] { try await fleet.migrate(number, to: model("Ware")) }
    try await fleet.joinBothWays(model("Ware"))
    try await fleet.sync(1, 2, 0, 3, 4)
    try fleet.expect(.string("of before, and later"), "name", of: articles[0])
    try fleet.expect(.integer(5), "stock", of: articles[0])
    try await fleet.world.settle()
  }

  @Test(
    "An edit under an entity's name of before, of what was deleted under its name of now, is told")
  func renamedAndDeleted() async throws {
    var fleet = try await Fleet(2, model())
    let article = try insert("Article", 1, fleet[0])[0]
    try await fleet.sync(0, 1)
    try await fleet.migrate(0, to: model("Ware"))
    try fleet[0].delete(article)
    try await fleet.sync(0, 1)
    fleet.world.clock.advance()
    try fleet[1].set(article, ["name": .string("edited of what is deleted")])
    try await fleet.sync(1, 0)
    try await fleet.migrate(1, to: model("Ware"))
    try await fleet.sync(1, 0)
    #expect(try !fleet[1].exists(article))
    #expect(try fleet[1].conflicts.map(\.object) == [article])
    try await fleet.world.settle()
  }

  static let changes: [Change] = [
    Change(before: (.many, .many), after: (.many, .list)),
    Change(before: (.many, .many), after: (.list, .many)),
    Change(before: (.many, .many), name: "Ware", after: (.list, .many)),
    Change(before: (.list, .many), after: (.many, .list)),
    Change(before: (.list, .many), after: (.many, .many)),
    Change(before: (.list, .many), name: "Ware", after: (.many, .many)),
    Change(before: (.many, .list), after: (.many, .many)),
    Change(before: (.list, .list), name: "Ware", after: (.list, .list)),
    Change(before: (.list, .many), after: (.list, .list)),
    Change(before: (.one, .list), after: (.many, .list)),
    Change(before: (.one, .many), after: (.many, .list)),
  ]

  @Test(
    "Where the order of a relationship comes, goes or is said from its other end, all have one",
    arguments: Array(0..<11), [false, true])
  func orders(number: Int, isPending: Bool) async throws {
    let change = Self.changes[number]
    var fleet = try await Fleet(2, model("Article", change.before.tags, change.before.articles))
    let tags = try insert("Tag", 3, fleet[0])
    // Their rows have another order in each store.
    let articles = try (0..<3).map {
      try fleet[$0 % 2].insert("Article", ["name": .string("\($0)")])
    }
    try await fleet.sync(1, 0)
    let isOne = !change.before.tags.isToMany
    for (number, article) in articles.enumerated().reversed() {
      try relate(article, isOne ? [tags[0]] : [tags[2], tags[number], tags[0]], fleet[0])
    }
    try await fleet.sync(0, 1)
    if isPending {
      try relate(articles[1], isOne ? [tags[1]] : [tags[0], tags[1]], fleet[1])
      try relate(articles[2], [tags[1]], fleet[1])
    }
    let model = model(change.name, change.after.tags, change.after.articles)
    for number in 0..<2 { try await fleet.migrate(number, to: model) }
    try await fleet.world.syncAll()
    try await fleet.joinBothWays(model)
    try await fleet.world.settle()
  }

  @Test(
    "What is moved or added in a list before the first sync with its order stays where it was put",
    arguments: [false, true])
  func reordered(isNew: Bool) async throws {
    var fleet = try await Fleet(2, model("Article", .one, .many))
    let tag = try insert("Tag", 1, fleet[0])[0]
    for article in try insert("Article", 5, fleet[0]).reversed() {
      try relate(article, [tag], fleet[0])
    }
    try await fleet.sync(0, 1)
    let list = model("Article", .one, .list)
    for number in 0..<2 { try await fleet.migrate(number, to: list) }
    var wanted = try articles(tag, fleet[0])
    wanted.insert(isNew ? try insert("Article", 1, fleet[0])[0] : wanted.removeLast(), at: 0)
    try fleet[0].save { context in
      let objects = try wanted.map { try #require(try context.object(withIdentity: $0)) }
      try context.object(withIdentity: tag)?.setValue(objects, forKey: "articles")
    }
    try await fleet.sync(0, 1)
    try await fleet.joinBothWays(list)
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      #expect(try articles(tag, replica) == wanted, "\(replica.name)")
    }
  }

  /// A tag's articles, in their order.
  private func articles(_ tag: UUID, _ replica: TestReplica) throws -> [UUID] {
    try replica.store.read { transaction in
      let key = try #require(try transaction.key(of: tag))
      let entity = try #require(replica.store.schema.entity(numbered: key.entity))
      let list = try #require(entity.relationshipsByName["articles"])
      return try transaction.toManyKeys(of: key, list).map { try transaction.identity(of: $0) }
    }
  }

  @Test("What goes over to another end with the next sync waits to be sent, and status says so")
  func status() async throws {
    var fleet = try await Fleet(2, model())
    let tag = try insert("Tag", 1, fleet[0])[0]
    let article = try insert("Article", 1, fleet[0])[0]
    try await fleet.sync(0, 1)
    try relate(article, [tag], fleet[0])
    #expect(try fleet[0].status.pending.objects == 1)
    for number in 0..<2 { try await fleet.migrate(number, to: model("Ware")) }
    #expect(try fleet[0].status.pending.objects == 1)
    #expect(try fleet[1].status.pending.objects == 0)
    #expect(throws: SyncError.self) { try SyncEngine.unenroll(store: fleet[0].store) }
    #expect(try SyncEngine.check(fleet[0].store).findings == [])
    try await fleet.world.settle()
    #expect(try fleet[1].elements(article, "tags") == [tag])
  }

  private struct Crash: Error {}

  /// What became of the change set that was sent and not answered.
  enum Fate: CaseIterable { case taken, lost, overtaken }

  @Test(
    "A change set that is unanswered when the store is migrated has one effect",
    arguments: Fate.allCases, [false, true])
  func unanswered(_ fate: Fate, isOne: Bool) async throws {
    let end = isOne ? End.one : End.many
    let (old, new) = (model("Article", end, end), model("Ware", end, end))
    var fleet = try await Fleet(2, old)
    let tags = try insert("Tag", 2, fleet[0])
    let hat = try fleet[0].insert("Article", ["name": .string("hat"), "stock": .integer(1)])
    try await fleet.sync(0, 1)
    try fleet[0].set(hat, ["stock": .integer(3), "name": .string("cap")])
    try relate(hat, [tags[0]], fleet[0])
    let coat = try fleet[0].insert("Article", ["name": .string("coat"), "stock": .integer(7)])
    try relate(coat, [tags[1]], fleet[0])
    let backup = fleet.world.zone.log
    let hook = HookedTransport(fleet.world.zone)
    hook.afterPush = { throw Crash() }
    let engine = try await fleet[0].engine(through: hook)
    await #expect(throws: Crash.self) { try await engine.sync() }
    await engine.close()
    if fate != .taken { fleet.world.zone.putBack(backup) }
    try fleet[0].set(hat, ["stock": .integer(8)])
    if fate == .overtaken {
      try fleet[1].set(hat, ["stock": .integer(11), "name": .string("crown")])
      try await fleet.sync(1)
    }
    try await fleet.migrate(0, to: new)
    try await fleet.sync(0, 1)
    try await fleet.migrate(1, to: new)
    try await fleet.joinBothWays(new)
    try await fleet.world.settle()
    try fleet.expect(.integer(fate == .overtaken ? 18 : 8), "stock", of: hat)
    try fleet.expect(.integer(7), "stock", of: coat)
    for replica in fleet.world.replicas {
      for (article, tag) in zip([hat, coat], tags) {
        let found =
          try isOne
          ? Set([replica.reference(article, "tags")].compactMap(\.self))
          : replica.elements(article, "tags")
        #expect(found == [tag], "\(replica.name)")
      }
    }
  }

  @Test("What is parked of a log that is gone, and said from the other end by now, is offered")
  func formerLog() async throws {
    let (item, tag) = (EntityDescription("Article"), EntityDescription("Tag"))
    for entity in [item, tag] { entity.properties = [AttributeDescription("name", .string)] }
    var fleet = try await Fleet(1, model())
    try await fleet.join(ManagedObjectModel(entities: [item, tag]), "narrow")
    let red = try insert("Tag", 1, fleet[0])[0]
    let hat = try insert("Article", 1, fleet[0])[0]
    try await fleet.sync(0, 1)
    try relate(hat, [red], fleet[0])
    try await fleet.sync(0, 1)
    fleet.world.zone.renew(intent: .offer)
    try await fleet.sync(1)
    #expect(try SyncEngine.parked(of: fleet[1].store).map(\.code) == ["former-log"])
    await fleet.world.replicas.removeFirst().engine.close()
    try await fleet.migrate(0, to: model("Ware"))
    try await fleet.join(model("Ware"), "late")
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      #expect(try replica.elements(hat, "tags") == [red], "\(replica.name)")
      #expect(try SyncEngine.parked(of: replica.store).isEmpty, "\(replica.name)")
    }
  }

  @Test("A reference to what an older model does not know is there once that does")
  func unknownTarget() async throws {
    func model(_ isNewer: Bool) -> ManagedObjectModel {
      let (item, tag) = (EntityDescription("Item"), EntityDescription("Tag"))
      item.properties = [
        AttributeDescription("name", .string),
        RelationshipDescription("marks", to: "Tag", inverse: "items", toMany: true),
        RelationshipDescription("heads", to: "Tag", inverse: "head", toMany: true),
      ]
      tag.properties = [
        AttributeDescription("name", .string),
        RelationshipDescription("head", to: "Item", inverse: "heads"),
        RelationshipDescription("items", to: "Item", inverse: "marks", toMany: true),
      ]
      guard isNewer else { return ManagedObjectModel(entities: [item, tag]) }
      let special = EntityDescription("Special")
      special.superentityName = "Item"
      return ManagedObjectModel(entities: [item, tag, special])
    }
    var fleet = try await Fleet(1, model(true))
    try await fleet.join(model(false), "older")
    let tags = try insert("Tag", 2, fleet[0])
    try await fleet.sync(0, 1)
    let special = try insert("Special", 1, fleet[0])[0]
    for (number, tag) in tags.enumerated() {
      if number > 0 { try await fleet.sync(0, 1) }
      try fleet[0].save { context in
        let object = try #require(try context.object(withIdentity: tag))
        let item = try #require(try context.object(withIdentity: special))
        object["head"] = item
        object["items"] = Set([item])
      }
    }
    try await fleet.sync(0, 1)
    try await fleet.migrate(1, to: model(true))
    try await fleet.joinBothWays(model(true))
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      for tag in tags {
        #expect(try replica.reference(tag, "head") == special, "\(replica.name)")
        #expect(try replica.elements(tag, "items") == [special], "\(replica.name)")
      }
    }
  }
}
