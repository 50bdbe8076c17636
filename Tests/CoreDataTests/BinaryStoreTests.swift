import CoreData
import TestSupport
import Testing

/// Stores of type `NSBinaryStoreType`.
struct BinaryStoreTests {
  private let folder: TemporaryDirectory
  private var url: URL { folder.file("a.binary") }

  init() throws { folder = try TemporaryDirectory() }

  private func container() throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Shop", managedObjectModel: Shop.model())
    let description = NSPersistentStoreDescription(url: url)
    description.type = NSBinaryStoreType
    container.persistentStoreDescriptions = [description]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    return container
  }

  private func fill(_ count: Int = 1) throws -> NSPersistentContainer {
    let container = try container()
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let order = Order(context: context)
      order.setValue(1, forKey: "number")
      for number in 0..<count {
        let item = Item(context: context)
        item.name = "Item \(number)"
        item.order = order
        item.setValue(UUID(), forKey: "code")
      }
      try context.save()
    }
    return container
  }

  @Test("An SQLite store that is open is refused as a binary one, and keeps its locks")
  func sqlite() throws {
    let container = NSPersistentContainer(name: "Shop", managedObjectModel: Shop.model())
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
    container.loadPersistentStores { _, error in #expect(error == nil) }
    let held = HeldLocks(on: url)
    #expect(held.locks.count >= 2)
    let error = #expect(throws: (any Error).self) { _ = try self.container() }
    #expect("\(error as Any)".contains("SQLite"))
    #expect(held.lost == [])
  }

  @Test("A binary store gives back every type of value, the relationships, and its metadata")
  func roundTrip() throws {
    let code = UUID()
    let made = Date(timeIntervalSinceReferenceDate: 7.25)
    let first = try container()
    let context = first.newBackgroundContext()
    let uri = try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp\u{301}"
      item.price = -3
      item.setValuesForKeys([
        "weight": Double.infinity, "isSold": true, "made": made, "code": code,
        "cost": Decimal(string: "12.345678901234567890") as Any,
        "photo": Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0) }), "rating": Float(0.1),
      ])
      item.order = Order(context: context)
      try context.save()
      return item.objectID.uriRepresentation()
    }
    let second = try container()
    let coordinator = second.persistentStoreCoordinator
    let store = try #require(coordinator.persistentStores.first)
    #expect(store.type == NSBinaryStoreType && store.url == url)
    #expect(store.identifier == first.persistentStoreCoordinator.persistentStores[0].identifier)
    let other = second.newBackgroundContext()
    try other.performAndWait {
      let id = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
      let item = try #require(try other.existingObject(with: id) as? Item)
      #expect(item.name == "Lamp\u{301}" && item.price == -3)
      #expect(item.value(forKey: "weight") as? Double == .infinity)
      #expect(item.value(forKey: "isSold") as? Bool == true)
      #expect(item.value(forKey: "made") as? Date == made)
      #expect(item.value(forKey: "code") as? UUID == code)
      #expect(item.value(forKey: "cost") as? Decimal == Decimal(string: "12.345678901234567890"))
      #expect((item.value(forKey: "photo") as? Data)?.count == 2_000_000)
      #expect(item.value(forKey: "rating") as? Float == 0.1)
      #expect(item.order?.items == [item])
    }
    let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      type: .binary, at: url)
    #expect(read[NSStoreTypeKey] as? String == NSBinaryStoreType)
    try NSPersistentStoreCoordinator.setMetadata(["note": 1], type: .binary, at: url)
    let changed = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      type: .binary, at: url)
    #expect(changed["note"] as? Int == 1)
    #expect(changed[NSStoreUUIDKey] as? String == read[NSStoreUUIDKey] as? String)
  }

  @Test("Keys go on where they ended, over more objects than one list of the file has")
  func many() throws {
    _ = try fill(1200)
    let container = try container()
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let request = NSFetchRequest<Item>(entityName: "Item")
      request.predicate = NSPredicate(format: "name ENDSWITH '99'")
      #expect(try context.fetch(request).count == 12)
      let item = Item(context: context)
      item.name = "New"
      try context.save()
      #expect(item.objectID.uriRepresentation().lastPathComponent == "p1201")
      #expect(try context.count(for: NSFetchRequest<Item>(entityName: "Item")) == 1201)
    }
  }

  @Test("A damaged file is refused and says so, whichever byte is wrong")
  func damage() throws {
    _ = try fill(3)
    let good = try Data(contentsOf: url)
    for place in stride(from: 0, to: good.count, by: max(1, good.count / 40)) {
      var bad = good
      bad[place] ^= 0x55
      try bad.write(to: url)
      #expect(throws: CocoaError.self) { try container() }
      try good.prefix(max(1, place)).write(to: url)
      #expect(throws: CocoaError.self) { try container() }
    }
    try good.write(to: url)
    _ = try container()
  }

  @Test("Another kind of file is refused by its name, with what to do")
  func foreign() throws {
    try Data("bplist00 archive of Core Data".utf8).write(to: url)
    let error = #expect(throws: CocoaError.self) { try container() }
    #expect("\(error.map(String.init(describing:)) ?? "")".contains("on a Mac first"))
    try FileManager.default.removeItem(at: url)
    _ = try Shop.container(folder, name: "sql")
    try FileManager.default.copyItem(at: folder.file("sql.sqlite"), to: url)
    let other = #expect(throws: CocoaError.self) { try container() }
    #expect("\(other.map(String.init(describing:)) ?? "")".contains("SQLite store"))
  }

  @Test("A binary store becomes an SQLite store, and its file is destroyed by type")
  func moving() throws {
    let container = try fill(2)
    let coordinator = container.persistentStoreCoordinator
    let moved = try coordinator.migratePersistentStore(
      coordinator.persistentStores[0], to: folder.file("b.sqlite"), withType: NSSQLiteStoreType)
    #expect(moved.type == NSSQLiteStoreType)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      #expect(try context.count(for: NSFetchRequest<Item>(entityName: "Item")) == 2)
      let item = Item(context: context)
      item.name = "Third"
      try context.save()
      #expect(item.objectID.uriRepresentation().lastPathComponent == "p3")
    }
    #expect(throws: CocoaError.self) {
      try coordinator.migratePersistentStore(moved, to: url, withType: NSBinaryStoreType)
    }
    try coordinator.destroyPersistentStore(at: url, type: .binary)
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test("Two that save one binary store at once leave it whole")
  func twoSavers() throws {
    _ = try fill(1)
    DispatchQueue.concurrentPerform(iterations: 2) { saver in
      do {
        let context = try container().newBackgroundContext()
        for number in 0..<40 {
          try context.performAndWait {
            let item = Item(context: context)
            item.name = "Item \(number) of \(saver)"
            item.setValue(UUID(), forKey: "code")
            item.setValue(Data(count: saver == 0 ? 400_000 : 10), forKey: "photo")
            try context.save()
          }
          _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(
            ofType: NSBinaryStoreType, at: url)
        }
      } catch { Issue.record(error) }
    }
    #expect(!FileManager.default.fileExists(atPath: url.path + ".partial"))
    _ = try container()
  }
}
