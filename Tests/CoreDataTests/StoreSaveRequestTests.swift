import CoreData
import TestSupport
import Testing

/// What an incremental store is given to save: the objects of the context that saves, and what it reads of them and of others.
struct StoreSaveRequestTests {
  private let coordinator: NSPersistentStoreCoordinator
  private let store: ServerStore
  private let context: NSManagedObjectContext

  init() throws {
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    store = try ServerStore.add(
      to: coordinator,
      [
        "Item": [
          "lamp": ["name": "Lamp", "price": 5, "order": "first"],
          "chair": ["name": "Chair", "price": 3, "order": "first"],
          "table": ["name": "Table", "price": 9],
        ],
        "Order": ["first": ["number": 1], "second": ["number": 2]],
      ])
    context = Albums.context(coordinator)
  }

  private func item(_ name: String, in other: NSManagedObjectContext? = nil) throws -> Item {
    try #require((other ?? context).object(with: store.id("Item", name)) as? Item)
  }

  private func order(_ name: String) throws -> Order {
    try #require(context.object(with: store.id("Order", name)) as? Order)
  }

  /// Saves, and looks at what is handed over.
  private func save(
    _ other: NSManagedObjectContext? = nil,
    _ look: @escaping (NSSaveChangesRequest, NSManagedObjectContext?) throws -> Void
  ) throws {
    var isTold = false
    store.saving = {
      isTold = true
      try look($0, $1)
    }
    defer { store.saving = nil }
    try (other ?? context).save()
    #expect(isTold)
  }

  @Test(
    "They are the context's own, with what changed, and a relationship that nobody read has its objects"
  )
  func ownObjects() throws {
    try context.performAndWait {
      context.transactionAuthor = "editor"
      let order = try order("first")
      order.setValue(7, forKey: "number")
      try save { request, given in
        #expect(given === context && given?.transactionAuthor == "editor")
        let saved = try #require(request.updatedObjects?.first)
        #expect(saved === order && request.updatedObjects?.count == 1 && saved.isUpdated)
        #expect(saved.changedValues()["number"] as? Int == 7)
        #expect(saved.committedValues(forKeys: ["number"])["number"] as? Int == 1)
        let items = try #require(saved.value(forKey: "items") as? Set<Item>)
        #expect(Set(items.map(\.name)) == ["Lamp", "Chair"])
        #expect(items.allSatisfy { !$0.isDeleted && $0.order === order })
      }
      #expect(store.rows["Order"]?["first"]?["number"] as? Int == 7)
      #expect(!context.hasChanges && order.items.count == 2)
      // What was read meanwhile is changed and saved as anything else.
      let lamp = try item("lamp")
      #expect(lamp.name == "Lamp" && !lamp.isDeleted)
      lamp.price = 6
      try context.save()
      #expect(store.rows["Item"]?["lamp"]?["price"] as? Int == 6)
    }
  }

  @Test("An object that nobody read has its values, and is there after the save")
  func relatedObject() throws {
    try context.performAndWait {
      let lamp = try item("lamp")
      lamp.price = 6
      try save { request, _ in
        #expect(request.updatedObjects?.first === lamp && lamp.price == 6)
        let order = try #require(lamp.order)
        #expect(order.value(forKey: "number") as? Int == 1 && !order.isDeleted)
      }
      let order = try #require(lamp.order)
      #expect(!order.isDeleted && order.value(forKey: "number") as? Int == 1)
      order.setValue(4, forKey: "number")
      try context.save()
      #expect(store.rows["Order"]?["first"]?["number"] as? Int == 4)
    }
  }

