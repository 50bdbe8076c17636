import Driftless
import Foundation

/// The object of six attributes, as an application writes it.
final class Item: ManagedObject {
  static let flag = Attribute<Item, Bool>("flag")
  static let size = Attribute<Item, Int64>("size")
  static let score = Attribute<Item, Double>("score")
  static let modified = Attribute<Item, Date?>("modified")
  static let name = Attribute<Item, String>("name")
  static let summary = Attribute<Item, String>("summary")

  static func model() throws -> ManagedObjectModel {
    let entity = EntityDescription("Item")
    entity.managedObjectClassName = "Item"
    entity.properties = [
      AttributeDescription("flag", .boolean), AttributeDescription("size", .integer64),
      AttributeDescription("score", .double), AttributeDescription("modified", .date),
      AttributeDescription("name", .string), AttributeDescription("summary", .string),
    ]
    let model = ManagedObjectModel(entities: [entity])
    try model.freeze()
    return model
  }

  func fill(_ item: Items.Item) {
    self[Item.flag] = item.flag
    self[Item.size] = item.size
    self[Item.score] = item.score
    self[Item.modified] = Date(timeIntervalSinceReferenceDate: item.modified)
    self[Item.name] = item.name
    self[Item.summary] = item.summary
  }
}
