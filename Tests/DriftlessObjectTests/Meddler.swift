import Driftless

/// A merge policy that does something to the context each time when it is asked.
final class Meddler: MergePolicy {
  var meddle: (ManagedObjectContext) throws -> Void = { _ in }

  override func resolve(
    optimisticLockingConflicts conflicts: inout [MergeConflict],
    in context: ManagedObjectContext
  ) throws {
    try meddle(context)
    try super.resolve(optimisticLockingConflicts: &conflicts, in: context)
  }

  override func resolve(
    constraintConflicts conflicts: inout [ConstraintConflict], in context: ManagedObjectContext
  ) throws {
    try meddle(context)
    try super.resolve(constraintConflicts: &conflicts, in: context)
  }
}
