import CoreData

/// Takes in many notes at once, beside the screen.
struct NoteImporter {
  let container: NSPersistentContainer

  func importNotes(_ titles: [String]) async throws {
    let context = container.newBackgroundContext()
    context.transactionAuthor = "import"
    try await context.perform {
      let request = NSBatchInsertRequest(
        entity: Note.entity(), objects: titles.map { ["title": $0, "isPinned": false] })
      request.resultType = .objectIDs
      let result = try context.execute(request) as? NSBatchInsertResult
      let changes = [NSInsertedObjectsKey: result?.result as? [NSManagedObjectID] ?? []]
      NSManagedObjectContext.mergeChanges(
        fromRemoteContextSave: changes, into: [container.viewContext])
    }
  }
}
