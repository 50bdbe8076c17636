/// One object that this context changed and another save changed too.
public struct MergeConflict: Sendable, CustomStringConvertible {
  /// The object: `context.object(with: conflict.objectID)`.
  public let objectID: ManagedObjectID
  /// The properties that this context changed; none of an object that it only watches
  /// (``ManagedObjectContext/detectConflicts(for:)``).
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
  /// What is to become of it; nil until a ``MergePolicy`` decided.
  public var resolution: MergePolicyType?

  public var description: String {
    let theirs = newVersionNumber == 0 ? "deleted" : "version \(newVersionNumber)"
    let mine = isDeletion ? "delete" : changedProperties.joined(separator: ", ")
    return "\(objectID): \(mine) on version \(oldVersionNumber), but the store has it \(theirs)"
  }
}

/// A save met objects that another one had changed, and the merge policy does not resolve it.
public struct SaveConflictError: Error, CustomStringConvertible {
  /// All of them.
  public let conflicts: [MergeConflict]

  /// What to do about it.
  public var suggestion: String {
    "Refresh the objects and save again, or set the context's mergePolicy."
  }

  public var description: String {
    "\(conflicts.count) object(s) were changed by another save. \(suggestion)\n"
      + conflicts.prefix(20).map(\.description).joined(separator: "\n")
  }
}
