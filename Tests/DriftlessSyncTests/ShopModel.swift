import Driftless

/// A model with a property for each policy, an entity where deletes win and one where edits win.
func shopModel(withNewerParts isNewer: Bool = false, withOrder isOrdered: Bool = true)
  -> ManagedObjectModel
{
  let item = EntityDescription("Item")
  var properties: [PropertyDescription] = [
    AttributeDescription("title", .string),
    AttributeDescription("note", .string, conflictPolicy: .serverWins),
    AttributeDescription("tag", .string, conflictPolicy: .clientWins),
    AttributeDescription("high", .integer64, conflictPolicy: .max),
    AttributeDescription("low", .integer64, conflictPolicy: .min),
    AttributeDescription("stock", .integer64, conflictPolicy: .counter),
    AttributeDescription("small", .integer16, conflictPolicy: .counter),
    AttributeDescription("text", .string, conflictPolicy: .text),
    AttributeDescription("pick", .string, conflictPolicy: .custom("longest")),
    AttributeDescription("held", .string, conflictPolicy: .manual),
    AttributeDescription("words", .string, conflictPolicy: .union),
    AttributeDescription("marks", .transformable, conflictPolicy: .union),
    AttributeDescription("price", .decimal),
    AttributeDescription("weight", .double),
    AttributeDescription("made", .date),
    AttributeDescription("blob", .binaryData),
    AttributeDescription("code", .uuid),
    AttributeDescription("page", .uri),
    AttributeDescription("isOpen", .boolean),
    RelationshipDescription("shelf", to: "Shelf", inverse: "items"),
    RelationshipDescription("labels", to: "Label", inverse: "items", toMany: true),
  ]
  if isNewer { properties.append(AttributeDescription("colour", .string)) }
  item.properties = properties

  let shelf = EntityDescription("Shelf")
  shelf.deletePolicy = .editWins
  shelf.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("items", to: "Item", inverse: "shelf", toMany: true),
    RelationshipDescription(
      "rows", to: "Row", inverse: "shelf", toMany: true, isOrdered: isOrdered),
  ]
  let row = EntityDescription("Row")
  row.deletePolicy = .editWins
  row.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("shelf", to: "Shelf", inverse: "rows"),
  ]
  let label = EntityDescription("Label")
  label.properties = [
    AttributeDescription("name", .string),
    RelationshipDescription("items", to: "Item", inverse: "labels", toMany: true),
  ]
  var entities = [item, shelf, label, row]
  if isNewer {
    let offer = EntityDescription("Offer")
    offer.properties = [AttributeDescription("percent", .integer16)]
    entities.append(offer)
  }
  return ManagedObjectModel(entities: entities)
}
