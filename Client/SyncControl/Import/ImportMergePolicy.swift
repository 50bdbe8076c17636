import Driftless

/// An object that lines only took members from, and that is not there, has nothing to lose: somebody deleted it meanwhile, or its
/// row was taken out past the library, and what referred to it is set anew by those lines. All else is a conflict.
final class ImportMergePolicy: MergePolicy {
  init() { super.init(merge: .error) }

  override func resolve(
    optimisticLockingConflicts conflicts: inout [MergeConflict], in context: ManagedObjectContext
  ) throws {
    let gone = conflicts.indices.filter { place in
      let conflict = conflicts[place]
      guard conflict.newVersionNumber == 0, !conflict.isDeletion,
        let object = context.object(with: conflict.objectID)
      else { return false }
      // What changed of to-many relationships the conflict does not name.
      let relationships = object.entity.relationshipsByName
      return conflict.changedProperties.allSatisfy { relationships[$0]?.isToMany == true }
        && !relationships.keys.contains { object.addsMembers(toRelationshipNamed: $0) }
    }
    if !gone.isEmpty {
      let referredTo = Self.referredTo(in: context)
      for place in gone where !referredTo.contains(conflicts[place].objectID) {
        conflicts[place].resolution = .rollback
      }
    }
    try super.resolve(optimisticLockingConflicts: &conflicts, in: context)
  }

  /// What the changed objects refer to from now on.
  private static func referredTo(in context: ManagedObjectContext) -> Set<ManagedObjectID> {
    var targets: Set<ManagedObjectID> = []
    for object in context.insertedObjects.union(context.updatedObjects) {
      for (name, relationship) in object.entity.relationshipsByName where !relationship.isToMany {
        if let target = object[name] as? ManagedObject { targets.insert(target.objectID) }
      }
    }
    return targets
  }
}
