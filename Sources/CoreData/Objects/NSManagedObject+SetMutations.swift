import Driftless

/// How a set is about to be changed, or was.
public enum NSKeyValueSetMutationKind: UInt, Sendable {
  /// Objects are added.
  case union = 1
  /// Objects are taken out.
  case minus
  /// Only these objects stay.
  case intersect
  /// These objects take the place of all others.
  case set
}

extension ManagedObject {
  /// Call it before a hand-written accessor changes the primitive value of a to-many relationship: it reads the row of a fault.
  ///
  /// ```swift
  /// func addToPets(_ pet: Pet) {
  ///   willChangeValue(forKey: "pets", withSetMutation: .union, using: [pet])
  ///   (primitiveValue(forKey: "pets") as! NSMutableSet).add(pet)
  ///   didChangeValue(forKey: "pets", withSetMutation: .union, using: [pet])
  /// }
  /// ```
  public final func willChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {
    willChangeValue(forKey: key)
  }

  /// Call it after a hand-written accessor changed the primitive value of a to-many relationship. That set changes the object,
  /// so that nothing is left to do.
  public final func didChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {
    didChangeValue(forKey: key)
  }
}
