import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// A server and hosts that a test moves by hand: for sequences that are told step by step.
final class Stage {
  let clock = ManualClock(milliseconds: 1_800_000_000_000)
  let folder: TemporaryDirectory
  let server: SimulatedServer
  private(set) var hosts: [Host] = []
  private let model: ManagedObjectModel
  private var options = Host.options()

  init(
    _ kind: Scenario.Server = .sqlite, hosts count: Int = 3,
    model: ManagedObjectModel = Stage.model(), partObjectsMax: Int = .max,
    hasLargeValues: Bool = false
  ) async throws {
    folder = try TemporaryDirectory(in: Simulation.folder)
    server = try SimulatedServer(kind, clock: clock, folder: folder.file("server"))
    try model.freeze()
    self.model = model
    options.partObjectsMax = partObjectsMax
    if hasLargeValues { options.largeValueBytesMin = LargeValue.bytesMin }
    for _ in 0..<count { try await addHost() }
  }

  deinit { server.close() }

  static func model() -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.properties = [
      AttributeDescription("title", .string),
      AttributeDescription("done", .boolean),
      AttributeDescription(
        "stock", .integer64, isOptional: false, defaultValue: .integer(0), conflictPolicy: .counter),
      AttributeDescription("email", .string),
      AttributeDescription("notes", .string, conflictPolicy: .text),
      AttributeDescription("words", .string, conflictPolicy: .union),
      RelationshipDescription("box", to: "Box", inverse: "items"),
      RelationshipDescription("badge", to: "Badge", inverse: "owner"),
      RelationshipDescription("tags", to: "Tag", inverse: "items", toMany: true, isOrdered: true),
    ]
    item.uniquenessConstraints = [["email"]]
    let box = EntityDescription("Box")
    box.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "box", toMany: true),
    ]
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "tags", toMany: true),
    ]
    let badge = EntityDescription("Badge")
    badge.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("owner", to: "Item", inverse: "badge"),
    ]
    let node = EntityDescription("Node")
    let parent = RelationshipDescription("parent", to: "Node", inverse: "children")
    parent.userInfo = ["driftless.tree": "1"]
    node.properties = [
      AttributeDescription("name", .string), parent,
      RelationshipDescription("children", to: "Node", inverse: "parent", toMany: true),
    ]
    return ManagedObjectModel(entities: [item, box, badge, node, tag])
  }

  /// Another model: items are edited against deletes, have tags, and are friends of each other.
  static func tagged() -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.deletePolicy = .editWins
    item.properties = [
      AttributeDescription("title", .string),
      RelationshipDescription("tags", to: "Tag", inverse: "items", toMany: true),
      RelationshipDescription("friends", to: "Item", inverse: "friends", toMany: true),
    ]
    let tag = EntityDescription("Tag")
    tag.deletePolicy = .editWins
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "tags", toMany: true),
    ]
    return ManagedObjectModel(entities: [item, tag])
  }

  /// - Parameter model: nil for the stage's.
  @discardableResult
  func addHost(of model: ManagedObjectModel? = nil) async throws -> Host {
    let number = hosts.count
    let host = try Host(
      number: number, name: "r\(number)", file: folder.file("r\(number).sqlite"),
      model: model ?? self.model, version: 0, server: server, world: clock, skew: 0,
      options: options)
    try await host.enroll(server)
    hosts.append(host)
    return host
  }

  /// A copy of a host's file that goes on as another replica.
  func clone(_ number: Int) throws -> Int {
    let file = folder.file("r\(hosts.count).sqlite")
    let image = try FileImage.take(hosts[number].file)
    try FileImage.put(image.filter { ["", "-wal"].contains($0.key) }, at: file)
    hosts.append(
      try Host(
        number: hosts.count, name: "r\(hosts.count)", file: file, model: model, version: 0,
        server: server, world: clock, skew: 0))
    return hosts.count - 1
  }

  func backup(_ number: Int) throws -> [String: Data] { try FileImage.take(hosts[number].file) }

  func restore(_ number: Int, _ image: [String: Data]) async throws {
    try await hosts[number].reopen(model, contents: image)
  }

  /// The zone begins anew. Twice within a day would be two servers behind one address, which a person has to look at.
  func renew() throws {
    clock.advance(milliseconds: 90_000_000)
    try server.renew(.offer)
  }

  /// Puts the server back to its first backup, and has somebody who was never there before push, so that the logs part.
  func partLogs() async throws {
    try server.restore(0)
    let newcomer = try await addHost()
    try insert(newcomer.number, "Box", ["name": .string("in its place")])
    try await push(newcomer.number)
  }

  // MARK: - Edits

  func save(_ number: Int, _ body: (ManagedObjectContext) throws -> Void) throws {
    clock.advance()
    let context = ManagedObjectContext(hosts[number].coordinator)
    context.transactionAuthor = hosts[number].name
    try body(context)
    try context.save()
    try hosts[number].look()
  }

  @discardableResult
  func insert(
    _ number: Int, _ entity: String = "Item", _ values: [String: PropertyValue] = [:],
    identity: UUID? = nil
  ) throws -> UUID {
    let before = Set(hosts[number].image.things.keys)
    try save(number) { context in
      let object = try context.insert(entityNamed: entity, identity: identity)
      for (name, value) in values { try object.setValue(value, forKey: name) }
    }
    return try #require(Set(hosts[number].image.things.keys).subtracting(before).first)
  }

  func set(_ number: Int, _ id: UUID, _ values: [String: PropertyValue]) throws {
    try save(number) { context in
      let object = try #require(try context.object(withIdentity: id))
      for (name, value) in values { try object.setValue(value, forKey: name) }
    }
  }

  func relate(_ number: Int, _ id: UUID, _ name: String, _ target: UUID?) throws {
    try save(number) { context in
      let object = try #require(try context.object(withIdentity: id))
      try object.setValue(
        try target.flatMap { try context.object(withIdentity: $0) }, forKey: name)
    }
  }

  func relate(_ number: Int, _ id: UUID, _ name: String, to targets: [UUID]) throws {
    try save(number) { context in
      let object = try #require(try context.object(withIdentity: id))
      let objects = try targets.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(objects, forKey: name)
    }
  }

  func delete(_ number: Int, _ id: UUID) throws {
    try save(number) { $0.delete(try #require(try $0.object(withIdentity: id))) }
  }

  /// Counts on by a difference.
  func count(_ number: Int, _ id: UUID, by step: Int64) throws {
    let now = Int64(hosts[number].image.value(id, "stock")) ?? 0
    try set(number, id, ["stock": .integer(now + step)])
  }

  /// New objects of the entity that items have sets of.
  func tags(_ count: Int) throws -> [UUID] {
    try (0..<count).map { try insert(0, "Tag", ["name": .string("\($0)")]) }
  }

  /// What an item's set has, and what it has not, at the last host.
  func expect(
    _ item: UUID, has tags: [UUID], not others: [UUID] = [],
    _ location: SourceLocation = #_sourceLocation
  ) {
    let value = value(2, item, "tags")
    for tag in tags {
      #expect(value.contains(tag.uuidString.lowercased()), sourceLocation: location)
    }
    for tag in others {
      #expect(!value.contains(tag.uuidString.lowercased()), sourceLocation: location)
    }
  }

  /// A model in which an edit wins against a delete, of every entity.
  static func editsWin(_ model: ManagedObjectModel = Stage.model()) -> ManagedObjectModel {
    for entity in model.entities { entity.deletePolicy = .editWins }
    return model
  }

  /// What an object has in a relationship, at every host.
  func expectAll(
    _ object: UUID, _ property: String, _ value: [UUID], isOrdered: Bool = true,
    _ location: SourceLocation = #_sourceLocation
  ) {
    for host in hosts {
      let shown = Image.identities(in: host.image.value(object, property))
      #expect(
        isOrdered ? shown == value : Set(shown) == Set(value), "\(host.name)",
        sourceLocation: location)
    }
  }

  // MARK: - Sync

  func sync(_ number: Int) async throws {
    clock.advance()
    _ = try await hosts[number].engine.sync()
    try hosts[number].look()
  }

  func push(_ number: Int) async throws {
    clock.advance()
    _ = try await hosts[number].engine.push()
    try hosts[number].look()
  }

  func value(_ number: Int, _ id: UUID, _ property: String) -> String {
    hosts[number].image.value(id, property)
  }

  /// All sync until nothing is left, and the laws that need no ledger are checked.
  func settle(_ location: SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<4 { for number in hosts.indices { try await sync(number) } }
    let head = try await server.zoneInfo().head
    for host in hosts {
      let status = try host.status
      #expect(status.pending.objects == 0, "\(host.name) is pending", sourceLocation: location)
      #expect(status.cursor == head, "\(host.name) is behind", sourceLocation: location)
      #expect(status.lastError == nil, sourceLocation: location)
      #expect(
        host.image == hosts[0].image,
        "\(host.name): \(host.image.difference(from: hosts[0].image) { $0.uuidString })",
        sourceLocation: location)
      #expect(try host.store.check().isSound, "\(host.name)", sourceLocation: location)
    }
    #expect(try server.damage() == [], sourceLocation: location)
    let laws = StateLaws(image: hosts[0].image, traits: Traits(model)) { $0.uuidString }
    for failure in laws.check() { Issue.record("\(failure)", sourceLocation: location) }
  }
}
