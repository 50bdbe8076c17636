import Driftless
import Foundation
import SyncControl
import TestSupport

/// A store with a small model of every attribute type, and import files beside it.
struct Shop {
  let directory: TemporaryDirectory
  let url: URL
  let store: PersistentStore

  init(model: ManagedObjectModel = Self.model()) throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
    store = try PersistentStore.open(url: url, model: model)
  }

  static func model() -> ManagedObjectModel {
    let item = EntityDescription("Item")
    let size = AttributeDescription("size", .integer16)
    size.minimum = .integer(0)
    item.properties = [
      AttributeDescription("name", .string, isOptional: false, defaultValue: .string("?")),
      size,
      AttributeDescription("stock", .integer64), AttributeDescription("weight", .double),
      AttributeDescription("price", .decimal), AttributeDescription("isNew", .boolean),
      AttributeDescription("made", .date), AttributeDescription("photo", .binaryData),
      AttributeDescription("code", .uuid), AttributeDescription("page", .uri),
      RelationshipDescription("box", to: "Box", inverse: "items"),
      RelationshipDescription("tags", to: "Tag", inverse: "items", toMany: true),
    ]
    let special = EntityDescription("SpecialItem")
    special.properties = [AttributeDescription("reason", .string)]
    item.subentities = [special]
    let box = EntityDescription("Box")
    box.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "items", to: "Item", inverse: "box", toMany: true, deleteRule: .cascade),
    ]
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "tags", toMany: true),
    ]
    return ManagedObjectModel(entities: [item, special, box, tag])
  }

  /// Reads with a context of its own.
  func read<Value>(_ body: (ManagedObjectContext) throws -> Value) rethrows -> Value {
    try body(ManagedObjectContext(PersistentStoreCoordinator(store: store)))
  }

  /// The object that an import file calls `id`.
  func object(_ id: String, _ entity: String, in context: ManagedObjectContext) throws
    -> ManagedObject?
  {
    try context.object(withIdentity: NamedIdentity.identity(id, rootEntity: entity))
  }
}
