import CoreData
import Synchronization
import TestSupport
import Testing

/// Stores that an application reads object by object.
struct IncrementalStoreTests {
  private let coordinator: NSPersistentStoreCoordinator
  private let store: RemoteStore
  private let context: NSManagedObjectContext

  init() throws {
    NSPersistentStoreCoordinator.registerStoreClass(RemoteStore.self, forStoreType: "Remote")
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let added = try coordinator.addPersistentStore(
      ofType: "Remote", configurationName: nil, at: URL(fileURLWithPath: "/nowhere/shop"))
    store = try #require(added as? RemoteStore)
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    store.rows = [
      "Item": [
        "lamp": ["name": "Lamp", "price": 5, "order": "first"],
        "chair": ["name": "Chair", "price": 3, "order": "first"],
        "table": ["name": "Table", "price": 9],
      ],
      "Order": ["first": ["number": 1]],
    ]
  }

  private var request: NSFetchRequest<Item> {
    let request = NSFetchRequest<Item>(entityName: "Item")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return request
  }

  @Test("A fetch asks the store, and faults are filled one by one as they are read")
  func fetching() throws {
    try context.performAndWait {
      let asked = request
      asked.predicate = NSPredicate(format: "price > 3")
      let items = try context.fetch(asked)
      #expect(items.allSatisfy(\.isFault) && store.read.isEmpty)
      #expect(items.map(\.name) == ["Lamp", "Table"])
      #expect(store.read == ["lamp", "table"])
      #expect(items[0].objectID.persistentStore === store)
      #expect(store.referenceObject(for: items[0].objectID) as? String == "lamp")
      #expect(store.registered.count == 2)
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Item")
      ids.resultType = .managedObjectIDResultType
      #expect(try context.fetch(ids).count == 3 && context.count(for: request) == 3)
      let rows = NSFetchRequest<NSDictionary>(entityName: "Item")
      rows.resultType = .dictionaryResultType
      #expect(try context.fetch(rows).compactMap { $0["name"] as? String }.count == 3)
    }
  }

  @Test("The store is asked for what the request asks for, unless unsaved changes count")
  func resultTypes() throws {
    try context.performAndWait {
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Item")
      ids.resultType = .managedObjectIDResultType
      let found = try context.fetch(ids)
      #expect(found.count == 3 && store.asked == [.managedObjectIDResultType])
      #expect(try context.count(for: request) == 3)
      #expect(store.asked.last == .countResultType && store.read.isEmpty)
      let counts = NSFetchRequest<NSNumber>(entityName: "Item")
      counts.resultType = .countResultType
      #expect(try context.fetch(counts) == [3])
      Item(context: context).name = "Stool"
      #expect(try context.count(for: request) == 4)
      #expect(store.asked.last == .managedObjectResultType)
      counts.includesPendingChanges = false
      #expect(try context.fetch(counts) == [3])
      #expect(store.asked.last == .countResultType)
    }
  }

  @Test("Relationships are asked for: to one in the values, to many by themselves")
  func relationships() throws {
    try context.performAndWait {
      let lamp = try #require(try context.fetch(request).first { $0.name == "Lamp" })
      let order = try #require(lamp.order)
      #expect(order.isFault && order.value(forKey: "number") as? Int == 1)
      #expect(Set(order.items.map(\.name)) == ["Lamp", "Chair"])
      #expect(store.relationships == ["items"])
      let table = try #require(try context.fetch(request).first { $0.name == "Table" })
      #expect(table.order == nil)
    }
  }

  @Test("A save is a request with the objects, and what it wrote is read again")
  func saving() throws {
    try context.performAndWait {
      let items = try context.fetch(request)
      let (chair, lamp) = (items[0], items[1])
      lamp.price = 50
      context.delete(chair)
      let stool = Item(context: context)
      stool.name = "Stool"
      stool.order = lamp.order
      #expect(try context.fetch(request).map(\.name) == ["Lamp", "Stool", "Table"])
      try context.save()
      #expect(!stool.objectID.isTemporaryID && !context.hasChanges)
      let saved = store.rows["Item"] ?? [:]
      #expect(saved["chair"] == nil && saved["lamp"]?["price"] as? Int == 50)
      let made = try #require(store.referenceObject(for: stool.objectID) as? String)
      #expect(saved[made]?["name"] as? String == "Stool")
      #expect(saved[made]?["order"] as? String == "first")
    }
    let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    other.parent = context
    try other.performAndWait {
      let prices = try other.fetch(request).map(\.price)
      #expect(prices == [50, 0, 9])
    }
  }

  @Test("What a merge policy saves keeps its references to objects that nobody has read")
  func conflictKeepsReferences() throws {
    let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    other.persistentStoreCoordinator = coordinator
    other.mergePolicy = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    let seen = try other.performAndWait {
      let lamp = try #require(try other.fetch(request).first { $0.name == "Lamp" })
      #expect(lamp.price == 5)
      return lamp
    }
    try context.performAndWait {
      let lamp = try #require(try context.fetch(request).first { $0.name == "Lamp" })
      lamp.price = 6
      try context.save()
    }
    try other.performAndWait {
      seen.price = 7
      try other.save()
    }
    let saved = try #require(store.rows["Item"]?["lamp"])
    #expect(saved["price"] as? Int == 7 && saved["order"] as? String == "first")
  }

