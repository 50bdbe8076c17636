/// What a save does when another one changed the same object in the meantime.
public enum MergePolicy: Sendable, Hashable {
  /// The save fails with a ``SaveConflictError``.
  case error
  /// Property by property: what both changed keeps the store's value. A delete there stands.
  case mergeByPropertyStoreTrump
  /// Property by property: what both changed takes this context's value. An object deleted there
  /// and changed here is inserted again.
  case mergeByPropertyObjectTrump
  /// This context's whole object is written.
  case overwrite
  /// This context's changes of the object are dropped.
  case rollback
}

/// One object that this context changed and another save changed too.
public struct MergeConflict: Sendable, CustomStringConvertible {
  public let objectID: ManagedObjectID
  /// The properties that this context changed.
  public let changedProperties: [String]
  /// Whether this context deletes the object.
  public let isDeletion: Bool
  /// The row's version that this context knew.
  public let oldVersionNumber: Int64
  /// The row's version now; 0 when it was deleted.
  public let newVersionNumber: Int64
  /// The row's values as this context knew them.
  public let objectSnapshot: [String: PropertyValue]
  /// The row's values now; nil when it was deleted.
  public let persistedSnapshot: [String: PropertyValue]?

  public var description: String {
    let theirs = newVersionNumber == 0 ? "deleted" : "version \(newVersionNumber)"
    let mine = isDeletion ? "delete" : changedProperties.joined(separator: ", ")
    return "\(objectID): \(mine) on version \(oldVersionNumber), but the store has it \(theirs)"
  }
}

/// A save met objects that another one had changed, and the merge policy is ``MergePolicy/error``.
public struct SaveConflictError: Error, CustomStringConvertible {
  public let conflicts: [MergeConflict]

  public var suggestion: String {
    "Refresh the objects and save again, or set the context's mergePolicy."
  }

  public var description: String {
    "\(conflicts.count) object(s) were changed by another save. \(suggestion)\n"
      + conflicts.prefix(20).map(\.description).joined(separator: "\n")
  }
}
