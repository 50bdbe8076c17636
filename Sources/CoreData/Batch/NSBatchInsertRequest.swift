import Driftless
public import Foundation

/// Inserts rows without a context: no callbacks, no validation but unique constraints. All of it is one transaction of the
/// history.
open class NSBatchInsertRequest: NSPersistentStoreRequest {
  /// The name of the entity of the new objects.
  public let entityName: String
  /// The entity, where the request was made with one.
  public let entity: NSEntityDescription?
  /// An object for each dictionary of attributes by name.
  open var objectsToInsert: [[String: Any]]?
  /// Fills a dictionary for each object, until it returns true.
  open var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
  /// Fills an object for each row, until it returns true. The object is good for that call only.
  open var managedObjectHandler: ((NSManagedObject) -> Bool)?
  /// What the result tells.
  open var resultType = NSBatchInsertRequestResultType.statusOnly

  private init(_ name: String, _ entity: NSEntityDescription?) {
    entityName = name
    self.entity = entity
  }

  /// A request without an entity, which fails when it is carried out: use one of the other initialisers.
  public override convenience init() { self.init("", nil) }

  /// Inserts an object for each dictionary of attributes by name.
  public convenience init(entityName: String, objects dictionaries: [[String: Any]]) {
    self.init(entityName, nil)
    objectsToInsert = dictionaries
  }

  /// Inserts an object for each dictionary of attributes by name.
  public convenience init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
    self.init(entity.knownName, entity)
    objectsToInsert = dictionaries
  }

  /// Inserts an object for each dictionary that the handler fills, until it returns true.
  public convenience init(
    entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool
  ) {
    self.init(entityName, nil)
    dictionaryHandler = handler
  }

  /// Inserts an object for each dictionary that the handler fills, until it returns true.
  public convenience init(
    entity: NSEntityDescription,
    dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool
  ) {
    self.init(entity.knownName, entity)
    dictionaryHandler = handler
  }

  /// Inserts each object that the handler fills, until it returns true.
  public convenience init(
    entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool
  ) {
    self.init(entityName, nil)
    managedObjectHandler = handler
  }

  /// Inserts each object that the handler fills, until it returns true.
  public convenience init(
    entity: NSEntityDescription,
    managedObjectHandler handler: @escaping (NSManagedObject) -> Bool
  ) {
    self.init(entity.knownName, entity)
    managedObjectHandler = handler
  }

  open override var requestType: NSPersistentStoreRequestType { .batchInsertRequestType }

  override var batchEntityName: String? { entityName }

  override func run(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    var request: BatchInsertRequest
    let attributes = context.attributes(ofEntityNamed: entityName)
    if let handler = managedObjectHandler {
      request = BatchInsertRequest(entityName: entityName, managedObjectHandler: handler)
    } else if let handler = dictionaryHandler {
      request = BatchInsertRequest(entityName: entityName) { (row: inout [String: Any?]) in
        let values = NSMutableDictionary()
        let isOver = handler(values)
        row = values.reduce(into: [:]) { row, value in
          let name = "\(value.key)"
          row[name] = attributes.archived(value.value, name)
        }
        return isOver
      }
    } else {
      request = BatchInsertRequest(
        entityName: entityName,
        objects: (objectsToInsert ?? []).map { values in
          var row: [String: Any?] = [:]
          for (name, value) in values { row[name] = attributes.archived(value, name) }
          return row
        })
    }
    if let affectedStores { request.affectedStores = affectedStores }
    request.resultType = BatchResultType(rawValue: Int(resultType.rawValue)) ?? .statusOnly
    return NSBatchInsertResult(try context.base.execute(request), resultType)
  }
}

/// What a batch insert did.
open class NSBatchInsertResult: NSPersistentStoreResult {
  /// What the request asked for.
  public let resultType: NSBatchInsertRequestResultType
  /// That it was done, as a `Bool`; the IDs of the objects, in an array; or how many, as an `Int`.
  public let result: Any?

  init(_ result: BatchResult, _ type: NSBatchInsertRequestResultType) {
    resultType = type
    self.result = result.value
  }
}

extension NSManagedObjectContext {
  /// The attributes of an entity of the context's stores; none where there is no such entity, which the request is refused for.
  func attributes(ofEntityNamed name: String) -> [String: AttributeDescription] {
    base.persistentStoreCoordinator.managedObjectModel.entitiesByName[name]?.attributesByName ?? [:]
  }
}

extension [String: AttributeDescription] {
  /// A value as an attribute's column has it.
  func archived(_ value: Any?, _ name: String) -> Any? {
    self[name].map { $0.archived(value) } ?? value
  }
}

extension BatchResult {
  /// As Core Data gives it.
  var value: Any? {
    switch resultType {
    case .statusOnly: NSNumber(value: true)
    case .objectIDs: objectIDs ?? []
    case .count: NSNumber(value: count ?? 0)
    }
  }
}