  @Test("A deleted object has its values, whether it was read or not", arguments: [false, true])
  func deletedObject(isRead: Bool) throws {
    try context.performAndWait {
      let order = try order("second")
      if isRead { #expect(order.value(forKey: "number") as? Int == 2) }
      context.delete(order)
      try save { request, _ in
        let deleted = try #require(request.deletedObjects?.first)
        #expect(deleted === order && deleted.isDeleted)
        #expect(deleted.value(forKey: "number") as? Int == 2)
      }
      #expect(store.rows["Order"]?["second"] == nil && !context.hasChanges)
    }
  }

  @Test("What was moved and what is new are where they are to be, whatever the store had")
  func moved() throws {
    try context.performAndWait {
      let (lamp, first, second) = (try item("lamp"), try order("first"), try order("second"))
      lamp.order = second
      let stool = Item(context: context)
      stool.name = "Stool"
      stool.order = first
      try save { request, _ in
        #expect(request.insertedObjects == [stool] && !stool.objectID.isTemporaryID)
        #expect(Set(first.items.map(\.name)) == ["Chair", "Stool"])
        #expect(second.items.map(\.name) == ["Lamp"] && lamp.order === second)
      }
      #expect(Set(first.items.map(\.name)) == ["Chair", "Stool"])
      #expect(store.rows["Item"]?["lamp"]?["order"] as? String == "second")
      context.refreshAllObjects()
      #expect(second.items.map(\.name) == ["Lamp"])
    }
  }

  @Test("What a merge policy decided is what is handed over")
  func decided() throws {
    let other = Albums.context(coordinator)
    other.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
    let seen = try other.performAndWait {
      let lamp = try item("lamp", in: other)
      #expect(lamp.price == 5)
      return lamp
    }
    try context.performAndWait {
      try item("lamp").price = 6
      try context.save()
    }
    try other.performAndWait {
      seen.price = 7
      seen.name = "Light"
      try save(other) { request, given in
        #expect(given === other && request.updatedObjects == [seen])
        #expect(seen.price == 6 && seen.name == "Light")
      }
      #expect(seen.price == 6 && seen.name == "Light")
    }
    let saved = try #require(store.rows["Item"]?["lamp"])
    #expect(saved["price"] as? Int == 6 && saved["name"] as? String == "Light")
  }

  @Test("Objects whose conflicts are looked for are the locked ones")
  func locked() throws {
    try context.performAndWait {
      let (lamp, chair) = (try item("lamp"), try item("chair"))
      context.detectConflicts(for: chair)
      lamp.price = 8
      try save { request, _ in
        #expect(request.lockedObjects == [chair] && request.updatedObjects == [lamp])
      }
    }
  }

  @Test("What cannot be read meanwhile fails the save, and the next one asks again")
  func unreadable() throws {
    try context.performAndWait {
      let lamp = try item("lamp")
      lamp.price = 6
      store.reading = { if $0 == "first" { throw CocoaError(.fileReadNoPermission) } }
      #expect(throws: CocoaError.self) {
        try save { _, _ in _ = lamp.order?.value(forKey: "number") }
      }
      #expect(lamp.isUpdated && lamp.price == 6)
      store.reading = nil
      try save { _, _ in #expect(lamp.order?.value(forKey: "number") as? Int == 1) }
      #expect(!context.hasChanges)
    }
  }

  @Test("Objects that nobody read are read where new ones get their IDs, and by a merge policy")
  func readingBefore() throws {
    try context.performAndWait {
      let first = try order("first")
      let stool = Item(context: context)
      stool.name = "Stool"
      var numbers: [Int?] = []
      store.naming = { _ in numbers.append(first.value(forKey: "number") as? Int) }
      try context.save()
      #expect(numbers == [1] && !first.isDeleted)
    }
    let other = Albums.context(coordinator)
    let policy = LookingPolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    other.mergePolicy = policy
    let seen = try other.performAndWait {
      let lamp = try item("lamp", in: other)
      #expect(lamp.price == 5)
      return lamp
    }
    try context.performAndWait {
      try item("lamp").price = 6
      try context.save()
    }
    try other.performAndWait {
      seen.price = 7
      try other.save()
      #expect(policy.numbers == [1] && seen.order?.isDeleted == false)
    }
  }

  @Test("A store of another kind that refuses its rows does so before the server is told")
  func told() throws {
    let folder = try TemporaryDirectory()
    // Stores are written in the order of their paths.
    let both = NSPersistentStoreCoordinator(managedObjectModel: Shop.model())
    let server = try ServerStore.add(
      to: both, ["Item": ["lamp": ["name": "Lamp", "price": 5]]], at: "/a")
    let file = try both.addPersistentStore(type: .sqlite, at: folder.file("a.sqlite"))
    let (one, two) = (Albums.context(both), Albums.context(both))
    let id = try one.performAndWait {
      let stool = Item(context: one)
      stool.name = "Stool"
      one.assign(stool, to: file)
      try one.save()
      return stool.objectID
    }
    let (lamp, stool) = try two.performAndWait {
      let lamp = try #require(two.object(with: server.id("Item", "lamp")) as? Item)
      let stool = try #require(try two.existingObject(with: id) as? Item)
      #expect(lamp.price == 5 && stool.price == 0)
      return (lamp, stool)
    }
    try one.performAndWait {
      try one.existingObject(with: id).setValue(1, forKey: "price")
      try one.save()
    }
    server.saving = { _, _ in Issue.record("the server was told of a save that failed") }
    try two.performAndWait {
      (lamp.price, stool.price) = (6, 2)
      let error = #expect(throws: CocoaError.self) { try two.save() }
      #expect(error?.code == .managedObjectMerge)
      #expect(server.rows["Item"]?["lamp"]?["price"] as? Int == 5)
      server.saving = nil
      two.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try two.save()
      #expect(server.rows["Item"]?["lamp"]?["price"] as? Int == 6)
    }
  }
}

/// Reads an object that nobody has read.
private final class LookingPolicy: NSMergePolicy {
  private(set) var numbers: [Int?] = []

  override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    for conflict in list {
      let order = conflict.sourceObject.value(forKey: "order") as? Order
      numbers.append(order?.value(forKey: "number") as? Int)
    }
    try super.resolve(optimisticLockingConflicts: list)
  }
}