  @Test("What changed elsewhere shows in a refresh, and what is gone is an error")
  func changesElsewhere() throws {
    try context.performAndWait {
      let lamp = try #require(try context.fetch(request).first { $0.name == "Lamp" })
      store.rows["Item"]?["lamp"]?["price"] = 6
      #expect(lamp.price == 5)
      context.refresh(lamp, mergeChanges: false)
      #expect(lamp.price == 6)
      store.rows["Item"]?["lamp"] = nil
      let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      other.persistentStoreCoordinator = coordinator
      let error = #expect(throws: CocoaError.self) {
        try other.performAndWait { _ = try other.existingObject(with: lamp.objectID) }
      }
      #expect(error?.code == .managedObjectReferentialIntegrity)
    }
  }

  @Test("A save that the store refuses fails, and the objects keep their changes")
  func failure() throws {
    try context.performAndWait {
      let lamp = try #require(try context.fetch(request).first { $0.name == "Lamp" })
      lamp.price = 7
      store.failure = CocoaError(.fileWriteNoPermission)
      #expect(throws: CocoaError(.fileWriteNoPermission)) { try context.save() }
      #expect(lamp.isUpdated && store.rows["Item"]?["lamp"]?["price"] as? Int == 5)
      store.failure = nil
      try context.save()
      #expect(store.rows["Item"]?["lamp"]?["price"] as? Int == 7)
      store.answers = false
      #expect(throws: CocoaError.self) { try context.fetch(request) }
    }
  }

  @Test("A node has values and a version, and takes others")
  func nodes() throws {
    let item = try #require(coordinator.managedObjectModel.entitiesByName["Item"])
    let name = try #require(item.propertiesByName["name"])
    let node = NSIncrementalStoreNode(
      objectID: store.newObjectID(for: item, referenceObject: 12), withValues: ["name": "a"],
      version: 1)
    #expect(node.objectID.uriRepresentation().lastPathComponent == "p12")
    #expect(node.value(for: name) as? String == "a" && node.version == 1)
    node.update(withValues: ["name": "b"], version: 2)
    #expect(node.value(for: name) as? String == "b" && node.version == 2)
    #expect(store.metadata[NSStoreTypeKey] as? String == "Remote")
    #expect(store.identifier == store.uuid)
  }
}

/// Rows in dictionaries, as a server would have them: to-one relationships are names of other rows.
private final class RemoteStore: NSIncrementalStore, @unchecked Sendable {  // used by one test
  let uuid = UUID().uuidString
  var rows: [String: [String: [String: Any]]] = [:]
  private(set) var read: [String] = []
  private(set) var asked: [NSFetchRequestResultType] = []
  private(set) var relationships: [String] = []
  private(set) var registered: [NSManagedObjectID] = []
  var failure: CocoaError?
  var answers = true

  override var type: String { "Remote" }

  override func loadMetadata() throws {
    // Tests that run at once have stores of their own, which are told apart by this.
    metadata = [NSStoreUUIDKey: uuid, NSStoreTypeKey: "Remote"]
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
    if let failure { throw failure }
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
    guard answers, let entity = request.entity, let context else { return "nothing" }
    asked.append(request.resultType)
    let all = (rows[entity.name ?? ""] ?? [:]).filter { row in
      request.predicate?.evaluate(with: row.value) ?? true
    }
    if request.resultType == .dictionaryResultType { return Array(all.values) }
    if request.resultType == .countResultType { return [NSNumber(value: all.count)] }
    return all.sorted { "\($0.value["name"] ?? "")" < "\($1.value["name"] ?? "")" }
      .map { context.object(with: newObjectID(for: entity, referenceObject: $0.key)) }
  }

  private func reference(_ id: NSManagedObjectID) -> String {
    referenceObject(for: id) as? String ?? ""
  }

  override func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    let name = reference(objectID)
    guard var values = rows[objectID.entity.name ?? ""]?[name] else {
      throw CocoaError(.managedObjectReferentialIntegrity)
    }
    read.append(name)
    for (key, relationship) in objectID.entity.relationshipsByName where !relationship.isToMany {
      guard let destination = relationship.destinationEntity else { continue }
      values[key] =
        values[key].map {
          newObjectID(for: destination, referenceObject: $0)
        } ?? NSNull()
    }
    return NSIncrementalStoreNode(objectID: objectID, withValues: values, version: 1)
  }

  override func newValue(
    forRelationship relationship: NSRelationshipDescription,
    forObjectWith objectID: NSManagedObjectID, with context: NSManagedObjectContext?
  ) throws -> Any {
    relationships.append(relationship.name)
    guard let destination = relationship.destinationEntity,
      let inverse = relationship.inverseRelationship?.name
    else { return NSNull() }
    let owner = reference(objectID)
    return (rows[destination.name ?? ""] ?? [:])
      .filter { $0.value[inverse] as? String == owner }
      .map { newObjectID(for: destination, referenceObject: $0.key) }
  }

  override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    array.map { newObjectID(for: $0.entity, referenceObject: "new-\(UUID().uuidString)") }
  }

  override func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {
    registered += objectIDs
  }

  override func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {
    Issue.record("it is called never")
  }

  override class func identifierForNewStore(at storeURL: URL) -> Any {
    let given = super.identifierForNewStore(at: storeURL)
    #expect(given is String)
    return given
  }
}
