import CoreData
import TestSupport
import Testing

/// What is printed of objects that a log or a debugger shows.
struct DescriptionTests {
  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer

  init() throws {
    folder = try TemporaryDirectory()
    container = try Shop.container(folder)
  }

  @Test("Requests, stores and objects say what they are")
  func plain() throws {
    let request = NSFetchRequest<Item>(entityName: "Item")
    request.predicate = NSPredicate(format: "price > 3")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
    request.fetchLimit = 5
    for part in ["Item", "price > 3", "name descending", "limit: 5"] {
      #expect("\(request)".contains(part), "\(request)")
    }
    let batch = NSBatchDeleteRequest(fetchRequest: NSFetchRequest(entityName: "Item"))
    #expect("\(batch)".contains("Item"))
    let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
    let text = store.description
    #expect(text.contains("Shop.sqlite") && text.contains(store.identifier))
    let context = container.newBackgroundContext()
    context.performAndWait {
      let item = Item(context: context)
      item.name = "Lamp"
      #expect(item.debugDescription == item.description && item.description.contains("Lamp"))
    }
  }

  @Test("Conflicts name the object, the versions and the properties, and no values")
  func conflicts() throws {
    let (one, two) = (container.newBackgroundContext(), container.newBackgroundContext())
    let code = UUID()
    let id = try one.performAndWait {
      let item = Item(context: one)
      (item.name, item.price) = ("Lamp", 1)
      item.setValue(code, forKey: "code")
      try one.save()
      return item.objectID
    }
    func caught() -> String {
      do { try two.save() } catch {
        return (error as NSError).userInfo[NSPersistentStoreSaveConflictsErrorKey]
          .map { "\($0)" } ?? ""
      }
      return ""
    }
    try two.performAndWait {
      let item = try #require(try two.existingObject(with: id) as? Item)
      try one.performAndWait {
        one.object(with: id).setValue("Secret", forKey: "name")
        try one.save()
      }
      item.price = 7
      let text = caught()
      for part in ["NSMergeConflict", "Item", "version 1", "version 2", "price", "another name"] {
        #expect(text.contains(part), "\(text)")
      }
      #expect(!text.contains("Secret") && !text.contains("0x"))
      two.rollback()
      let new = Item(context: two)
      new.name = "x"
      new.setValue(code, forKey: "code")
      let other = caught()
      for part in ["NSConstraintConflict", "code", "Item", "the store has"] {
        #expect(other.contains(part), "\(other)")
      }
      #expect(!other.contains(code.uuidString))
    }
  }
}
