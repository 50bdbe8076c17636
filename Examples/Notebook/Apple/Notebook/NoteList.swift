import CoreData

/// What a list on the screen shows: notes by title, those that are pinned first.
final class NoteList: NSObject, NSFetchedResultsControllerDelegate {
  private let controller: NSFetchedResultsController<Note>
  private(set) var changes: [String] = []

  init(context: NSManagedObjectContext) throws {
    let request: NSFetchRequest<Note> = Note.fetchRequest()
    request.sortDescriptors = [
      NSSortDescriptor(keyPath: \Note.isPinned, ascending: false),
      NSSortDescriptor(key: #keyPath(Note.title), ascending: true),
    ]
    controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    super.init()
    controller.delegate = self
    try controller.performFetch()
  }

  var titles: [String] { (controller.fetchedObjects ?? []).compactMap(\.title) }

  func note(at indexPath: IndexPath) -> Note { controller.object(at: indexPath) }

  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    let title = (anObject as? Note)?.title ?? "?"
    switch type {
    case .insert: changes.append("insert \(title)")
    case .delete: changes.append("delete \(title)")
    case .move: changes.append("move \(title)")
    case .update: changes.append("update \(title)")
    @unknown default: break
    }
  }
}
