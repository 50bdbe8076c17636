import CoreData
import TestSupport
import Testing

/// Objects: values by key in the types of Core Data, relationships, life cycle.
struct ObjectTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
  }

  @Test("Values of every type come back as what Core Data gives, before and after a save")
  func types() throws {
    try context.performAndWait {
      let item = Item(context: context)
      let (date, code) = (Date(timeIntervalSinceReferenceDate: 5), UUID())
      let values: [String: Any] = [
        "name": "Lamp", "price": 3, "weight": 1.5, "isSold": true, "made": date, "code": code,
        "cost": NSDecimalNumber(string: "2.50"), "photo": Data([1, 2]), "rating": Float(0.1),
      ]
      item.setValuesForKeys(values)
      for round in 0...1 {
        #expect(item.value(forKey: "price") as? Int16 == 3, "round \(round)")
        #expect((item.value(forKey: "price") as? NSNumber)?.intValue == 3)
        #expect(item.value(forKey: "weight") as? Double == 1.5)
        #expect(item.value(forKey: "isSold") as? Bool == true)
        #expect(item.value(forKey: "made") as? NSDate == date as NSDate)
        #expect(item.value(forKey: "code") as? UUID == code)
        #expect((item.value(forKey: "cost") as? NSDecimalNumber)?.stringValue == "2.5")
        #expect(item.value(forKey: "photo") as? Data == Data([1, 2]))
        #expect(item.value(forKey: "rating") as? Float == 0.1)
        #expect(item["price"] as? Int64 == 3)
        try context.save()
        context.refresh(item, mergeChanges: false)
      }
      item.setValue(nil, forKey: "cost")
      #expect(item.value(forKey: "cost") == nil)
      #expect(item.changedValues()["cost"] is NSNull)
    }
  }

  @Test("A to-many relationship is a set, takes sets of both kinds, and has a set that changes it")
  func relationships() throws {
    context.performAndWait {
      let order = Order(context: context)
      let items = (0..<3).map { _ in Item(context: context) }
      order.setValue(NSSet(array: [items[0], items[1]]), forKey: "items")
      #expect(order.value(forKey: "items") as? Set<Item> == [items[0], items[1]])
      #expect((order.value(forKey: "items") as? NSSet)?.count == 2)
      #expect(items[0].order === order)
      let set = order.mutableSetValue(forKey: "items")
      set.add(items[2])
      set.remove(items[0])
      #expect(set.count == 2 && set.contains(items[2]) && items[0].order == nil)
      order.items = [items[0]]
      #expect(items[2].order == nil && set.allObjects.count == 1)
      items[0].price = 4
      #expect(order.value(forKeyPath: "items.price") as? Set<Int> == [4])
      #expect(order.value(forKeyPath: "items.@count") as? Int == 1)
      items[0].setValue(8, forKeyPath: "order.number")
      #expect(order.value(forKey: "number") as? Int == 8)
      #expect(order.objectIDs(forRelationshipNamed: "items") == [items[0].objectID])
    }
  }

  @Test("A key that there is not, and a value that does not fit, make the save fail")
  func wrongKeys() throws {
    context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      item.setValue("text", forKey: "price")
      #expect(throws: CocoaError.self) { try context.save() }
      context.rollback()
      let other = Item(context: context)
      other.name = "Lamp"
      #expect(other.value(forKey: "nothing") == nil)
      #expect(throws: CocoaError.self) { try context.save() }
    }
  }

  @Test("Generic code makes objects of a class that it does not know")
  func generic() throws {
    func make<Object: NSManagedObject>(_ type: Object.Type) -> Object { Object(context: context) }
    try context.performAndWait {
      let item = make(Item.self)
      #expect(item.entity.name == "Item" && context.insertedObjects.contains(item))
      let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
      let entity = try #require(model.entitiesByName["Order"])
      let order = Order(entity: entity, insertInto: context)
      #expect(order.entity === entity && order.isInserted)
    }
  }
}
