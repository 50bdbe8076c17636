/// Which objects one save changed. It can go to other threads and contexts.
public struct ContextChanges: Sendable {
  /// What changed in one store.
  struct Part: Sendable {
    let plan: ObjectPlan
    /// The transaction of the store; 0 where it is none, or not one alone.
    var transaction: Int64 = 0
    var inserted: [ObjectKey] = []
    var updated: [ObjectKey] = []
    var deleted: [ObjectKey] = []
    /// Whether objects may be missing here of which the store worked out derived values alone.
    var lacksDerived = false

    var keyCount: Int { inserted.count + updated.count + deleted.count }
  }

  /// Which context saved; 0 for another process or an import.
  let source: Int64
  /// The parent that it saved into; nil for a save into the stores.
  var target: Int64?
  let parts: [Part]

  /// The IDs of new objects.
  public var insertedObjectIDs: [ManagedObjectID] { Array(ids(\.inserted)) }
  /// The IDs of changed objects.
  public var updatedObjectIDs: [ManagedObjectID] { Array(ids(\.updated)) }
  /// The IDs of deleted objects; they lead nowhere any more.
  public var deletedObjectIDs: [ManagedObjectID] { Array(ids(\.deleted)) }

  /// Whether nothing changed.
  public var isEmpty: Bool {
    parts.allSatisfy { $0.inserted.isEmpty && $0.updated.isEmpty && $0.deleted.isEmpty }
  }

  func ids(_ keys: (Part) -> [ObjectKey]) -> ChangedObjectIDs {
    ChangedObjectIDs(parts: parts.map { ($0.plan, keys($0)) })
  }

  /// What a notification of the changes holds: the IDs by their keys, lists with nothing in them absent.
  func info(
    _ lists: KeyValuePairs<ManagedObjectContext.NotificationKey, ChangedObjectIDs>
  ) -> [AnyHashable: Any] {
    var info: [AnyHashable: Any] = ["changes": self]
    for (key, ids) in lists where !ids.isEmpty { info[key.rawValue] = ids }
    return info
  }
}

/// The IDs of objects that a save or a merge changed. Each is made when it is looked at: a large save does not pay for
/// IDs that nobody reads.
public struct ChangedObjectIDs: Sequence, Sendable {
  let parts: [(plan: ObjectPlan, keys: [ObjectKey])]

  /// How many IDs there are, without making them.
  public var count: Int { parts.reduce(0) { $0 + $1.keys.count } }
  /// Whether there are none.
  public var isEmpty: Bool { parts.allSatisfy(\.keys.isEmpty) }
  public var underestimatedCount: Int { count }

  public func makeIterator() -> AnyIterator<ManagedObjectID> {
    AnyIterator(
      parts.lazy.flatMap { part in part.keys.lazy.compactMap(part.plan.objectID) }.makeIterator())
  }
}
