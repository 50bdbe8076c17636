import CoreData
import TestSupport
import Testing

/// What could not be done where it was met is told once, and objects and errors of validation are there to be looked at.
struct AccessorErrorTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
  }

  @Test("A save throws what an accessor met, and the next one writes")
  func once() throws {
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      _ = item.value(forKey: "typo")
      item.setValue("text", forKey: "price")
      #expect(throws: CocoaError.self) { try context.save() }
      #expect(context.hasChanges)
      item.price = 3
      try context.save()
      #expect(!context.hasChanges)
      let child = NSManagedObjectContext(.privateQueue)
      child.parent = context
      child.performAndWait {
        let mine = child.object(with: item.objectID)
        _ = mine.value(forKey: "typo")
        mine.setValue(4, forKey: "price")
        #expect(throws: CocoaError.self) { try child.save() }
        #expect(throws: Never.self) { try child.save() }
      }
      #expect(item.price == 4)
    }
  }

  @Test("Two things that could not be done are one error with both")
  func several() throws {
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      item.setValue("text", forKey: "price")
      item.setValue("heavy", forKey: "weight")
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error?.domain == NSCocoaErrorDomain)
      #expect(error?.code == NSValidationMultipleErrorsError)
      let details = error?.userInfo[NSDetailedErrorsKey] as? [NSError]
      #expect(details?.count == 2)
      #expect(details?.contains { $0.localizedDescription.contains("weight") } == true)
      try context.save()
    }
  }

  @Test("What is set in no context comes in with the object, and what could not be is heard")
  func loose() throws {
    try context.performAndWait {
      let entity = try #require(NSEntityDescription.entity(forEntityName: "Order", in: context))
      let items = try #require(NSEntityDescription.entity(forEntityName: "Item", in: context))
      let order = Order(entity: entity, insertInto: nil)
      let item = Item(entity: items, insertInto: nil)
      item.name = "Lamp"
      item.order = order
      order.mutableSetValue(forKey: "items").add(Item(entity: items, insertInto: nil))
      #expect(item.order === order && order.items.count == 1)
      for item in order.items { item.name = "Chair" }
      context.insert(item)
      #expect(context.insertedObjects.count == 3 && order.items.count == 2)
      try context.save()
      let wrong = Item(entity: items, insertInto: nil)
      wrong.name = "Table"
      wrong.setValue("text", forKey: "price")
      wrong.setValue(1, forKey: "typo")
      context.insert(wrong)
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect((error?.userInfo[NSDetailedErrorsKey] as? [NSError])?.count == 2)
    }
  }

  @Test("A class describes its objects itself")
  func described() throws {
    let entity = NSEntityDescription()
    entity.name = "Described"
    entity.managedObjectClassName = NSStringFromClass(Described.self)
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let object = Described(entity: entity, insertInto: nil)
    #expect("\(object)" == "my own" && object.description == "my own")
    withExtendedLifetime(model) {}
  }

  @Test(
    "Sections by a key that the entity does not have are refused, and keep nothing from being saved"
  )
  func sections() throws {
    try context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      let request: NSFetchRequest<Item> = Item.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "initial",
        cacheName: nil)
      let error = #expect(throws: CocoaError.self) { try controller.performFetch() }
      #expect(error?.code.rawValue == NSCoreDataError && "\(error!)".contains("initial"))
      #expect(controller.sections == nil)
      try context.save()
      item.name = "Chair"
      try context.save()
    }
  }

  @Test("An ID of an object that is no more gives a fault, which reads as empty or is an error")
  func lostTemporaryIDs() throws {
    let other = context.persistentStoreCoordinator.map(Albums.context)
    let foreign = other?.performAndWait { () -> NSManagedObjectID? in
      other.map { Item(context: $0).objectID }
    }
    try context.performAndWait {
      let draft = Item(context: context)
      let id = draft.objectID
      context.rollback()
      let fault = context.object(with: id)
      #expect(fault.isFault && context.object(with: id) === fault && !context.hasChanges)
      #expect(fault.value(forKey: "name") == nil)
      let deleted = Item(context: context)
      deleted.name = "x"
      let next = Item(context: context)
      next.name = "next"
      let deletedID = deleted.objectID
      context.delete(deleted)
      var lost: NSManagedObject? = context.object(with: deletedID)
      #expect(lost !== deleted && lost?.objectID == deletedID)
      #expect(context.object(with: deletedID) === lost)
      lost = nil
      let foreignID = try #require(foreign)
      #expect(context.object(with: foreignID).value(forKey: "name") == nil)
      #expect(throws: CocoaError.self) { try context.existingObject(with: foreignID) }
      try context.save()
      context.shouldDeleteInaccessibleFaults = false
      _ = context.object(with: foreignID).value(forKey: "name")
      #expect(throws: CocoaError.self) { try context.save() }
      let kept = context.object(with: foreignID)
      context.reset()
      #expect(kept.managedObjectContext == nil)
    }
  }

  @Test("Validation that an application asks for throws Core Data's errors, with the object")
  func validation() throws {
    try context.performAndWait {
      let item = Item(context: context)
      let error = #expect(throws: CocoaError.self) { try item.validateForInsert() }
      #expect(error?.code == .validationMissingMandatoryProperty)
      #expect(error?.validationObject as? Item === item && error?.validationKey == "name")
      let ofValue = #expect(throws: CocoaError.self) {
        try item.validateValue(nil, forKey: "name")
      }
      #expect(ofValue?.validationObject as? Item === item)
      let ofSave = #expect(throws: CocoaError.self) { try context.save() }
      let affected = (ofSave as NSError?)?.userInfo[NSAffectedObjectsErrorKey] as? [Item]
      #expect(affected == [item] || ofSave?.validationObject as? Item === item)
      let names = try #require(item.entity.attributesByName["name"])
      #expect(names.isOptional == false)
    }
  }
}

/// Says itself what it is.
final class Described: NSManagedObject {
  override var description: String { "my own" }
}
