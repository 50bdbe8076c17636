import CoreData
import TestSupport
import Testing

/// Key-value coding finds what every object has, as Objective-C does, and a save after it is as it would have been.
struct OwnMemberTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  @Test("States, context, entity and the object itself are found by their names")
  func members() throws {
    let context = try Shop.container(folder).newBackgroundContext()
    context.name = "edit"
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      func flag(_ key: String) -> Bool? { item.value(forKey: key) as? Bool }
      #expect(flag("hasChanges") == true && flag("isInserted") == true && flag("inserted") == true)
      #expect(flag("isDeleted") == false && flag("updated") == false && flag("fault") == false)
      #expect(flag("hasPersistentChangedValues") == true)
      #expect(item.value(forKey: "managedObjectContext") as? NSManagedObjectContext === context)
      #expect(item.value(forKey: "self") as? Item === item)
      #expect(item.value(forKeyPath: "self.self.name") as? String == "Lamp")
      #expect(item.value(forKeyPath: "entity.name") as? String == "Item")
      #expect(item.value(forKeyPath: "entity.superentity.name") == nil)
      #expect(item.value(forKeyPath: "managedObjectContext.name") as? String == "edit")
      #expect(item.value(forKeyPath: "objectID.isTemporaryID") as? Bool == true)
      #expect(item.value(forKeyPath: "objectID.entity.name") as? String == "Item")
      let order = Order(context: context)
      order.items = [item]
      #expect(order.value(forKeyPath: "items.entity.name") as? Set<String> == ["Item"])
      try context.save()
      #expect(flag("hasChanges") == false && flag("isInserted") == false)
      #expect(item.value(forKeyPath: "entity.colour") == nil)
      item.price = 2
      #expect(throws: CocoaError.self) { try context.save() }
    }
  }

  @Test("A property of the model stands before what every object has")
  func shadowed() throws {
    let entity = NSEntityDescription()
    entity.name = "Marked"
    entity.properties = [Shop.attribute("deleted", .stringAttributeType)]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = Albums.context(coordinator)
    context.performAndWait {
      let object = NSEntityDescription.insertNewObject(forEntityName: "Marked", into: context)
      object.setValue("yesterday", forKey: "deleted")
      #expect(object.value(forKey: "deleted") as? String == "yesterday")
      #expect(object.value(forKey: "isDeleted") as? Bool == false)
    }
  }
}
