import CoreData

struct PersistenceController {
  static let shared = PersistenceController()

  @MainActor
  static let preview: PersistenceController = {
    let result = PersistenceController(inMemory: true)
    let viewContext = result.container.viewContext
    for number in 0..<10 {
      let note = Note(context: viewContext)
      note.title = "Note \(number)"
    }
    do {
      try viewContext.save()
    } catch {
      let nsError = error as NSError
      // As Xcode's template has it.
      fatalError("Unresolved error \(nsError), \(nsError.userInfo)")
    }
    return result
  }()

  let container: NSPersistentContainer

  init(inMemory: Bool = false, url: URL? = nil) {
    container = NSPersistentContainer(name: "Notebook")
    if inMemory {
      container.persistentStoreDescriptions.first!.url = URL(fileURLWithPath: "/dev/null")
    } else if let url {
      container.persistentStoreDescriptions.first!.url = url
    }
    let description = container.persistentStoreDescriptions.first!
    description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    description.setOption(
      true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
    container.loadPersistentStores(completionHandler: { (storeDescription, error) in
      if let error = error as NSError? {
        // As Xcode's template has it.
        fatalError("Unresolved error \(error), \(error.userInfo)")
      }
    })
    container.viewContext.automaticallyMergesChangesFromParent = true
    container.viewContext.transactionAuthor = "app"
  }
}
