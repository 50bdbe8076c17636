import Driftless
import Foundation

/// The objects of a file that the store did not have when an import came to their first lines: where only those are wanted, lines
/// of others are passed over.
final class MissingObjects {
  private let store: PersistentStore
  private var missing: Set<UUID> = []
  /// The lines that were passed over; a line may be read more than once.
  private(set) var passedOver = IndexSet()

  init(_ store: PersistentStore) { self.store = store }

  /// Whether a line is to be carried out. What is wrong with it is said when its turn comes.
  func admits(_ line: ImportLine) throws(ImportError) -> Bool {
    let (entity, id): (String, String)
    switch line.operation {
    case .insert(let name, let object, _), .update(let name, let object, _),
      .upsert(let name, let object, _), .delete(let name, let object):
      (entity, id) = (name, object)
    case .save: return true
    }
    guard let known = store.schema.model.entitiesByName[entity] else { return true }
    let identity = NamedIdentity.identity(id, of: known)
    if missing.contains(identity) { return true }
    do {
      let isThere = try store.read { transaction in
        guard let key = try transaction.key(of: identity) else { return false }
        return try transaction.concreteKey(root: key) != nil
      }
      if isThere { passedOver.insert(line.number) } else { missing.insert(identity) }
      return !isThere
    } catch {
      var failure = ImportError(line: line.number, "the store cannot be read: \(error)")
      failure.suggestion = "see what is wrong with it: syncctl doctor"
      throw failure
    }
  }
}
