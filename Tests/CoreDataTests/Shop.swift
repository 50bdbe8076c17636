import CoreData
import TestSupport

/// A shop's model in code, as an application writes it, and containers on real files.
enum Shop {
  static func model() -> NSManagedObjectModel {
    let item = NSEntityDescription()
    item.name = "Item"
    item.managedObjectClassName = NSStringFromClass(Item.self)
    let order = NSEntityDescription()
    order.name = "Order"
    order.managedObjectClassName = NSStringFromClass(Order.self)

    let items = relationship("items", to: item, max: 0)
    let orders = relationship("order", to: order, max: 1)
    items.inverseRelationship = orders
    orders.inverseRelationship = items
    items.deleteRule = .cascadeDeleteRule

    let name = attribute("name", .stringAttributeType)
    name.isOptional = false
    let price = attribute("price", .integer32AttributeType)
    price.defaultValue = 0
    let weight = attribute("weight", .doubleAttributeType)
    weight.defaultValue = 1
    item.properties = [
      name, price, weight, attribute("isSold", .booleanAttributeType),
      attribute("made", .dateAttributeType), attribute("code", .UUIDAttributeType),
      attribute("cost", .decimalAttributeType), attribute("photo", .binaryDataAttributeType),
      attribute("rating", .floatAttributeType), orders,
    ]
    item.uniquenessConstraints = [["code"]]
    order.properties = [attribute("number", .integer64AttributeType), items]

    let model = NSManagedObjectModel()
    model.entities = [item, order]
    return model
  }

  static func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = true
    return attribute
  }

  /// A model of a person with texts of these names.
  static func person(_ names: String...) -> NSManagedObjectModel {
    let person = NSEntityDescription()
    person.name = "Person"
    person.properties = names.map { attribute($0, .stringAttributeType) }
    let model = NSManagedObjectModel()
    model.entities = [person]
    return model
  }

  static func relationship(
    _ name: String, to entity: NSEntityDescription, max: Int
  ) -> NSRelationshipDescription {
    let relationship = NSRelationshipDescription()
    relationship.name = name
    relationship.destinationEntity = entity
    relationship.minCount = 0
    relationship.maxCount = max
    relationship.deleteRule = .nullifyDeleteRule
    relationship.isOptional = true
    return relationship
  }

  /// A container with a store in a file of its own.
  static func container(
    _ folder: TemporaryDirectory, name: String = "Shop"
  ) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: name, managedObjectModel: model())
    let url = folder.file("\(name).sqlite")
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    return container
  }
}

final class Item: NSManagedObject {
  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }
  var price: Int32 {
    get { value(forKey: "price") as? Int32 ?? 0 }
    set { setValue(newValue, forKey: "price") }
  }
  var order: Order? {
    get { value(forKey: "order") as? Order }
    set { setValue(newValue, forKey: "order") }
  }
}

extension Item {
  class func fetchRequest() -> NSFetchRequest<Item> { NSFetchRequest<Item>(entityName: "Item") }
}

final class Order: NSManagedObject {
  var items: Set<Item> {
    get { value(forKey: "items") as? Set<Item> ?? [] }
    set { setValue(newValue, forKey: "items") }
  }
}
