import CoreData
import Foundation
import TestSupport
import Testing

/// A file that imports Foundation beside Core Data, and code of the main actor.
struct BothImportsTests {
  private typealias Expression = CoreData.NSExpression

  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  @Test("Names that Foundation has as well are Core Data's")
  func names() throws {
    let context = try Shop.container(folder).newBackgroundContext()
    try context.performAndWait {
      Item(context: context).name = "Lamp"
      let request: NSFetchRequest<Item> = Item.fetchRequest()
      let named: NSPredicate = NSPredicate(format: "name == %@", "Lamp")
      let path: Expression = NSExpression(forKeyPath: "price")
      let free = CoreData.NSComparisonPredicate(
        leftExpression: path, rightExpression: NSExpression(forConstantValue: 0),
        modifier: .direct, type: .equalTo)
      request.predicate = NSCompoundPredicate(type: .and, subpredicates: [named, free])
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let found = try context.fetch(request)
      #expect(found.map(\.name) == ["Lamp"])
    }
  }

  @Test("The view context is used on the main actor as it is, and waits for nothing there")
  @MainActor func viewContext() async throws {
    let container = try Shop.container(folder)
    let context = container.viewContext
    let item = Item(context: context)
    item.name = "Lamp"
    try context.save()
    let name = context.performAndWait { item.name }
    #expect(name == "Lamp")
    let id = item.objectID
    context.automaticallyMergesChangesFromParent = true
    try await container.performBackgroundTask { background in
      background.object(with: id).setValue("Chair", forKey: "name")
      try background.save()
    }
    await context.perform {}
    #expect(item.name == "Chair")
  }
}
