import Driftless

/// A model with every type of attribute, every kind of relationship, and all that a file keeps beside rows.
enum FuzzModel {
  /// - Parameter isNewer: with an entity and a property that the store under trial does not know, and a wider number.
  static func make(isNewer: Bool = false) throws -> ManagedObjectModel {
    let item = EntityDescription("Item")
    let photo = AttributeDescription("photo", .binaryData)
    photo.allowsExternalBinaryDataStorage = true
    let title = AttributeDescription("title", .string)
    title.preservesValueInHistoryOnDeletion = true
    item.properties =
      [
        title, photo, AttributeDescription("code", .string),
        AttributeDescription("small", isNewer ? .integer64 : .integer16),
        AttributeDescription("middle", .integer32),
        AttributeDescription("stock", .integer64, conflictPolicy: .counter),
        AttributeDescription("weight", .double), AttributeDescription("height", .float),
        AttributeDescription("price", .decimal), AttributeDescription("made", .date),
        AttributeDescription("isOpen", .boolean), AttributeDescription("blob", .binaryData),
        AttributeDescription("mark", .uuid), AttributeDescription("page", .uri),
        AttributeDescription("extra", .transformable),
        AttributeDescription("text", .string, conflictPolicy: .text),
        AttributeDescription("words", .string, conflictPolicy: .union),
        AttributeDescription("held", .string, conflictPolicy: .manual),
        RelationshipDescription("shelf", to: "Shelf", inverse: "items"),
        RelationshipDescription("labels", to: "Label", inverse: "items", toMany: true),
        RelationshipDescription("friends", to: "Item", inverse: "friends", toMany: true),
        RelationshipDescription("above", to: "Item", inverse: "below"),
        RelationshipDescription("below", to: "Item", inverse: "above", toMany: true),
      ] + (isNewer ? [AttributeDescription("colour", .string)] : [])
    item.uniquenessConstraints = [["code"]]
    item.indexes = [
      FetchIndexDescription(
        name: "bySize",
        elements: ["weight", "stock"].map {
          FetchIndexElementDescription(propertyName: $0, collationType: .rTree)
        })
    ]
    let tool = EntityDescription("Tool")
    tool.properties = [
      AttributeDescription("serial", .string),
      RelationshipDescription("owner", to: "Person", inverse: "tool"),
    ]
    let toy = EntityDescription("Toy")
    toy.properties = [AttributeDescription("age", .integer16)]
    item.subentities = [tool, toy]
    let shelf = EntityDescription("Shelf")
    let count = DerivedAttributeDescription()
    count.name = "itemCount"
    count.type = .integer64
    count.derivationExpressionFormat = "items.@count"
    shelf.properties = [
      AttributeDescription("name", .string), count,
      RelationshipDescription("items", to: "Item", inverse: "shelf", toMany: true, isOrdered: true),
    ]
    let label = EntityDescription("Label")
    label.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("items", to: "Item", inverse: "labels", toMany: true),
      RelationshipDescription("people", to: "Person", inverse: "labels", toMany: true),
    ]
    let person = EntityDescription("Person")
    person.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("tool", to: "Tool", inverse: "owner"),
      RelationshipDescription(
        "labels", to: "Label", inverse: "people", toMany: true, isOrdered: true),
    ]
    person.deletePolicy = .editWins
    var entities = [item, tool, toy, shelf, label, person]
    if isNewer {
      let offer = EntityDescription("Offer")
      offer.properties = [AttributeDescription("percent", .integer16)]
      entities.append(offer)
    }
    let model = ManagedObjectModel(entities: entities)
    try model.freeze()
    return model
  }
}
