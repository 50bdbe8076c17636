import Driftless
import Foundation

/// A delete that was made here and given up before the zone had it: it is put back by deleting the object again.
extension JournalEntry {
  var isGivenUpDelete: Bool { property == nil && policy == Self.deletePolicy && outcome == .remote }
}

extension SyncEngine {
  /// Deletes the object of an entry as an edit made here and now, by the delete rules of the model.
  ///
  /// - Throws: `SyncError` (`cannotUndo`) where there is nothing to delete, or a rule keeps the object; `StoreError`.
  static func deleteAgain(
    _ entry: JournalEntry, of store: PersistentStore, author: String?
  ) throws -> JournalEntry {
    let name = "object \(entry.object.uuidString.lowercased())"
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    context.transactionAuthor = author
    guard let object = try context.object(withIdentity: entry.object) else {
      throw SyncError(
        .cannotUndo, "The \(name) is deleted already.", suggestion: "Nothing needs to be done.")
    }
    context.delete(object)
    do {
      try context.save()
    } catch let error as ValidationFailure {
      throw SyncError(
        .cannotUndo,
        "The \(name) cannot be deleted again: \(error.items.first.map { "\($0.error)" } ?? "\(error)").",
        suggestion: "Change what keeps it first.")
    }
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    return try store.write(info) { transaction in
      let connection = transaction.connection
      try Journal.decide(entry.number, entry.loser, at: store.now, on: connection)
      return try Journal.entry(entry.number, on: connection)?.entry ?? entry
    }.0
  }

  /// The entry of a delete that was given up; nil for another one, and where it is put back already.
  static func givenUpDelete(_ number: Int64, of store: PersistentStore) throws -> JournalEntry? {
    try store.read { transaction in
      let connection = transaction.connection
      guard try EngineTables.exist(on: connection),
        let entry = try Journal.entry(number, on: connection)?.entry,
        entry.isGivenUpDelete, entry.decision != entry.loser
      else { return nil }
      return entry
    }
  }
}
