import CoreData

/// Edits a note in a context of its own, so that a person can take it all back.
final class NoteEditor {
  let note: Note
  private let context: NSManagedObjectContext

  init(_ note: Note, in parent: NSManagedObjectContext) throws {
    context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.parent = parent
    guard let copy = try context.existingObject(with: note.objectID) as? Note else {
      throw CocoaError(.coreData)
    }
    self.note = copy
  }

  func tag(_ name: String) throws {
    let request: NSFetchRequest<Tag> = Tag.fetchRequest()
    request.predicate = NSPredicate(format: "%K == %@", #keyPath(Tag.name), name)
    let tag = try context.fetch(request).first ?? Tag(context: context)
    tag.name = name
    note.addToTags(tag)
  }

  func save() throws {
    guard context.hasChanges else { return }
    try context.save()
    try context.parent?.save()
  }

  func cancel() { context.rollback() }
}
