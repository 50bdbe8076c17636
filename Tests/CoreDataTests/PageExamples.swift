import CoreData
import Foundation

// The code that the catalogue's pages on this module show, in functions that give it what it takes as given.

private final class Person: NSManagedObject {
  var fullName: String { "\(value(forKey: "name") ?? "")" }

  func validateAge(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
    if value.pointee == nil { value.pointee = NSNumber(value: 0) }
  }

  static func registerMembers() {
    Person.registerAccessor(\.fullName, forKey: "fullName")
    Person.registerValidator(forKey: "age") { try $0.validateAge($1) }
  }
}

private func showItems(of model: NSManagedObjectModel) throws -> [NSManagedObject] {
  let container = NSPersistentContainer(name: "Shop", managedObjectModel: model)
  container.loadPersistentStores { _, _ in }
  let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
  request.predicate = NSPredicate(
    format: "price > %@ AND name CONTAINS[cd] %@", NSNumber(value: 3), "x")
  request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
  let items = try container.viewContext.fetch(request)
  return items
}
