import CoreData
import Synchronization
import TestSupport
import Testing

/// Stores whose classes an application writes: nodes of all objects in a file of its own form.
struct AtomicStoreTests {
  private let folder: TemporaryDirectory

  init() throws {
    folder = try TemporaryDirectory()
    NSPersistentStoreCoordinator.registerStoreClass(ListStore.self, forStoreType: "List")
  }

  private func open(
    _ name: String = "a.json", type: String = "List", options: [AnyHashable: Any]? = nil
  ) throws -> (NSPersistentStoreCoordinator, NSManagedObjectContext) {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    try coordinator.addPersistentStore(
      ofType: type, configurationName: nil, at: folder.file(name), options: options)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return (coordinator, context)
  }

  @Test("A class is registered for a type, is made for it, and is taken out again")
  func registration() throws {
    NSPersistentStoreCoordinator.registerStoreClass(ListStore.self, type: .init(rawValue: "Other"))
    #expect(NSPersistentStoreCoordinator.registeredStoreTypes["Other"] == ListStore.self)
    #expect(NSPersistentStoreCoordinator.registeredStoreTypes[NSBinaryStoreType] != nil)
    let (coordinator, _) = try open("other.json", type: "Other")
    let store = try #require(coordinator.persistentStores.first as? ListStore)
    #expect(store.events == ["load", "didAdd"] && store.url == folder.file("other.json"))
    #expect((store as NSPersistentStore).type == "List")
    #expect(store.persistentStoreCoordinator === coordinator)
    try coordinator.remove(store)
    #expect(store.events == ["load", "didAdd", "willRemove"])
    NSPersistentStoreCoordinator.registerStoreClass(nil, forStoreType: "Other")
    #expect(throws: CocoaError.self) { try open("other.json", type: "Other") }
  }

