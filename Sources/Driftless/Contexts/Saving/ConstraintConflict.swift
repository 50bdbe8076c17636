/// Objects with the same values of properties that a uniqueness constraint keeps unique.
public struct ConstraintConflict: Sendable, CustomStringConvertible {
  /// The constrained properties.
  public let constraint: [String]
  /// The values that the objects share.
  public let constraintValues: [String: PropertyValue]
  /// The object whose row in the store has the values; nil when only unsaved objects do.
  public let databaseObject: ManagedObjectID?
  /// The row's attributes and to-one relationships; nil without one.
  public let databaseSnapshot: [String: PropertyValue]?
  /// This context's objects that are to be saved with the values, saved ones first, then in the order of their first
  /// change: `context.object(with: id)`.
  public let conflictingObjects: [ManagedObjectID]
  /// Their values as last read or saved; nil for a new one.
  public let conflictingSnapshots: [[String: PropertyValue]?]
  /// What is to become of them; nil until a ``MergePolicy`` decided.
  public var resolution: MergePolicyType?
  /// Whether one object can stand for all: they are of one entity.
  let isOfOneEntity: Bool

  /// Whether there is a way to do what ``resolution`` says.
  var isResolvable: Bool {
    switch resolution {
    case nil, .error: false
    case .mergeByPropertyStoreTrump: databaseObject != nil && isOfOneEntity
    case .rollback: databaseObject != nil
    case .mergeByPropertyObjectTrump, .overwrite: isOfOneEntity
    }
  }

  public var description: String {
    let values = constraint.map { "\($0) = \(constraintValues[$0] ?? .null)" }
    let objects = conflictingObjects.map(\.description).joined(separator: ", ")
    let other = databaseObject.map { "; the store has them in \($0)" } ?? ""
    return "\(values.joined(separator: ", ")) of \(objects)\(other)"
  }
}

/// A save met objects that a uniqueness constraint does not allow beside each other, and the merge policy does not
/// resolve it (Core Data's 133021).
public struct ConstraintConflictError: Error, CustomStringConvertible {
  /// All of them, found before anything was written.
  public let conflicts: [ConstraintConflict]

  /// What to do about it.
  public var suggestion: String {
    "Change or delete one of the objects and save again, or set the context's mergePolicy; "
      + "only mergeByPropertyObjectTrump and overwrite make one of several new objects, "
      + "and none makes one of objects of different entities."
  }

  public var description: String {
    "\(conflicts.count) uniqueness constraint(s) would be broken. \(suggestion)\n"
      + conflicts.prefix(20).map(\.description).joined(separator: "\n")
  }
}
