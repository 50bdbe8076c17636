import Driftless
import Foundation
import SyncDaemon

/// An object as a person names it to a command: by its identity, as lists show it (`Item/6f96…`), or with the ID of import
/// files, `Item/17`.
struct NamedObject {
  private let entity: String?
  private let id: String

  /// Nil where the text names no object.
  init?(_ text: String) {
    guard let slash = text.firstIndex(of: "/") else {
      guard UUID(uuidString: text) != nil else { return nil }
      (entity, id) = (nil, text)
      return
    }
    (entity, id) = (String(text[..<slash]), String(text[text.index(after: slash)...]))
    if id.isEmpty || entity?.isEmpty != false { return nil }
  }

  /// The identity by which the store has it now: two objects may have become one since.
  ///
  /// - Throws: `Failure` where the model has no such entity; `StoreError`.
  func identity(in store: PersistentStore) throws -> UUID {
    let named: UUID
    if let known = UUID(uuidString: id) {
      named = known
    } else {
      guard let entity, let description = store.model.entitiesByName[entity] else {
        throw Failure(
          .badData, code: "unknown-element", "The model has no entity \(entity ?? id).",
          suggestion: "syncctl model show --store \(store.url?.path.shellWord ?? "STORE")")
      }
      named = NamedIdentity.identity(id, of: description)
    }
    return try store.read { transaction in
      try transaction.key(of: named).map(transaction.identity(of:)) ?? named
    }
  }
}