  @Test("A class may make its nodes itself, of new objects and of changed ones")
  func nodes() throws {
    let (coordinator, context) = try open()
    let store = try #require(coordinator.persistentStores.first as? ListStore)
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      try context.save()
      item.name = "Chair"
      try context.save()
    }
    #expect(store.events.contains("new node") && store.events.last == "updated node")
    let alone = ListStore(
      persistentStoreCoordinator: coordinator, configurationName: nil,
      at: folder.file("alone.json"), options: nil)
    #expect(alone.url == folder.file("alone.json") && alone.cacheNodes().isEmpty)
  }

  @Test("What is saved is in the file, and is found again with the same IDs")
  func roundTrip() throws {
    let (_, context) = try open()
    let uri = try context.performAndWait {
      let order = Order(context: context)
      order.setValue(7, forKey: "number")
      for (name, price) in [("Lamp", 5), ("Chair", 3), ("Table", 9)] {
        let item = Item(context: context)
        item.name = name
        item.price = Int32(price)
        item.order = order
      }
      try context.save()
      #expect(!order.objectID.isTemporaryID)
      return order.objectID.uriRepresentation()
    }
    let (coordinator, other) = try open()
    try other.performAndWait {
      let request = NSFetchRequest<Item>(entityName: "Item")
      request.predicate = NSPredicate(format: "price > 3 AND order.number == 7")
      request.sortDescriptors = [NSSortDescriptor(key: "price", ascending: false)]
      let items = try other.fetch(request)
      #expect(items.map(\.name) == ["Table", "Lamp"])
      #expect(items.first?.order?.items.count == 3)
      let id = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
      let order = try other.existingObject(with: id)
      #expect(order.value(forKey: "number") as? Int == 7)
      let store = try #require(coordinator.persistentStores.first as? ListStore)
      #expect(store.referenceObject(for: id) is String && id.persistentStore === store)
      #expect(store.cacheNode(for: id)?.value(forKey: "number") as? Int == 7)
      #expect(store.cacheNodes().count == 4)
    }
  }

  @Test("Changes and deletes reach the nodes, both ends of a relationship too")
  func changes() throws {
    let (coordinator, context) = try open()
    let store = try #require(coordinator.persistentStores.first as? ListStore)
    try context.performAndWait {
      let (lamp, chair) = (Item(context: context), Item(context: context))
      (lamp.name, chair.name) = ("Lamp", "Chair")
      let order = Order(context: context)
      try context.save()
      lamp.price = 12
      lamp.order = order
      try context.save()
      let node = try #require(store.cacheNode(for: lamp.objectID))
      #expect(node.value(forKey: "price") as? Int == 12)
      let orderNode = try #require(store.cacheNode(for: order.objectID))
      #expect(node.value(forKey: "order") as? NSAtomicStoreCacheNode === orderNode)
      #expect(orderNode.value(forKey: "items") as? NSSet == NSSet(object: node))
      context.delete(chair)
      try context.save()
      #expect(store.cacheNode(for: chair.objectID) == nil)
      #expect(store.removed == ["Chair"])
      context.delete(order)
      try context.save()
      #expect(store.cacheNodes().isEmpty)
    }
    let (_, other) = try open()
    let count = try other.performAndWait {
      try other.count(for: NSFetchRequest<Item>(entityName: "Item"))
    }
    #expect(count == 0)
  }

  @Test("A save that the store cannot write fails, and leaves objects, nodes and file as they were")
  func failure() throws {
    let (coordinator, context) = try open()
    let store = try #require(coordinator.persistentStores.first as? ListStore)
    try context.performAndWait {
      let lamp = Item(context: context)
      lamp.name = "Lamp"
      try context.save()
      let before = try Data(contentsOf: folder.file("a.json"))
      lamp.price = 4
      let chair = Item(context: context)
      chair.name = "Chair"
      store.failure = CocoaError(.fileWriteOutOfSpace)
      #expect(throws: CocoaError(.fileWriteOutOfSpace)) { try context.save() }
      #expect(context.hasChanges && chair.isInserted)
      #expect(store.cacheNodes().count == 1)
      #expect(store.cacheNode(for: lamp.objectID)?.value(forKey: "price") as? Int == 0)
      #expect(try Data(contentsOf: folder.file("a.json")) == before)
      store.failure = nil
      try context.save()
      #expect(store.cacheNodes().count == 2 && !context.hasChanges)
    }
  }

  @Test("Two contexts meet in a conflict, and merge, as in any store")
  func conflicts() throws {
    let (coordinator, context) = try open()
    let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    other.persistentStoreCoordinator = coordinator
    other.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    let id = try context.performAndWait {
      let lamp = Item(context: context)
      lamp.name = "Lamp"
      try context.save()
      return lamp.objectID
    }
    try other.performAndWait {
      let lamp = try #require(try other.existingObject(with: id) as? Item)
      #expect(lamp.price == 0)
      try context.performAndWait {
        try context.existingObject(with: id).setValue("Light", forKey: "name")
        try context.save()
      }
      lamp.price = 8
      try other.save()
    }
    let node = (coordinator.persistentStores.first as? ListStore)?.cacheNode(for: id)
    #expect(node?.value(forKey: "name") as? String == "Light")
    #expect(node?.value(forKey: "price") as? Int == 8)
  }

  @Test("Metadata are the store's, with its UUID, type and model; another model is refused")
  func metadata() throws {
    let (coordinator, context) = try open()
    let store = try #require(coordinator.persistentStores.first)
    coordinator.setMetadata(["note": "x"], for: store)
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
    }
    let (again, _) = try open()
    let same = try #require(again.persistentStores.first)
    #expect(same.identifier == store.identifier)
    #expect(again.metadata(for: same)["note"] as? String == "x")
    #expect(same.metadata[NSStoreTypeKey] as? String == "List")
    let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: "List", at: folder.file("a.json"))
    #expect(read[NSStoreUUIDKey] as? String == store.identifier)

    let model = Shop.model()
    model.entitiesByName["Item"]?.properties.append(Shop.attribute("size", .doubleAttributeType))
    let error = #expect(throws: CocoaError.self) {
      try NSPersistentStoreCoordinator(managedObjectModel: model).addPersistentStore(
        ofType: "List", configurationName: nil, at: folder.file("a.json"))
    }
    #expect(error?.code == .persistentStoreIncompatibleVersionHash)
  }

  @Test("A store for reading is not written, and batch requests are refused")
  func refusals() throws {
    let (_, context) = try open()
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      try context.save()
      let error = #expect(throws: CocoaError.self) {
        try context.execute(
          NSBatchDeleteRequest(fetchRequest: NSFetchRequest<Item>(entityName: "Item")))
      }
      #expect(error?.code == .persistentStoreUnsupportedRequestType)
    }
    let options = [NSReadOnlyPersistentStoreOption: true as NSNumber]
    let (coordinator, reading) = try open(options: options)
    #expect(coordinator.persistentStores.first?.isReadOnly == true)
    try reading.performAndWait {
      let count = try reading.count(for: NSFetchRequest<Item>(entityName: "Item"))
      #expect(count == 1)
      Item(context: reading).name = "Chair"
      #expect(throws: CocoaError.self) { try reading.save() }
    }
  }
}

