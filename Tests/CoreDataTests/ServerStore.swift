import CoreData
import TestSupport

/// Rows as a server has them: relationships to one are names of other rows. It sorts and cuts as it is asked, and lets tests look on.
final class ServerStore: NSIncrementalStore, @unchecked Sendable {  // its rows are behind a lock
  typealias Rows = [String: [String: [String: Any]]]

  let uuid = UUID().uuidString
  private let guardian = NSLock()
  private var kept: Rows = [:]
  private var askedFor: [(limit: Int, offset: Int)] = []
  /// What is done first when a save comes; where it throws, nothing is saved.
  var saving: ((NSSaveChangesRequest, NSManagedObjectContext?) throws -> Void)?
  /// Called with the name of a row before it is read, and with that of an object and a relationship.
  var reading: ((String) throws -> Void)?
  /// Called before new objects get their names.
  var naming: (([NSManagedObject]) -> Void)?

  var rows: Rows {
    get { guardian.withLock { kept } }
    set { guardian.withLock { kept = newValue } }
  }
  /// How far each fetch was cut.
  var cuts: [(limit: Int, offset: Int)] { guardian.withLock { askedFor } }

  static func add(
    to coordinator: NSPersistentStoreCoordinator, _ rows: Rows, at path: String = "/nowhere/shop"
  ) throws -> ServerStore {
    NSPersistentStoreCoordinator.registerStoreClass(ServerStore.self, forStoreType: "Server")
    let added = try coordinator.addPersistentStore(
      ofType: "Server", configurationName: nil, at: URL(fileURLWithPath: path))
    guard let store = added as? ServerStore else { throw CocoaError(.persistentStoreOpen) }
    store.rows = rows
    return store
  }

  override var type: String { "Server" }

  override func loadMetadata() throws {
    metadata = [NSStoreUUIDKey: uuid, NSStoreTypeKey: "Server"]
  }

  func id(_ entity: String, _ name: String) -> NSManagedObjectID {
    guard let entity = persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity] else {
      preconditionFailure("The model has no \(entity)")
    }
    return newObjectID(for: entity, referenceObject: name)
  }

  override func execute(
    _ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?
  ) throws -> Any {
    if let request = request as? NSFetchRequest<any NSFetchRequestResult> {
      return try found(by: request, context)
    }
    guard let save = request as? NSSaveChangesRequest else {
      throw CocoaError(.persistentStoreUnsupportedRequestType)
    }
    try saving?(save, context)
    for object in (save.insertedObjects ?? []).union(save.updatedObjects ?? []) {
      var row: [String: Any] = [:]
      for name in object.entity.attributesByName.keys { row[name] = object.value(forKey: name) }
      for (name, relationship) in object.entity.relationshipsByName where !relationship.isToMany {
        guard let other = object.value(forKey: name) as? NSManagedObject else { continue }
        row[name] = referenceObject(for: other.objectID)
      }
      rows[object.entity.name ?? "", default: [:]][reference(object.objectID)] = row
    }
    for object in save.deletedObjects ?? [] {
      rows[object.entity.name ?? ""]?[reference(object.objectID)] = nil
    }
    return []
  }

  private func found(
    by request: NSFetchRequest<any NSFetchRequestResult>, _ context: NSManagedObjectContext?
  ) throws -> Any {
    guard let entity = request.entity, let context else { return "nothing" }
    guardian.withLock { askedFor.append((request.fetchLimit, request.fetchOffset)) }
    var all = (rows[entity.name ?? ""] ?? [:]).filter { row in
      request.predicate?.evaluate(with: row.value) ?? true
    }
    .sorted { $0.key < $1.key }
    if request.resultType == .dictionaryResultType { return all.map(\.value) }
    if let sort = request.sortDescriptors?.first, let key = sort.key {
      all.sort { one, other in
        let (left, right) = ("\(one.value[key] ?? "")", "\(other.value[key] ?? "")")
        return sort.ascending ? left < right : right < left
      }
    }
    all = Array(all.dropFirst(request.fetchOffset))
    if request.fetchLimit > 0 { all = Array(all.prefix(request.fetchLimit)) }
    if request.resultType == .countResultType { return [NSNumber(value: all.count)] }
    return all.map { context.object(with: newObjectID(for: entity, referenceObject: $0.key)) }
  }

  private func reference(_ id: NSManagedObjectID) -> String {
    referenceObject(for: id) as? String ?? ""
  }

  override func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    let name = reference(objectID)
    // What is answered is what was there when it was asked.
    let row = rows[objectID.entity.name ?? ""]?[name]
    try reading?(name)
    guard var values = row else { throw CocoaError(.managedObjectReferentialIntegrity) }
    for (key, relationship) in objectID.entity.relationshipsByName where !relationship.isToMany {
      guard let destination = relationship.destinationEntity else { continue }
      values[key] =
        values[key].map { newObjectID(for: destination, referenceObject: $0) } ?? NSNull()
    }
    return NSIncrementalStoreNode(objectID: objectID, withValues: values, version: 1)
  }

  override func newValue(
    forRelationship relationship: NSRelationshipDescription,
    forObjectWith objectID: NSManagedObjectID, with context: NSManagedObjectContext?
  ) throws -> Any {
    guard let destination = relationship.destinationEntity,
      let inverse = relationship.inverseRelationship?.name
    else { return NSNull() }
    let owner = reference(objectID)
    let members = (rows[destination.name ?? ""] ?? [:])
      .filter { $0.value[inverse] as? String == owner }
      .keys.sorted()
    try reading?("\(owner).\(relationship.name)")
    return members.map { newObjectID(for: destination, referenceObject: $0) }
  }

  override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    naming?(array)
    return array.map { newObjectID(for: $0.entity, referenceObject: "new-\(UUID().uuidString)") }
  }
}
