import Driftless
import Foundation
import Testing

private final class ListedShelf: ManagedObject {
  static let name = Attribute<ListedShelf, String>("name")
  static let rows = Attribute<ListedShelf, Int?>("rows")
  static let goods = ToMany<ListedShelf, ListedGood>("goods")

  override class var typedKeys: [any TypedKey] { super.typedKeys + [name, rows, goods] }
}

private class ListedGood: ManagedObject {
  static let title = Attribute<ListedGood, String?>("title")
  static let shelf = ToOne<ListedGood, ListedShelf>("shelf")

  override class var typedKeys: [any TypedKey] { super.typedKeys + [title, shelf] }
}

private final class ListedToy: ListedGood {
  static let age = Attribute<ListedToy, Int>("age")

  override class var typedKeys: [any TypedKey] { super.typedKeys + [age] }
}

/// Typed keys that classes list are compared with the model before a store is used.
struct TypedKeyListTests {
  private func model(
    _ change: (EntityDescription, EntityDescription, EntityDescription) -> Void = { _, _, _ in }
  )
    -> ManagedObjectModel
  {
    ManagedObject.register(ListedShelf.self, ListedGood.self, ListedToy.self)
    let (shelf, good) = (EntityDescription("ListedShelf"), EntityDescription("ListedGood"))
    shelf.properties = [
      AttributeDescription("name", .string), AttributeDescription("rows", .integer16),
      RelationshipDescription("goods", to: "ListedGood", inverse: "shelf", toMany: true),
    ]
    good.properties = [
      AttributeDescription("title", .string),
      RelationshipDescription("shelf", to: "ListedShelf", inverse: "goods"),
    ]
    let toy = EntityDescription("ListedToy")
    toy.superentityName = "ListedGood"
    toy.properties = [AttributeDescription("age", .integer16)]
    change(shelf, good, toy)
    return ManagedObjectModel(entities: [shelf, good, toy])
  }

  @Test("Keys that fit open a store")
  func fitting() async throws {
    let store = try LocalStore(model: model(), at: nil)
    try await store.write { context in
      let toy = try context.insert(ListedToy.self)
      toy[ListedToy.age] = 3
    }
    let ages = try await store.read { context in
      try context.fetch(ListedToy.self).map { $0[ListedToy.age] }
    }
    #expect(ages == [3])
  }

  @Test("All keys that do not fit are one error before anything is opened")
  func mistakes() throws {
    let model = model { shelf, good, toy in
      shelf.properties = [
        AttributeDescription("nam", .string), AttributeDescription("rows", .double),
        RelationshipDescription("goods", to: "ListedGood", inverse: "home"),
      ]
      good.properties = [
        AttributeDescription("title", .string),
        RelationshipDescription("home", to: "ListedShelf", inverse: "goods"),
        RelationshipDescription("shelf", to: "ListedToy", inverse: "owner"),
      ]
      toy.properties += [RelationshipDescription("owner", to: "ListedGood", inverse: "shelf")]
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let error = #expect(throws: ObjectError.self) {
      try coordinator.addPersistentStore(at: nil as URL?)
    }
    #expect(error?.code == .wrongKeys)
    let message = error?.message ?? ""
    for mistake in [
      "ListedShelf.name for ListedShelf: there is no such property",
      "ListedShelf.rows for ListedShelf: it is double",
      "ListedShelf.goods for ListedShelf: it is a relationship to one",
      "ListedGood.shelf for ListedGood: it leads to ListedToy, whose objects are ListedToy",
    ] {
      #expect(message.contains(mistake), "\(message)")
    }
    #expect(!message.contains("title"))
    #expect(coordinator.persistentStores.isEmpty)
  }
}
