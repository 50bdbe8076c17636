import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Models that say a relationship from another end than the model of before, or as another kind: entities were renamed, an
/// order came or went.
struct OtherEndTests {
  private struct End {
    var isToMany = true
    var isOrdered = false
  }

  /// - Parameters:
  ///   - article: what articles are called: where it is not their first name, tags come first.
  ///   - tags: the end at articles.
  ///   - articles: the end at tags.
  private func model(
    _ article: String = "Article", tags: End = End(), articles: End = End()
  ) -> ManagedObjectModel {
    let item = EntityDescription(article)
    if article != "Article" { item.renamingIdentifier = "Article" }
    item.properties = [
      AttributeDescription("name", .string),
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

  private struct Stage {
    var world: World
    var article = UUID()
    var red = UUID()
    var blue = UUID()
    /// Their folders go with them.
    var former: [TestReplica] = []
  }

  /// Two replicas in step, with an article that has the red tag.
  private func stage(_ model: ManagedObjectModel) async throws -> Stage {
    var stage = Stage(world: try await World(0))
    for name in ["a", "b"] {
      stage.world.replicas.append(
        try await TestReplica(
          name, zone: stage.world.zone, clock: stage.world.clock, model: model))
    }
    let first = stage.world[0]
    stage.red = try first.insert("Tag", ["name": .string("red")])
    stage.blue = try first.insert("Tag", ["name": .string("blue")])
    stage.article = try first.insert("Article", ["name": .string("hat")])
    try relate(stage.article, [stage.red], first)
    try await stage.world.syncAll()
    return stage
  }

  private func relate(_ article: UUID, _ tags: [UUID], _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: article))
      let tags = try tags.map { try #require(try context.object(withIdentity: $0)) }
      let isToMany = object.entity.relationshipsByName["tags"]?.isToMany == true
      if isToMany {
        try object.setValue(tags, forKey: "tags")
      } else {
        try object.setValue(tags.first, forKey: "tags")
      }
    }
  }

  private func migrate(
    _ number: Int, _ stage: inout Stage, to model: ManagedObjectModel
  ) async throws {
    let replica = stage.world[number]
    await replica.engine.close()
    replica.store.close()
    stage.former.append(replica)
    stage.world.replicas[number] = try await TestReplica(
      replica.name, zone: stage.world.zone, clock: stage.world.clock, model: model,
      file: replica.store.url)
  }

  private func join(_ stage: inout Stage, _ model: ManagedObjectModel) async throws {
    stage.world.replicas.append(
      try await TestReplica(
        "late", zone: stage.world.zone, clock: stage.world.clock, model: model))
  }

