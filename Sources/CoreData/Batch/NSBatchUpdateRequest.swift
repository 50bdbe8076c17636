import Driftless
public import Foundation

/// Sets properties of all objects that a predicate finds, without a context: no callbacks, no validation but unique
/// constraints. All of it is one transaction of the history.
open class NSBatchUpdateRequest: NSPersistentStoreRequest {
  /// The name of the entity of the objects.
  public let entityName: String
  private let ownEntity: NSEntityDescription?
  /// All objects when nil.
  open var predicate: NSPredicate?
  /// By name or property description: a value, `NSNull`, an `NSExpression` that is computed for each object from what it
  /// was before, or the ID of an object.
  open var propertiesToUpdate: [AnyHashable: Any]?
  /// Objects of subentities too.
  open var includesSubentities = true
  /// What the result tells.
  open var resultType = NSBatchUpdateRequestResultType.statusOnlyResultType

  /// A request that changes nothing until `propertiesToUpdate` is set.
  public init(entityName: String) {
    self.entityName = entityName
    ownEntity = nil
  }

  /// A request that changes nothing until `propertiesToUpdate` is set.
  public init(entity: NSEntityDescription) {
    entityName = entity.knownName
    ownEntity = entity
  }

  /// The entity that the request was made with. Of a request by name it is a precondition failure.
  open var entity: NSEntityDescription {
    guard let ownEntity else { preconditionFailure("The request was made with a name") }
    return ownEntity
  }

  open override var requestType: NSPersistentStoreRequestType { .batchUpdateRequestType }

  override var batchEntityName: String? { entityName }

  override func run(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    var request = BatchUpdateRequest(entityName: entityName)
    request.predicate = try predicate?.known(in: context)
    let model = context.persistentStoreCoordinator?.managedObjectModel
    if let entity = model?.entitiesByName[entityName] {
      request.predicate = request.predicate?.takingNumbers(of: entity)
    }
    request.includesSubentities = includesSubentities
    if let affectedStores { request.affectedStores = affectedStores }
    request.resultType = BatchResultType(rawValue: Int(resultType.rawValue)) ?? .statusOnly
    let attributes = context.attributes(ofEntityNamed: entityName)
    for (key, value) in propertiesToUpdate ?? [:] {
      let name = (key.base as? PropertyDescription)?.name ?? "\(key.base)"
      if let archive = attributes[name]?.archive(ofUpdate: value) {
        request.propertiesToUpdate.updateValue(archive, forKey: name)
      } else if let expression = value as? NSExpression {
        request.propertiesToUpdate[name] = .some(try expression.outcome.get())
      } else {
        request.propertiesToUpdate.updateValue(value, forKey: name)
      }
    }
    return NSBatchUpdateResult(try context.base.execute(request), resultType)
  }
}

extension AttributeDescription {
  /// What a transformable attribute is to be set to, of the value itself: an expression may have none for it. Nil for what is to be
  /// computed, and for another attribute.
  fileprivate func archive(ofUpdate value: Any) -> Any? {
    guard type == .transformable else { return nil }
    guard let expression = value as? NSExpression else { return archived(value) }
    return expression.expressionType == .constantValue ? archived(expression.constantValue) : nil
  }
}

/// What a batch update did.
open class NSBatchUpdateResult: NSPersistentStoreResult {
  /// What the request asked for.
  public let resultType: NSBatchUpdateRequestResultType
  /// That it was done, as a `Bool`; the IDs of the objects, in an array; or how many, as an `Int`.
  public let result: Any?

  init(_ result: BatchResult, _ type: NSBatchUpdateRequestResultType) {
    resultType = type
    self.result = result.value
  }
}
