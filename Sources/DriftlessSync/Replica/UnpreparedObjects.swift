public import Driftless

extension SyncEngine {
  /// How many objects without unique keys a store would bring to a zone as its own, though other hosts may have the same: it is
  /// a file that Core Data wrote, an earlier version of the library opened first, and nobody prepared since
  /// (`PersistentStore.adopt()`).
  ///
  /// The same file on another host, enrolled with the zone as well, brings them once more. Objects of entities with unique keys
  /// are not counted: where they meet they become one. 0 for a store that was prepared, is a copy of one that was, or was made by
  /// the library; an engine that enrols a store logs the number before anything is sent.
  ///
  /// - Throws: `StoreError`.
  public static func unpreparedObjects(of store: PersistentStore) throws -> Int {
    try store.unpreparedObjects { entity in
      var next: EntityDescription? = entity
      while let one = next {
        guard one.uniquenessConstraints.isEmpty else { return false }
        next = one.superentity
      }
      return true
    }
  }
}
