import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// What an engine keeps beside the rows of a store that goes over to another model: bases, what edits added, references to what is
/// deleted, what lost a conflict.
struct MigratedKeyTests {
  private func things(
    _ type: AttributeType = .integer64, policy: ConflictPolicy? = nil, isUnique: Bool = false
  ) -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    thing.properties = [
      AttributeDescription("name", .string),
      AttributeDescription("size", type, conflictPolicy: policy),
    ]
    if isUnique { thing.uniquenessConstraints = [["size"]] }
    return ManagedObjectModel(entities: [thing])
  }

  @Test(
    "What is pending of a unique key goes back to what the zone has, also where it is one only since"
  )
  func newKey() async throws {
    var fleet = try await Fleet(2, things())
    let ids = try (1...3).map {
      try fleet[0].insert("Thing", ["size": .integer(Int64($0))])
    }
    try await fleet.sync(0, 1)
    try fleet[0].set(ids[2], ["size": .integer(9)])
    try fleet[1].set(ids[1], ["size": .integer(9)])
    try await fleet.sync(0)
    try await fleet.migrate(1, to: things(isUnique: true))
    try await fleet.sync(1)
    #expect(try fleet[1].value(ids[1], "size") == .integer(2))
    #expect(try fleet[1].conflicts.contains { $0.object == ids[1] && $0.property == "size" })
    try await fleet.migrate(0, to: things(isUnique: true))
    try await fleet.world.settle()
    try fleet.expect(.integer(2), "size", of: ids[1])
    try fleet.expect(.integer(9), "size", of: ids[2])
  }

  @Test(
    "What is pending of a reference goes back to what the zone has, where it is in a tree since")
  func newTree() async throws {
    func model(isTree: Bool) -> ManagedObjectModel {
      let node = EntityDescription("Node")
      let parent = RelationshipDescription("parent", to: "Node", inverse: "children")
      if isTree { parent.userInfo = [RelationshipDescription.treeKey: "1"] }
      node.properties = [
        parent, RelationshipDescription("children", to: "Node", inverse: "parent", toMany: true),
      ]
      return ManagedObjectModel(entities: [node])
    }
    func move(_ node: UUID, under parent: UUID, _ replica: TestReplica) throws {
      try replica.save { context in
        let object = try #require(try context.object(withIdentity: node))
        let target = try #require(try context.object(withIdentity: parent))
        try object.setValue(target, forKey: "parent")
      }
    }
    var fleet = try await Fleet(2, model(isTree: false))
    let nodes = try (0..<3).map { _ in try fleet[0].insert("Node") }
    for node in nodes[1...] { try move(node, under: nodes[0], fleet[0]) }
    try await fleet.sync(0, 1)
    try move(nodes[1], under: nodes[2], fleet[1])
    try move(nodes[2], under: nodes[1], fleet[0])
    try await fleet.sync(1)
    for number in 0..<2 {
      try await fleet.migrate(number, to: model(isTree: true))
      try await fleet.sync(number)
    }
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      #expect(try replica.reference(nodes[1], "parent") == nodes[2], "\(replica.name)")
      #expect(try replica.reference(nodes[2], "parent") == nodes[0], "\(replica.name)")
    }
  }

  @Test("A count whose attribute gets a wider type meanwhile has all that was added")
  func widerCount() async throws {
    let (old, new) = (things(policy: .counter), things(.decimal, policy: .counter))
    var fleet = try await Fleet(2, old)
    let id = try fleet[0].insert("Thing", ["size": .integer(10)])
    try await fleet.sync(0, 1)
    try fleet[0].set(id, ["size": .integer(15)])
    try fleet[1].set(id, ["size": .integer(13)])
    try await fleet.sync(1)
    try await fleet.migrate(0, to: new)
    try await fleet.sync(0, 1)
    try await fleet.migrate(1, to: new)
    try await fleet.joinBothWays(new)
    try await fleet.world.settle()
    try fleet.expect(.decimal(18), "size", of: id)
  }

  @Test("A unique key with a wider type goes back, and comes back, as one of that")
  func widerKey() async throws {
    let new = things(.decimal, isUnique: true)
    var fleet = try await Fleet(2, things(isUnique: true))
    let ids = try (1...3).map {
      try fleet[0].insert("Thing", ["size": .integer(Int64($0))])
    }
    try await fleet.sync(0, 1)
    try fleet[1].set(ids[2], ["size": .integer(9)])
    try fleet[0].set(ids[1], ["size": .integer(9)])
    try await fleet.sync(1)
    try await fleet.migrate(0, to: new)
    try await fleet.sync(0)
    #expect(try fleet[0].value(ids[1], "size") == .decimal(2))
    #expect(try SyncEngine.parked(of: fleet[0].store).isEmpty)
    try await fleet.migrate(1, to: new)
    try await fleet.world.settle()
    try fleet.expect(.decimal(2), "size", of: ids[1])
  }

  @Test(
    "A value that lost a conflict before its attribute got a wider type is put back as one of that")
  func widerUndo() async throws {
    var fleet = try await Fleet(2, things())
    let id = try fleet[0].insert("Thing", ["size": .integer(1)])
    try await fleet.sync(0, 1)
    try fleet[0].set(id, ["size": .integer(2)])
    try fleet[1].set(id, ["size": .integer(3)])
    try await fleet.sync(1, 0)
    let entry = try #require(try fleet[0].conflicts.first)
    try await fleet.migrate(0, to: things(.decimal))
    try SyncEngine.undo(conflict: entry.number, of: fleet[0].store)
    #expect(try fleet[0].value(id, "size") == .decimal(2))
    try await fleet.migrate(1, to: things(.decimal))
    try await fleet.world.settle()
    try fleet.expect(.decimal(2), "size", of: id)
  }

  // MARK: Hierarchies

  enum Shape: Sendable { case flat, underNew, underB }

  /// Bs that refer to As. As are by themselves, under an entity that is new, or Bs.
  private func model(_ shape: Shape) -> ManagedObjectModel {
    let (a, b) = (EntityDescription("A"), EntityDescription("B"))
    a.deletePolicy = .editWins
    a.properties = [
      AttributeDescription("title", .string),
      RelationshipDescription("bs", to: "B", inverse: "a", toMany: true),
    ]
    b.properties = [
      AttributeDescription("name", .string), RelationshipDescription("a", to: "A", inverse: "bs"),
    ]
    guard shape == .underNew else {
      if shape == .underB { a.superentityName = "B" }
      return ManagedObjectModel(entities: [a, b])
    }
    let base = EntityDescription("Base")
    base.isAbstract = true
    base.properties = [AttributeDescription("extra", .string)]
    a.superentityName = "Base"
    return ManagedObjectModel(entities: [base, a, b])
  }

  private func point(_ b: UUID, to a: UUID, _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: b))
      let target = try #require(try context.object(withIdentity: a))
      try object.setValue(target, forKey: "a")
    }
  }

  @Test(
    "A pending reference to what is deleted comes back where the hierarchy of that has another root",
    arguments: [Shape.underNew, .underB])
  func cutReference(_ shape: Shape) async throws {
    var fleet = try await Fleet(3, model(.flat))
    let a = try (0..<2).map { _ in try fleet[0].insert("A") }
    let b = try (0..<3).map { _ in try fleet[0].insert("B") }
    for one in b { try point(one, to: a[0], fleet[0]) }
    try await fleet.sync(0, 1, 2)
    try point(b[1], to: a[0], fleet[2])
    try fleet[1].set(a[1], ["title": .string("edited")])
    try fleet[0].delete(a[1])
    try await fleet.sync(0)
    try point(b[1], to: a[1], fleet[2])
    try await fleet[2].pull()
    #expect(try fleet[2].reference(b[1], "a") == nil)
    try await fleet.migrate(2, to: model(shape))
    #expect(try SyncEngine.check(fleet[2].store).findings == [])
    try await fleet.sync(1, 0, 2)
    for number in 0..<2 { try await fleet.migrate(number, to: model(shape)) }
    try await fleet.joinBothWays(model(shape))
    try await fleet.world.settle()
    for replica in fleet.world.replicas {
      #expect(try replica.reference(b[1], "a") == a[1], "\(replica.name)")
    }
  }

  @Test("An undo after a migration that moves keys puts back a reference to the same object")
  func movedUndo() async throws {
    var fleet = try await Fleet(2, model(.flat))
    let a = try (0..<3).map { _ in try fleet[0].insert("A") }
    let b = try (0..<4).map { _ in try fleet[0].insert("B") }
    try point(b[0], to: a[0], fleet[0])
    try await fleet.sync(0, 1)
    try point(b[0], to: a[1], fleet[0])
    fleet.world.clock.advance()
    try point(b[0], to: a[2], fleet[1])
    try await fleet.sync(1, 0)
    let entry = try #require(try fleet[0].conflicts.first)
    try await fleet.migrate(0, to: model(.underB))
    try SyncEngine.undo(conflict: entry.number, of: fleet[0].store)
    #expect(try fleet[0].reference(b[0], "a") == a[1])
    try await fleet.migrate(1, to: model(.underB))
    try await fleet.world.settle()
    #expect(try fleet[1].reference(b[0], "a") == a[1])
  }

  @Test("Each reference that is kept beside the rows follows its object when keys move")
  func everyTable() async throws {
    var fleet = try await Fleet(1, model(.flat))
    let ids = try (0..<4).map { _ in try fleet[0].insert("A") }
    for _ in 0..<6 { try fleet[0].insert("B") }
    let b = try fleet[0].insert("B")
    try await fleet.sync(0)
    try fleet[0].delete(ids[3])
    let store = fleet[0].store
    let (targets, source) = try store.read { transaction in
      (
        try ids.map { try #require(try transaction.key(of: $0)) },
        try #require(try transaction.key(of: b))
      )
    }
    _ = try store.write(TransactionInfo(author: "test", kind: .imported)) { transaction in
      let connection = transaction.connection
      let (entity, key) = (
        SQLiteValue.integer(Int64(source.entity)), SQLiteValue.integer(source.key)
      )
      func references(_ keys: ArraySlice<ObjectKey>) -> [PropertyValue] {
        keys.map { .reference($0) }
      }
      let one = SQLiteValue.blob(RowArchive.encode(references(targets[1...1])))
      let zone = SQLiteValue.blob(RowArchive.encode([.null] + references(targets[0...2])))
      let origin = SQLiteValue.blob(Data(count: 16))
      try connection.run("INSERT INTO ZDL_BASE VALUES (?, ?, 'a', ?)", entity, key, one)
      try connection.run(
        "INSERT INTO ZDL_ZONE VALUES (?, ?, 'a', 0, ?, 1, ?, 1)", entity, key, zone, origin)
      try connection.run(
        "INSERT INTO ZDL_KEPT VALUES (?, ?, 'a', ?, 1, ?, 1)", entity, key, one, origin)
      try connection.run(
        "INSERT INTO ZDL_PARKED_VALUE VALUES (?, ?, 'a', ?, 1, ?, 'r', 1.0)", entity, key, one,
        origin)
      try connection.run(
        """
        INSERT INTO ZDL_DANGLING(target_root, target_key, entity, key, property, state)
        VALUES (?, ?, ?, ?, 'a', 0)
        """, .integer(Int64(targets[3].entity)), .integer(targets[3].key), entity, key)
      try connection.run(
        """
        INSERT INTO ZDL_JOURNAL(object, entity, property, policy, outcome, origin, local_time,
        remote_time, transaction_number, sequence, explanation, local_value, remote_value)
        VALUES (?, 'B', 'a', 'p', 'remote', ?, 1, 1, 1, 1, 'e', ?, ?)
        """, .blob(Data(count: 16)), origin, one, one)
      for (name, value) in [
        "sync.held": "A 3\nB 5", "sync.madeMeanwhile": "A 4 4-4\nB 6 6-6",
        "sync.limitsLeft": "A \(targets[1].key)",
      ] { try transaction.setSetting(name, .text(value)) }
    }
    try await fleet.migrate(0, to: model(.underB))
    let new = fleet[0].store
    try new.read { transaction in
      let connection = transaction.connection
      let moved = try ids.map { try #require(try transaction.key(of: $0)) }
      #expect(zip(moved, targets).allSatisfy { $0.key != $1.key })
      func keys(_ column: String, _ table: String) throws -> [Int64] {
        guard case .blob(let bytes)? = try connection.scalar("SELECT \(column) FROM \(table)")
        else { return [] }
        return try RowArchive.decodeValues(bytes).compactMap {
          guard case .reference(let key) = $0 else { return nil }
          return try transaction.concreteKey(root: key)?.key
        }
      }
      let one = [moved[1].key]
      #expect(try keys("value", "ZDL_BASE WHERE property = 'a'") == one)
      #expect(try keys("value", "ZDL_ZONE") == moved[0...2].map(\.key))
      #expect(try keys("value", "ZDL_KEPT") == one)
      #expect(try keys("value", "ZDL_PARKED_VALUE") == one)
      #expect(try keys("local_value", "ZDL_JOURNAL") == one)
      #expect(try keys("remote_value", "ZDL_JOURNAL") == one)
      let root = Int64(
        new.schema.entityNumber(of: try #require(new.model.entitiesByName["B"])))
      #expect(
        try connection.rows("SELECT target_root, target_key FROM ZDL_DANGLING")
          == [[.integer(root), .integer(moved[3].key)]])
      #expect(try transaction.setting("sync.limitsLeft") == .text("A \(moved[1].key)"))
      let offset = moved[1].key - targets[1].key
      let last = source.key
      #expect(try transaction.setting("sync.held") == .text("B 5"))
      #expect(
        try transaction.setting("sync.madeMeanwhile")
          == .text(
            "B \(offset + 4) 6-6 \(7)-\(last) \(offset + 1)-\(offset + 3) \(offset + 4)-\(offset + 4)"
          ))
    }
  }

  @Test("The parts of a composite attribute that is renamed keep their values, also for who joins")
  func composite() async throws {
    func model(_ name: String) -> ManagedObjectModel {
      let thing = EntityDescription("Thing")
      let address = CompositeAttributeDescription()
      address.name = name
      if name != "addr" { address.renamingIdentifier = "addr" }
      address.elements = [
        AttributeDescription("street", .string), AttributeDescription("zip", .string),
      ]
      thing.properties = [AttributeDescription("name", .string), address]
      return ManagedObjectModel(entities: [thing])
    }
    var fleet = try await Fleet(2, model("addr"))
    let id = try fleet[0].insert(
      "Thing", ["addr.street": .string("Main"), "addr.zip": .string("1")])
    try await fleet.sync(0, 1)
    try fleet[0].set(id, ["addr.zip": .string("2")])
    try await fleet.migrate(0, to: model("address"))
    try await fleet.sync(0)
    try await fleet.migrate(1, to: model("address"))
    try await fleet.joinBothWays(model("address"))
    try await fleet.world.settle()
    try fleet.expect(.string("Main"), "address.street", of: id)
    try fleet.expect(.string("2"), "address.zip", of: id)
  }

  @Test(
    "A store that syncs goes to no model that gives a property the name that another one had",
    arguments: [true, false])
  func takenName(isReplica: Bool) async throws {
    func model(_ renamed: Bool) -> ManagedObjectModel {
      let thing = EntityDescription("Thing")
      let title = AttributeDescription("title", .string)
      if renamed { title.renamingIdentifier = "heading" }
      thing.properties = [title] + (renamed ? [] : [AttributeDescription("heading", .string)])
      return ManagedObjectModel(entities: [thing])
    }
    let world = try await World(0)
    let replica = try await TestReplica(
      "r", zone: world.zone, clock: world.clock, model: model(false), enrolled: isReplica)
    let id = try replica.insert(
      "Thing", ["title": .string("T"), "heading": .string("H")])
    await replica.engine.close()
    replica.store.close()
    let url = try #require(replica.store.url)
    func migrate() throws { try PersistentStore.migrate(at: url, to: model(true)) }
    guard isReplica else {
      try migrate()
      let store = try PersistentStore.open(url: url)
      defer { store.close() }
      let value = try store.read { transaction in
        try transaction.key(of: id).flatMap { try transaction.row($0)?.values.first }
      }
      #expect(value == .string("H"))
      return
    }
    #expect {
      try migrate()
    } throws: { error in
      guard let error = error as? StoreError else { return false }
      return error.code == .cannotMigrate && error.message.contains("Thing.title was heading")
    }
  }
}
