import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Replicas with the next model of a zone whose log was purged: what they take from its snapshot is what they would read in
/// its log.
struct PurgedModelTests {
  /// What the next model has otherwise.
  enum Change: CaseIterable {
    case nothing, addedAttribute, addedEntity, renamedAttribute, renamedEntity, renamedSet
    case widened, widenedText, narrowed, narrowedText, otherKind
    case lacksAttribute, lacksEntity, lacksToOne, lacksSet

    static let lacking: [Self] = [.lacksAttribute, .lacksEntity, .lacksToOne, .lacksSet]
    /// Those to which a store goes over by itself.
    static let migrated = allCases.filter {
      ![.narrowed, .narrowedText, .otherKind].contains($0)
    }
  }

  private static func model(_ change: Change) -> ManagedObjectModel {
    let ware = EntityDescription("Ware")
    let shop = EntityDescription("Shop")
    let tag = EntityDescription("Tag")
    var size = AttributeDescription("size", .integer64)
    var address = AttributeDescription("address", .string)
    var note: PropertyDescription = AttributeDescription("note", .string)
    var wareName = "Ware"
    var tags = "tags"
    switch change {
    case .renamedAttribute:
      note = AttributeDescription("remark", .string)
      note.renamingIdentifier = "note"
    case .renamedEntity:
      // Of a relationship to tags, the other end says it from now on.
      wareName = "Yarn"
      ware.name = wareName
      ware.renamingIdentifier = "Ware"
    case .renamedSet: tags = "marks"
    case .widened: size = AttributeDescription("size", .decimal)
    case .widenedText: address = AttributeDescription("address", .uri)
    case .narrowed: size = AttributeDescription("size", .integer16)
    case .narrowedText: note = AttributeDescription("note", .integer64)
    case .otherKind: note = RelationshipDescription("note", to: "Tag", inverse: nil)
    default: break
    }
    let labels = RelationshipDescription(tags, to: "Tag", inverse: "wares", toMany: true)
    if change == .renamedSet { labels.renamingIdentifier = "tags" }
    ware.properties = [
      AttributeDescription("name", .string), size, address, note,
      RelationshipDescription("shop", to: "Shop", inverse: "wares"), labels,
    ]
    shop.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("wares", to: wareName, inverse: "shop", toMany: true),
    ]
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("wares", to: wareName, inverse: tags, toMany: true),
    ]
    var entities = [ware, shop, tag]
    func drop(_ names: String...) {
      for entity in entities { entity.properties.removeAll { names.contains($0.name) } }
    }
    switch change {
    case .addedAttribute:
      ware.properties.append(
        AttributeDescription("grade", .integer16, isOptional: false, defaultValue: .integer(3)))
    case .addedEntity:
      let offer = EntityDescription("Offer")
      offer.properties = [
        AttributeDescription("percent", .integer16),
        RelationshipDescription("ware", to: "Ware", inverse: nil),
      ]
      entities.append(offer)
    case .lacksAttribute: drop("note")
    case .lacksEntity:
      drop("shop")
      entities.removeAll { $0 === shop }
    case .lacksToOne:
      ware.properties.removeAll { $0.name == "shop" }
      shop.properties.removeAll { $0.name == "wares" }
    case .lacksSet:
      ware.properties.removeAll { $0.name == "tags" }
      tag.properties.removeAll { $0.name == "wares" }
    default: break
    }
    return ManagedObjectModel(entities: entities)
  }

  private struct Objects {
    var wares: [UUID] = []
    var shops: [UUID] = []
    var tags: [UUID] = []
  }

  /// Wares in shops, with tags, some of them edited and deleted since.
  private func fill(_ replica: TestReplica) async throws -> Objects {
    var objects = Objects()
    for name in ["north", "south"] {
      objects.shops.append(try replica.insert("Shop", ["name": .string(name)]))
    }
    for name in ["red", "green", "blue"] {
      objects.tags.append(try replica.insert("Tag", ["name": .string(name)]))
    }
    for number in 0..<6 {
      objects.wares.append(
        try replica.insert(
          "Ware",
          [
            "name": .string("ware \(number)"), "size": .integer(Int64(number) * 20_000),
            "note": .string(number == 1 ? "7" : "note \(number)"),
            "address": .string("https://example.com/\(number)"),
          ]))
    }
    try await replica.sync()
    for (number, ware) in objects.wares.enumerated() {
      try relate(
        ware, shop: objects.shops[number % 2], [objects.tags[number % 3], objects.tags[0]], replica)
    }
    try await replica.sync()
    try replica.set(objects.wares[0], ["note": .string("edited"), "size": .integer(5)])
    try replica.delete(objects.wares[5])
    try replica.delete(objects.tags[2])
    try await replica.sync()
    return objects
  }

  private func relate(
    _ ware: UUID, shop: UUID?, _ tags: [UUID], _ replica: TestReplica
  ) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: ware))
      let names = Set(object.entity.relationshipsByName.keys)
      if names.contains("shop") {
        try object.setValue(
          try shop.flatMap { try context.object(withIdentity: $0) }, forKey: "shop")
      }
      let tags = try tags.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(tags, forKey: names.contains("marks") ? "marks" : "tags")
    }
  }

  /// Who takes the snapshot shows what one does that reads all of the log, with the same model.
  private func expectLikeReader(
    _ replica: TestReplica, _ model: ManagedObjectModel, _ world: World,
    at location: SourceLocation = #_sourceLocation
  ) async throws {
    let reader = try await TestReplica(
      "reader", zone: world.zone, clock: world.clock, model: model)
    try await reader.sync()
    #expect(try replica.export == reader.export, sourceLocation: location)
    #expect(try replica.status.cursor == world.zone.head, sourceLocation: location)
    #expect(try SyncEngine.check(replica.store).findings == [], sourceLocation: location)
    let values = { (parked: [ParkedEntry]) in
      Set(parked.filter { $0.object != nil }.map { "\($0.object as Any) \($0.property as Any)" })
    }
    #expect(
      try values(SyncEngine.parked(of: replica.store))
        == values(SyncEngine.parked(of: reader.store)), sourceLocation: location)
  }

  @Test("A new store with the next model joins by the snapshot alone", arguments: Change.allCases)
  func joins(_ change: Change) async throws {
    var fleet = try await Fleet(1, Self.model(.nothing))
    let objects = try await fill(fleet[0])
    let way = try PurgedZone(fleet.world.zone)
    try way.purge()
    let next = Self.model(change)
    try await fleet.join(next, "next", by: way)
    try await fleet.sync(1)
    try await expectLikeReader(fleet[1], next, fleet.world)
    // It goes on with the others.
    try fleet[1].set(objects.wares[1], ["name": .string("edited here")])
    try fleet[0].set(objects.wares[2], ["name": .string("edited there")])
    try await fleet.sync(1, 0, 1)
    // A program of before keeps for later what is said under a name that it does not know.
    if change != .renamedEntity {
      #expect(try fleet[0].value(objects.wares[1], "name") == .string("edited here"))
    }
    #expect(try fleet[1].value(objects.wares[2], "name") == .string("edited there"))
    try await expectLikeReader(fleet[1], next, fleet.world)
  }

  @Test(
    "A store that was away and goes over to the next model does too", arguments: Change.migrated)
  func migrates(_ change: Change) async throws {
    var fleet = try await Fleet(1, Self.model(.nothing))
    let way = try PurgedZone(fleet.world.zone)
    try await fleet.join(Self.model(.nothing), "away", by: way)
    let objects = try await fill(fleet[0])
    try await fleet.sync(1)
    try fleet[0].set(objects.wares[2], ["note": .string("zone's"), "size": .integer(9)])
    try fleet[0].delete(objects.wares[4])
    try fleet[0].insert("Ware", ["name": .string("later"), "note": .string("of it")])
    try relate(objects.wares[3], shop: objects.shops[0], [objects.tags[1]], fleet[0])
    try await fleet.sync(0)
    try way.purge()
    try fleet[1].set(objects.wares[1], ["name": .string("pending")])
    let next = Self.model(change)
    try await fleet.migrate(1, to: next, by: way)
    try await fleet.sync(1, 0, 1)
    #expect(way.refused > 0)
    if change != .renamedEntity {
      #expect(try fleet[0].value(objects.wares[1], "name") == .string("pending"))
    }
    #expect(try fleet[1].value(objects.wares[1], "name") == .string("pending"))
    try await expectLikeReader(fleet[1], next, fleet.world)
  }

  @Test(
    "What the model lacks is told, and there when the model has it", arguments: Change.lacking,
    [true, false])
  func catchesUp(_ change: Change, hasParked: Bool) async throws {
    var fleet = try await Fleet(1, Self.model(.nothing))
    let way = try PurgedZone(fleet.world.zone)
    try await fleet.join(Self.model(change), "narrow", by: way)
    let objects = try await fill(fleet[0])
    // It reads of the log what it sets aside, entry by entry, before that is purged.
    if hasParked { try await fleet.sync(1) }
    try fleet[0].set(objects.wares[2], ["note": .string("zone's")])
    try fleet[0].insert("Shop", ["name": .string("west")])
    try await fleet.sync(0)
    try way.purge()
    try await fleet.sync(1)
    #expect(way.refused > 0)
    try await expectLikeReader(fleet[1], Self.model(change), fleet.world)
    let parked = try SyncEngine.parked(of: fleet[1].store).filter { !$0.names.isEmpty }
    #expect(!parked.isEmpty && parked.allSatisfy { $0.code == "unknown-names" })
    #expect(try fleet[1].status.parked > 0)
    try SyncEngine.acceptParked(of: fleet[1].store)
    #expect(try fleet[1].status.parked == 0)
    try SyncEngine.retryParked(of: fleet[1].store)
    // What comes later is set aside as ever.
    try fleet[0].set(objects.wares[3], ["note": .string("after it")])
    try relate(objects.wares[3], shop: objects.shops[0], [objects.tags[1]], fleet[0])
    try fleet[1].set(objects.wares[1], ["name": .string("edited here")])
    try await fleet.sync(0, 1, 0)
    try await expectLikeReader(fleet[1], Self.model(change), fleet.world)
    try await fleet.migrate(1, to: Self.model(.nothing), by: way)
    try await fleet.sync(1)
    #expect(try SyncEngine.parked(of: fleet[1].store).isEmpty)
    #expect(try fleet[1].status.parked == 0)
    try await expectLikeReader(fleet[1], Self.model(.nothing), fleet.world)
    try await fleet.world.settle()
  }

  @Test(
    "Of values under two names the later stands, whoever set it",
    arguments: [Change.renamedAttribute, .renamedEntity])
  func twoNames(_ change: Change) async throws {
    var fleet = try await Fleet(3, Self.model(.nothing))
    let way = try PurgedZone(fleet.world.zone)
    try await fleet.join(Self.model(.nothing), "away", by: way)
    let objects = try await fill(fleet[0])
    try await fleet.sync(1, 2, 3)
    let next = Self.model(change)
    try await fleet.migrate(1, to: next)
    let name = change == .renamedAttribute ? "remark" : "note"
    try await fleet.sync(1)
    try fleet[1].set(objects.wares[0], [name: .string("new, then old")])
    try fleet[1].set(objects.wares[1], [name: .string("new alone")])
    try await fleet.sync(1, 0)
    try fleet[0].set(objects.wares[0], ["note": .string("old, later")])
    try fleet[0].set(objects.wares[2], ["note": .string("old, then new")])
    try await fleet.sync(0, 1)
    try fleet[1].set(objects.wares[2], [name: .string("new, later")])
    try await fleet.sync(1, 0, 1)
    try way.purge()
    try await fleet.migrate(3, to: next, by: way)
    try await fleet.sync(3)
    #expect(way.refused > 0)
    #expect(try fleet[3].value(objects.wares[0], name) == .string("old, later"))
    #expect(try fleet[3].value(objects.wares[1], name) == .string("new alone"))
    #expect(try fleet[3].value(objects.wares[2], name) == .string("new, later"))
    try await expectLikeReader(fleet[3], next, fleet.world)
    try await fleet.join(next, "new", by: way)
    try await fleet.sync(4)
    try await expectLikeReader(fleet[4], next, fleet.world)
  }
}
