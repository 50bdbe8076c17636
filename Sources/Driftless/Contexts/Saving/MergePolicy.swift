/// What a merge policy does about a conflict. The raw values are Core Data's.
public enum MergePolicyType: Int, Sendable {
  /// The save fails with a ``SaveConflictError`` or a ``ConstraintConflictError``.
  case error = 0
  /// Property by property: what both changed keeps the store's value. A delete there stands.
  case mergeByPropertyStoreTrump = 1
  /// Property by property: what both changed takes this context's value. An object deleted there
  /// and changed here is inserted again.
  case mergeByPropertyObjectTrump = 2
  /// This context's whole object is written.
  case overwrite = 3
  /// This context's changes of the object are dropped.
  case rollback = 4
}

/// What a save does when another one changed the same object in the meantime, and when objects meet under a uniqueness
/// constraint.
///
/// One of the five standard ones does the same about every conflict: `context.mergePolicy = .rollback`. A subclass
/// decides for each, after a look at the objects:
///
/// ```swift
/// final class NewestWins: MergePolicy {
///   override func resolve(
///     optimisticLockingConflicts conflicts: inout [MergeConflict], in context: ManagedObjectContext
///   ) throws {
///     for index in conflicts.indices where isNewer(conflicts[index], context) {
///       conflicts[index].resolution = .mergeByPropertyObjectTrump
///     }
///     try super.resolve(optimisticLockingConflicts: &conflicts, in: context)
///   }
/// }
/// context.mergePolicy = NewestWins(merge: .mergeByPropertyStoreTrump)
/// ```
///
/// Both methods are called inside the save, with the store's write lock held: what they read stays as it is until the
/// save is through. They may change the objects in conflict, which are then saved as they are; others of the save are written
/// by then, and changing one fails it, and what the save has no part in stays unsaved. They must not save; a rollback or a reset
/// is not done, and fails the save. What they changed stays changed when the save fails. A policy belongs to the isolation of its contexts.
///
/// Uniqueness constraints are settled first: they make one object of two. Before that, an object that gives its value up to
/// another, and that another save changed, is settled by itself: it takes what the store has under what stands of its changes. When the save is told to keep both
/// (`.mergeByPropertyStoreTrump`, `.rollback`), the one that the store has stays: a new object goes, or a saved one that
/// took over another's values gets its own back. Otherwise (`.mergeByPropertyObjectTrump`, `.overwrite`) this context's
/// values win: those that were set on a new object, or all of them, are written to the object that the store has, which
/// keeps its ID; when a saved object took over another's values, the other goes. The members of the to-many
/// relationships of an object that goes become members of the one that stays, except by `.rollback`. An object that goes
/// is deleted by the rules of its entity. Two new objects that meet, and no third in the store, are a conflict that only
/// `.mergeByPropertyObjectTrump` and `.overwrite` resolve: the first stays, with what the later set.
open class MergePolicy {
  /// What becomes of conflicts that no override decided.
  public let mergeType: MergePolicyType

  /// - Parameter type: What becomes of conflicts that no override decides.
  public init(merge type: MergePolicyType) { mergeType = type }

  /// The save fails and names the conflicts.
  public static var error: MergePolicy { MergePolicy(merge: .error) }
  /// Property by property; the store's values stay.
  public static var mergeByPropertyStoreTrump: MergePolicy {
    MergePolicy(merge: .mergeByPropertyStoreTrump)
  }
  /// Property by property; this context's values are written.
  public static var mergeByPropertyObjectTrump: MergePolicy {
    MergePolicy(merge: .mergeByPropertyObjectTrump)
  }
  /// This context's whole objects are written.
  public static var overwrite: MergePolicy { MergePolicy(merge: .overwrite) }
  /// This context's changes are dropped.
  public static var rollback: MergePolicy { MergePolicy(merge: .rollback) }

  /// Gives each conflict with another save its ``MergeConflict/resolution``. An override calls super for what it left
  /// without one. A conflict that it takes out of the list is not resolved.
  /// - Throws: ``SaveConflictError`` for those without one when ``mergeType`` is `.error`; the save fails with it.
  open func resolve(
    optimisticLockingConflicts conflicts: inout [MergeConflict], in context: ManagedObjectContext
  ) throws {
    for index in conflicts.indices where conflicts[index].resolution == nil {
      conflicts[index].resolution = mergeType
    }
    let open = conflicts.filter { $0.resolution == .error }
    if !open.isEmpty { throw SaveConflictError(conflicts: open) }
  }

  /// Gives each conflict under a uniqueness constraint its ``ConstraintConflict/resolution``. An override calls super
  /// for what it left without one. It may also resolve a conflict by changing or deleting objects, and take it out of
  /// the list.
  /// - Throws: ``ConstraintConflictError`` for those that ``mergeType`` does not resolve; the save fails with it.
  open func resolve(
    constraintConflicts conflicts: inout [ConstraintConflict], in context: ManagedObjectContext
  ) throws {
    for index in conflicts.indices where conflicts[index].resolution == nil {
      conflicts[index].resolution = mergeType
    }
    let open = conflicts.filter { !$0.isResolvable }
    if !open.isEmpty { throw ConstraintConflictError(conflicts: open) }
  }
}