/// A store in a property list: an object is a dictionary, and refers to others by their references.
private final class ListStore: NSAtomicStore, @unchecked Sendable {  // used by one test
  private(set) var events: [String] = []
  private(set) var removed: [String] = []
  var failure: CocoaError?

  override var type: String { "List" }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try content(of: url)["metadata"] as? [String: Any] ?? [:]
  }

  private class func content(of url: URL) throws -> [String: Any] {
    let list = try PropertyListSerialization.propertyList(
      from: Data(contentsOf: url), format: nil)
    return list as? [String: Any] ?? [:]
  }

  override func load() throws {
    events.append("load")
    guard let url, FileManager.default.fileExists(atPath: url.path) else { return }
    let objects = try Self.content(of: url)["objects"] as? [[String: Any]] ?? []
    var nodes: [String: NSAtomicStoreCacheNode] = [:]
    for object in objects {
      guard let name = object["entity"] as? String, let reference = object["id"] as? String,
        let entity = persistentStoreCoordinator?.managedObjectModel.entitiesByName[name]
      else { throw CocoaError(.fileReadCorruptFile) }
      let node = NSAtomicStoreCacheNode(
        objectID: objectID(for: entity, withReferenceObject: reference))
      for (key, value) in object["values"] as? [String: Any] ?? [:] {
        node.setValue(value, forKey: key)
      }
      nodes[reference] = node
    }
    for object in objects {
      let node = nodes[object["id"] as? String ?? ""]
      for (key, others) in object["to-one"] as? [String: String] ?? [:] {
        node?.setValue(nodes[others], forKey: key)
      }
    }
    addCacheNodes(Set(nodes.values))
  }

  override func save() throws {
    if let failure { throw failure }
    let objects = cacheNodes().map { node -> [String: Any] in
      var values: [String: Any] = [:]
      var toOne: [String: String] = [:]
      for (key, value) in node.propertyCache ?? [:] {
        guard let key = key as? String else { continue }
        if let other = value as? NSAtomicStoreCacheNode {
          toOne[key] = referenceObject(for: other.objectID) as? String
        } else if !(value is NSSet) {
          values[key] = value
        }
      }
      return [
        "entity": node.objectID.entity.name ?? "", "values": values, "to-one": toOne,
        "id": referenceObject(for: node.objectID),
      ]
    }
    let list: [String: Any] = ["metadata": metadata ?? [:], "objects": objects]
    let data = try PropertyListSerialization.data(
      fromPropertyList: list, format: .binary, options: 0)
    if let url { try data.write(to: url, options: .atomic) }
  }

  override func newReferenceObject(for managedObject: NSManagedObject) -> Any {
    "\(managedObject.entity.name ?? "")-\(UUID().uuidString)"
  }

  override func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
    events.append("new node")
    return super.newCacheNode(for: managedObject)
  }

  override func updateCacheNode(
    _ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject
  ) {
    events.append("updated node")
    super.updateCacheNode(node, from: managedObject)
  }

  override func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {
    removed += cacheNodes.compactMap { $0.value(forKey: "name") as? String }
  }

  override func didAdd(to coordinator: NSPersistentStoreCoordinator) { events.append("didAdd") }

  override func willRemove(from coordinator: NSPersistentStoreCoordinator?) {
    events.append("willRemove")
  }
}
