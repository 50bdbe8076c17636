import Foundation

@testable import Driftless

/// The model of these tests, with a hierarchy, both kinds of relationship, and every type of attribute.
enum Shop {
  static func model() throws -> ManagedObjectModel {
    let item = EntityDescription("Item")
    item.properties = [
      AttributeDescription("name", .string),
      AttributeDescription("count", .integer64, conflictPolicy: .counter),
      AttributeDescription("price", .decimal), AttributeDescription("weight", .double),
      AttributeDescription("made", .date), AttributeDescription("picture", .binaryData),
      AttributeDescription("code", .uuid), AttributeDescription("page", .uri),
      AttributeDescription("sold", .boolean),
      RelationshipDescription("shelf", to: "Shelf", inverse: "items"),
      RelationshipDescription("tags", to: "Tag", inverse: "items", toMany: true),
    ]
    let tool = EntityDescription("Tool")
    tool.superentityName = "Item"
    let serial = AttributeDescription("serial", .string)
    serial.preservesValueInHistoryOnDeletion = true
    tool.properties = [serial, RelationshipDescription("spare", to: "Item", inverse: nil)]
    let shelf = EntityDescription("Shelf")
    shelf.properties = [
      AttributeDescription("label", .string),
      RelationshipDescription("items", to: "Item", inverse: "shelf", toMany: true, isOrdered: true),
    ]
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "tags", toMany: true),
    ]
    let model = ManagedObjectModel(entities: [item, tool, shelf, tag])
    try model.freeze()
    return model
  }
}

extension PersistentStore {
  /// Inserts an object with some values by name.
  @discardableResult
  func insert(
    _ entityName: String, _ values: [String: PropertyValue] = [:],
    info: TransactionInfo = TransactionInfo()
  ) throws -> ObjectKey {
    try write(info) { transaction in
      guard let entity = model.entitiesByName[entityName] else {
        throw StoreError(.invalidArgument, entityName, suggestion: "")
      }
      let key = try transaction.allocateKeys(entity, count: 1).lowerBound
      var slots = [PropertyValue](repeating: .null, count: entity.layout.slots.count)
      for (name, value) in values { slots[entity.layout.index(named: name) ?? 0] = value }
      try transaction.insert(entity, key, values: slots)
      return ObjectKey(entity: schema.entityNumber(of: entity), key: key)
    }.0
  }

  func values(_ key: ObjectKey) throws -> [String: PropertyValue]? {
    try read { transaction in
      guard let row = try transaction.row(key),
        let layout = schema.entity(numbered: row.key.entity)?.layout
      else { return nil }
      return Dictionary(uniqueKeysWithValues: layout.slots.map { ($0.name, row.values[$0.index]) })
    }
  }

  func update(
    _ key: ObjectKey, _ name: String, _ value: PropertyValue, version: Int64? = nil,
    info: TransactionInfo = TransactionInfo()
  ) throws {
    _ = try write(info) { transaction in
      guard let layout = schema.entity(numbered: key.entity)?.layout,
        let slot = layout.index(named: name)
      else { throw StoreError(.invalidArgument, name, suggestion: "") }
      var slots = [PropertyValue](repeating: .null, count: layout.slots.count)
      slots[slot] = value
      try transaction.update(key, PropertyMask([slot]), values: slots, expectedVersion: version)
    }
  }
}
