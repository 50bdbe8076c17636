import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Large values that are not here, in dictionaries and lists of values that an app sets again.
@Suite("Values that are not here, in lists of values")
struct ValueListTests {
  private static let photo = ValueShop.bytes(50_000)

  private func context(_ replica: TestReplica) -> ManagedObjectContext {
    ManagedObjectContext(PersistentStoreCoordinator(store: replica.store))
  }

  @Test("Who changes one element of a composite attribute leaves one that is not here as it is")
  func composite() async throws {
    let model = shopModel()
    let cover = CompositeAttributeDescription()
    cover.name = "cover"
    cover.elements = [
      AttributeDescription("image", .binaryData), AttributeDescription("caption", .string),
    ]
    model.entitiesByName["Item"]?.properties.append(cover)
    let shop = try await ValueShop(model: model, firstUse: [1])
    let id = try shop[0].insert(
      "Item", ["cover.image": .data(Self.photo), "cover.caption": .string("a")])
    try await shop.syncAll()
    let context = context(shop[1])
    let object = try #require(try context.object(withIdentity: id))
    let error = #expect(throws: ObjectError.self) { try object.value(forKey: "cover") }
    #expect(error?.code == .valueNotHere)
    for caption in ["b", nil] {
      shop.clock.advance()
      try object.setValue(caption.map { ["caption": $0] } ?? [:], forKey: "cover")
      try context.save()
      try await shop.syncAll()
      #expect(try shop[0].value(id, "cover.caption") == (caption.map { .string($0) } ?? .null))
      #expect(try shop[0].value(id, "cover.image") == .data(Self.photo))
    }
    // To take it away is said.
    shop.clock.advance()
    try object.setValue(["image": NSNull()], forKey: "cover")
    try context.save()
    try await shop.syncAll()
    #expect(try shop[0].value(id, "cover.image") == .null)
  }

  @Test("Lists of values have what setters take back, also in another object, and no nil")
  func lists() async throws {
    let shop = try await ValueShop(firstUse: [1])
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(Self.photo)])
    try await shop.syncAll()
    let context = context(shop[1])
    let object = try #require(try context.object(withIdentity: id))
    shop.clock.advance()
    object["blob"] = Data([1])
    #expect(object.changedValues()["blob"] as? Data == Data([1]))
    for (name, value) in object.committedValues(forKeys: nil) {
      try object.setValue(value, forKey: name)
    }
    #expect(object.changedValues().isEmpty)
    object["title"] = "b"
    let request = FetchRequest<FetchedRow>(entityName: "Item")
    let row = try #require(try context.fetchRows(request).first)
    let copy = try context.insert(entityNamed: "Item")
    try copy.setValue(row.dictionary["blob"], forKey: "blob")
    #expect(copy.changedValues()["blob"].flatMap { $0 } is PropertyValue)
    try context.save()
    try await shop.syncAll()
    #expect(try shop[0].value(id, "title") == .string("b"))
    for identity in [id, try copy.identity] {
      #expect(try shop[0].value(identity, "blob") == .data(Self.photo))
      #expect(try shop[1].kept(identity, "blob")?.isInZone == true)
    }
    #expect(try SyncEngine.status(of: shop[1].store).pending.isEmpty)
    #expect(try await shop[1].engine.verify().isEqual)
    try await shop[1].engine.downloadAll()
    #expect(try shop[1].value(try copy.identity, "blob") == .data(Self.photo))
  }
}
