public import Driftless
import Foundation

/// The entities that requests for the history name: they describe what predicates may ask.
enum HistoryEntities {
  static let transaction = entity("Transaction", of: model)
  static let change = entity("Change", of: model)

  private static let model: NSManagedObjectModel = {
    let transaction = NSEntityDescription()
    transaction.name = "Transaction"
    transaction.properties = [
      ("author", .stringAttributeType), ("bundleID", .stringAttributeType),
      ("contextName", .stringAttributeType), ("processID", .stringAttributeType),
      ("timestamp", .dateAttributeType), ("token", .integer64AttributeType),
      ("transactionNumber", .integer64AttributeType),
    ].map(attribute)
    let change = NSEntityDescription()
    change.name = "Change"
    change.properties = [
      ("changeID", .integer64AttributeType), ("changeType", .integer64AttributeType),
      ("changedEntity", .stringAttributeType), ("changedObjectID", .objectIDAttributeType),
    ].map(attribute)
    let (owner, changes) = (NSRelationshipDescription(), NSRelationshipDescription())
    (owner.name, changes.name) = ("transaction", "changes")
    (owner.destinationEntity, changes.destinationEntity) = (transaction, change)
    (owner.maxCount, changes.maxCount) = (1, 0)
    (owner.inverseRelationship, changes.inverseRelationship) = (changes, owner)
    change.properties.append(owner)
    transaction.properties.append(changes)
    let model = NSManagedObjectModel()
    model.entities = [transaction, change]
    return model
  }()

  private static func entity(_ name: String, of model: NSManagedObjectModel) -> NSEntityDescription
  {
    model.entitiesByName[name] ?? NSEntityDescription()
  }

  private static func attribute(
    _ name: String, _ type: NSAttributeType
  ) -> NSPropertyDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = true
    return attribute
  }

  /// What a request for one of the two asks for; nil for one of other entities.
  static func target<T>(of request: NSFetchRequest<T>) -> PersistentHistoryFetchRequest.Target? {
    if let target = request.historyTarget { return target }
    if request.entity === transaction { return .transaction }
    return request.entity === change ? .change : nil
  }
}

extension NSPersistentHistoryTransaction {
  /// What a fetch request of transactions names as its entity, and its predicate may ask.
  public static var entityDescription: NSEntityDescription? { HistoryEntities.transaction }

  /// The same for every context.
  public static func entityDescription(
    with context: NSManagedObjectContext
  ) -> NSEntityDescription? {
    entityDescription
  }
}

extension NSPersistentHistoryChange {
  /// What a fetch request of changes names as its entity, and its predicate may ask.
  public static var entityDescription: NSEntityDescription? { HistoryEntities.change }

  /// The same for every context.
  public static func entityDescription(
    with context: NSManagedObjectContext
  ) -> NSEntityDescription? {
    entityDescription
  }
}