  private func expectEverywhere(
    _ tags: Set<UUID>, of article: UUID? = nil, _ stage: Stage,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    for replica in stage.world.replicas {
      var found: Set<UUID> = []
      for tag in [stage.red, stage.blue]
      where try replica.holds(article ?? stage.article, at: tag) {
        found.insert(tag)
      }
      #expect(found == tags, "\(replica.name)", sourceLocation: location)
      #expect(
        try SyncEngine.parked(of: replica.store).isEmpty, "\(replica.name)",
        sourceLocation: location)
    }
  }

  enum Edit: CaseIterable { case adds, removes, moves, makes }

  /// - Returns: the article that was edited, with the tags that it has then.
  private func edit(_ edit: Edit, _ stage: Stage) throws -> (UUID, Set<UUID>) {
    let first = stage.world[0]
    let tags: [UUID]
    var article = stage.article
    switch edit {
    case .adds: tags = [stage.red, stage.blue]
    case .removes: tags = []
    case .moves: tags = [stage.blue]
    case .makes:
      article = try first.insert("Article", ["name": .string("coat")])
      tags = [stage.blue]
    }
    try relate(article, tags, first)
    return (article, Set(tags))
  }

  @Test(
    "What waits to be sent of a set goes over to the end that says it once its entity is renamed",
    arguments: Edit.allCases)
  func renamed(_ edit: Edit) async throws {
    var stage = try await stage(model())
    let (article, tags) = try self.edit(edit, stage)
    for number in 0..<2 { try await migrate(number, &stage, to: model("Ware")) }
    try await join(&stage, model("Ware"))
    try await stage.world.settle()
    try expectEverywhere(tags, of: article, stage)
    if edit == .makes { try expectEverywhere([stage.red], stage) }
    // It goes on from there.
    try relate(stage.article, [stage.blue], stage.world[2])
    try await stage.world.settle()
    try expectEverywhere([stage.blue], stage)
  }

  @Test("Programs of before and after a renaming hear each other")
  func together() async throws {
    var stage = try await stage(model())
    try await migrate(1, &stage, to: model("Ware"))
    try relate(stage.article, [stage.red, stage.blue], stage.world[0])
    for number in [0, 1] { try await stage.world[number].sync() }
    try expectEverywhere([stage.red, stage.blue], stage)
    try relate(stage.article, [stage.blue], stage.world[1])
    for number in [1, 0] { try await stage.world[number].sync() }
    try expectEverywhere([stage.blue], stage)
  }

  @Test("A store that enrols anew after a renaming keeps its sets")
  func anew() async throws {
    var stage = try await stage(model())
    for number in 0..<2 { try await migrate(number, &stage, to: model("Ware")) }
    try await stage.world.syncAll()
    let first = stage.world[0]
    await first.engine.close()
    try SyncEngine.enroll(
      store: first.store, server: MemoryZone.url, zone: stage.world.zone.name,
      info: try await stage.world.zone.zoneInfo(), anew: true)
    await first.restart()
    try await stage.world.settle()
    try expectEverywhere([stage.red], stage)
  }

  @Test(
    "What was not sent when a store left its zone is said from the other end when it comes back",
    arguments: Edit.allCases)
  func leftUnsent(_ edit: Edit) async throws {
    var stage = try await stage(model())
    let (article, tags) = try self.edit(edit, stage)
    let first = stage.world[0]
    await first.engine.close()
    try SyncEngine.unenroll(store: first.store, leavingUnsent: true)
    for number in 0..<2 { try await migrate(number, &stage, to: model("Ware")) }
    try await stage.world.settle()
    try expectEverywhere(tags, of: article, stage)
    if edit == .makes { try expectEverywhere([stage.red], stage) }
    for replica in stage.world.replicas {
      #expect(try replica.conflicts == [], "\(replica.name)")
      #expect(try SyncEngine.check(replica.store).findings == [], "\(replica.name)")
    }
  }

  @Test(
    "A partner whose entity is renamed is told from the other end",
    arguments: [Edit.moves, .removes])
  func partner(_ edit: Edit) async throws {
    let one = End(isToMany: false)
    var stage = try await stage(model(tags: one, articles: one))
    let (_, tags) = try self.edit(edit, stage)
    let new = model("Ware", tags: one, articles: one)
    for number in 0..<2 { try await migrate(number, &stage, to: new) }
    try await join(&stage, new)
    try await stage.world.settle()
    try expectEverywhere(tags, stage)
  }

  @Test("What waits to be sent of a reference that is a set by now is told as a move")
  func becameSet() async throws {
    var stage = try await stage(model(tags: End(isToMany: false)))
    try relate(stage.article, [stage.blue], stage.world[0])
    for number in 0..<2 { try await migrate(number, &stage, to: model()) }
    try await join(&stage, model())
    try await stage.world.settle()
    try expectEverywhere([stage.blue], stage)
  }

  @Test(
    "What waits to be sent of a set that is a reference by now is sent", arguments: [false, true])
  func becameReference(isOrdered: Bool) async throws {
    let articles = End(isOrdered: isOrdered)
    var stage = try await stage(model(articles: articles))
    let other = try stage.world[0].insert("Article", ["name": .string("coat")])
    try await stage.world.syncAll()
    try relate(other, [stage.blue], stage.world[0])
    let new = model(tags: End(isToMany: false), articles: articles)
    for number in 0..<2 { try await migrate(number, &stage, to: new) }
    for _ in 0..<2 { try await stage.world.syncAll() }
    try expectEverywhere([stage.red], stage)
    try expectEverywhere([stage.blue], of: other, stage)
    for replica in stage.world.replicas {
      #expect(try SyncEngine.check(replica.store).findings == [], "\(replica.name)")
    }
  }

  @Test("What was said of a part of an entry since, also from here, stands when the model knows it")
  func saidSince() async throws {
    let old = model(tags: End(isToMany: false))
    var stage = try await stage(old)
    let other = try stage.world[0].insert("Article", ["name": .string("coat")])
    try await stage.world.syncAll()
    try await migrate(1, &stage, to: model())
    try relate(other, [stage.red], stage.world[1])
    for number in [1, 0] { try await stage.world[number].sync() }
    try relate(other, [stage.blue], stage.world[0])
    for number in [0, 1] { try await stage.world[number].sync() }
    try await migrate(0, &stage, to: model())
    try await join(&stage, model())
    try await stage.world.settle()
    try expectEverywhere([stage.blue], of: other, stage)
  }

  @Test("A part of an entry is not of an object that was deleted and made anew since")
  func madeAnew() async throws {
    func model(_ hasNote: Bool) -> ManagedObjectModel {
      let item = EntityDescription("Item")
      item.properties = [AttributeDescription("name", .string)]
      if hasNote { item.properties.append(AttributeDescription("note", .string)) }
      return ManagedObjectModel(entities: [item])
    }
    var stage = Stage(world: try await World(0))
    for (name, hasNote) in [("a", false), ("b", true)] {
      stage.world.replicas.append(
        try await TestReplica(
          name, zone: stage.world.zone, clock: stage.world.clock, model: model(hasNote)))
    }
    let item = try stage.world[0].insert("Item", identity: UUID())
    try await stage.world.syncAll()
    try stage.world[1].set(item, ["note": .string("of the first")])
    for number in [1, 0] { try await stage.world[number].sync() }
    try stage.world[0].delete(item)
    try await stage.world.syncAll()
    _ = try stage.world[0].insertOrRemake("Item", ["name": .string("two")], identity: item)
    try await stage.world.syncAll()
    try await migrate(0, &stage, to: model(true))
    try await stage.world.settle()
    for replica in stage.world.replicas {
      #expect(try replica.value(item, "note") == .null, "\(replica.name)")
    }
  }
}

extension TestReplica {
  /// Whether a tag has an article, whichever kinds the relationship has.
  fileprivate func holds(_ article: UUID, at tag: UUID) throws -> Bool {
    try store.read { transaction in
      guard let found = try transaction.key(of: tag), let other = try transaction.key(of: article),
        let key = try transaction.concreteKey(root: found),
        let relationship = store.schema.entity(numbered: key.entity)?
          .relationshipsByName["articles"]
      else { return false }
      guard relationship.isToMany else { return try reference(tag, "articles") == article }
      return try transaction.toManyKeys(of: key, relationship).contains { $0.key == other.key }
    }
  }
}
