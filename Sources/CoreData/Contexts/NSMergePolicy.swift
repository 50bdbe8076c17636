// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The names are Core Data's.
import Driftless
public import Foundation

/// What a save does when another one changed the same object in the meantime, and when objects meet under a uniqueness
/// constraint. A subclass changes the objects of a conflict, and calls super.
open class NSMergePolicy: NSObject {
  /// What becomes of conflicts.
  public let mergeType: NSMergePolicyType

  /// - Parameter ty: What becomes of conflicts.
  public init(merge ty: NSMergePolicyType) { mergeType = ty }

  nonisolated(unsafe) private static let refusing = NSMergePolicy(  // nothing of it changes
    merge: .errorMergePolicyType)
  nonisolated(unsafe) private static let storeFirst = NSMergePolicy(  // as above
    merge: .mergeByPropertyStoreTrumpMergePolicyType)
  nonisolated(unsafe) private static let objectFirst = NSMergePolicy(  // as above
    merge: .mergeByPropertyObjectTrumpMergePolicyType)
  nonisolated(unsafe) private static let overwriting = NSMergePolicy(  // as above
    merge: .overwriteMergePolicyType)
  nonisolated(unsafe) private static let droppingChanges = NSMergePolicy(  // as above
    merge: .rollbackMergePolicyType)

  /// The save fails and names the conflicts. It is one object, and so are the others.
  public class var error: NSMergePolicy { refusing }
  /// Property by property; the store's values stay.
  public class var mergeByPropertyStoreTrump: NSMergePolicy { storeFirst }
  /// Property by property; this context's values are written.
  public class var mergeByPropertyObjectTrump: NSMergePolicy { objectFirst }
  /// This context's whole objects are written.
  public class var overwrite: NSMergePolicy { overwriting }
  /// This context's changes are dropped.
  public class var rollback: NSMergePolicy { droppingChanges }

  /// Resolves conflicts of both kinds: what a context asks. It passes them on to the members for either kind. Of conflicts that a
  /// save threw it does with their objects what `mergeType` says, by what the store has now, so that the next save goes through.
  ///
  /// ```swift
  /// do { try context.save() } catch let error as CocoaError where error.code == .managedObjectMerge {
  ///   let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [Any] ?? []
  ///   try NSMergePolicy.mergeByPropertyObjectTrump.resolve(mergeConflicts: conflicts)
  ///   try context.save()
  /// }
  /// ```
  /// - Throws: 133020 or 133021 for those that `mergeType` does not resolve; the save fails with it.
  open func resolve(mergeConflicts list: [Any]) throws {
    let conflicts = list.compactMap { $0 as? NSMergeConflict }
    if !conflicts.isEmpty { try resolve(optimisticLockingConflicts: conflicts) }
    let constraints = list.compactMap { $0 as? NSConstraintConflict }
    if !constraints.isEmpty { try resolve(constraintConflicts: constraints) }
  }

  /// Resolves conflicts with another save. One that is passed over is resolved as by
  /// `mergeByPropertyObjectTrump`: what the objects have then is written.
  /// - Throws: 133020 when `mergeType` is the error policy's; the save fails with it.
  open func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    for conflict in list { conflict.resolution = mergeType.known }
    guard mergeType != .errorMergePolicyType || list.isEmpty else {
      throw CocoaError(
        .managedObjectMerge, userInfo: [NSPersistentStoreSaveConflictsErrorKey: list])
    }
    for conflict in list where !conflict.isOfSave {
      try conflict.sourceObject.managedObjectContext?.settle(conflict, by: mergeType.known)
    }
  }

  /// Resolves conflicts under a uniqueness constraint. One that is passed over counts as resolved by what was done to
  /// its objects.
  /// - Throws: 133021 when `mergeType` is the error policy's; the save fails with it.
  open func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    for conflict in list { conflict.resolution = mergeType.known }
    guard mergeType != .errorMergePolicyType || list.isEmpty else {
      throw CocoaError(
        .managedObjectConstraintMerge, userInfo: [NSPersistentStoreSaveConflictsErrorKey: list])
    }
    for conflict in list where !conflict.isOfSave {
      let one = conflict.conflictingObjects.first { $0.managedObjectContext != nil }
      try one?.managedObjectContext?.settle(conflict, by: mergeType.known)
    }
  }
}

/// `NSMergePolicy/error`
public var NSErrorMergePolicy: AnyObject { NSMergePolicy.error }
/// `NSMergePolicy/mergeByPropertyStoreTrump`
public var NSMergeByPropertyStoreTrumpMergePolicy: AnyObject {
  NSMergePolicy.mergeByPropertyStoreTrump
}
/// `NSMergePolicy/mergeByPropertyObjectTrump`
public var NSMergeByPropertyObjectTrumpMergePolicy: AnyObject {
  NSMergePolicy.mergeByPropertyObjectTrump
}
/// `NSMergePolicy/overwrite`
public var NSOverwriteMergePolicy: AnyObject { NSMergePolicy.overwrite }
/// `NSMergePolicy/rollback`
public var NSRollbackMergePolicy: AnyObject { NSMergePolicy.rollback }

/// One object that a context changed and another save changed too.
open class NSMergeConflict: NSObject {
  /// The object.
  public let sourceObject: NSManagedObject
  /// The object's values as the context last read or saved them, `NSNull` for none, with IDs of objects.
  public let objectSnapshot: [String: Any]?
  /// The values that the coordinator has by now, with the IDs of objects at the other ends of to-one relationships and `NSNull` for none;
  /// nil when the object was deleted. There is no cache of rows in between: they are those of the store.
  public let cachedSnapshot: [String: Any]?
  /// Nil of a conflict that a save meets, which is one between a context and its coordinator.
  public let persistedSnapshot: [String: Any]?
  /// The row's version now; 0 when it was deleted.
  public let newVersionNumber: Int
  /// The row's version that the context knew.
  public let oldVersionNumber: Int
  var resolution: MergePolicyType?
  /// Whether a save is asking about it, which does what is decided.
  var isOfSave = false

  /// A conflict that an application names.
  ///
  /// - Parameters:
  ///   - srcObject: The object.
  ///   - newvers: The row's version now; 0 when it was deleted.
  ///   - oldvers: The row's version that the context knew.
  ///   - cachesnap: The values that the coordinator has. Those that the context last read or saved are the object's own.
  ///   - persnap: The row's values now, of a conflict between the coordinator and the store.
  public init(
    source srcObject: NSManagedObject, newVersion newvers: Int, oldVersion oldvers: Int,
    cachedSnapshot cachesnap: [String: Any]?, persistedSnapshot persnap: [String: Any]?
  ) {
    sourceObject = srcObject
    objectSnapshot = srcObject.committedValues(forKeys: nil).mapValues {
      ($0 as? NSManagedObject)?.objectID ?? $0
    }
    cachedSnapshot = cachesnap
    persistedSnapshot = persnap
    newVersionNumber = newvers
    oldVersionNumber = oldvers
  }

  /// The object, which versions meet, and the names of the properties that differ. Values are not in it.
  open override var description: String {
    let theirs = newVersionNumber == 0 ? "deleted" : "version \(newVersionNumber)"
    let row = (cachedSnapshot ?? persistedSnapshot).map { row in
      row.keys.filter { key in
        !areEqual(row[key], objectSnapshot?[key])
      }.sorted().joined(separator: ", ")
    }
    let mine = sourceObject.changedValues().keys.sorted().joined(separator: ", ")
    return "NSMergeConflict of \(sourceObject.objectID): here version \(oldVersionNumber)"
      + (mine.isEmpty ? "" : " with changes of \(mine)") + ", in the store \(theirs)"
      + (row.map { $0.isEmpty ? "" : " with another \($0)" } ?? "")
  }

  open override var debugDescription: String { description }

  init(_ conflict: MergeConflict, _ context: NSManagedObjectContext) {
    let id = conflict.objectID
    sourceObject = context.object(with: id)
    objectSnapshot = foundationValues(conflict.objectSnapshot, of: id, context)
    cachedSnapshot = conflict.persistedSnapshot.map { foundationValues($0, of: id, context) }
    persistedSnapshot = nil
    newVersionNumber = Int(conflict.newVersionNumber)
    oldVersionNumber = Int(conflict.oldVersionNumber)
  }
}

/// Objects with the same values of properties that a uniqueness constraint keeps unique.
open class NSConstraintConflict: NSObject {
  /// The constrained properties.
  public let constraint: [String]
  /// The values that the objects share.
  public let constraintValues: [String: Any]
  /// The object whose row in the store has the values; nil when only unsaved objects do.
  public let databaseObject: NSManagedObject?
  /// The row's values; nil without one.
  public let databaseSnapshot: [String: Any]?
  /// This context's objects that are to be saved with the values.
  public let conflictingObjects: [NSManagedObject]
  /// Their values as last read or saved; empty for a new one.
  public let conflictingSnapshots: [[AnyHashable: Any]]
  var resolution: MergePolicyType?
  /// Whether a save is asking about it, which does what is decided.
  var isOfSave = false

  /// A conflict that an application names.
  ///
  /// - Parameters:
  ///   - contraint: The constrained properties.
  ///   - databaseObject: The object whose row in the store has the values.
  ///   - databaseSnapshot: The row's values.
  ///   - conflictingObjects: The objects that are to be saved with the values. Without any and without a row there is no
  ///     conflict, which is a precondition failure.
  ///   - conflictingSnapshots: Their values as last read or saved.
  public init(
    constraint contraint: [String], database databaseObject: NSManagedObject?,
    databaseSnapshot: [AnyHashable: Any]?, conflicting conflictingObjects: [NSManagedObject],
    conflictingSnapshots: [[AnyHashable: Any]]
  ) {
    guard let one = conflictingObjects.first ?? databaseObject else {
      preconditionFailure("A conflict under \(contraint) is one of objects, and there are none")
    }
    constraint = contraint
    var values: [String: Any] = [:]
    for name in contraint { values[name] = one.storedValue(name) ?? NSNull() }
    constraintValues = values
    self.databaseObject = databaseObject
    self.databaseSnapshot = databaseSnapshot?.reduce(into: [:]) { snapshot, value in
      if let name = value.key.base as? String { snapshot[name] = value.value }
    }
    self.conflictingObjects = conflictingObjects
    self.conflictingSnapshots = conflictingSnapshots
  }

  /// The constraint, the object that has the values, and those that are to get them. Values are not in it.
  open override var description: String {
    let others = conflictingObjects.map { "\($0.objectID)" }.joined(separator: ", ")
    return "NSConstraintConflict of \(constraint.joined(separator: ", ")): \(others)"
      + (databaseObject.map { "; the store has the values in \($0.objectID)" } ?? "")
  }

  open override var debugDescription: String { description }

  init(_ conflict: ConstraintConflict, _ context: NSManagedObjectContext) {
    constraint = conflict.constraint
    let ids = conflict.conflictingObjects
    constraintValues = foundationValues(
      conflict.constraintValues, of: conflict.databaseObject ?? ids.first, context)
    databaseObject = conflict.databaseObject.map(context.object)
    databaseSnapshot = conflict.databaseSnapshot.map {
      foundationValues($0, of: conflict.databaseObject, context)
    }
    conflictingObjects = ids.map(context.object)
    conflictingSnapshots = zip(ids, conflict.conflictingSnapshots).map {
      foundationValues($1 ?? [:], of: $0, context)
    }
  }
}

private func areEqual(_ one: Any?, _ other: Any?) -> Bool {
  (one as? AnyHashable) == (other as? AnyHashable)
}

/// A large value that is not here stands for itself: who sets the values of a snapshot keeps it. An object at the other end of a
/// to-one relationship is its ID.
private func foundationValues(
  _ values: [String: PropertyValue], of owner: NSManagedObjectID?,
  _ context: NSManagedObjectContext
) -> [String: Any] {
  var snapshot: [String: Any] = [:]
  for (name, value) in values {
    if case .reference(let key) = value, let owner {
      snapshot[name] = context.base.objectID(of: key, beside: owner) ?? NSNull()
    } else {
      snapshot[name] =
        owner?.entity.attributesByName[name]?.snapshotValue(value)
        ?? foundationValue(value.plainOrName) ?? NSNull()
    }
  }
  return snapshot
}

extension NSManagedObjectContext {
  fileprivate func settle(_ conflict: NSMergeConflict, by type: MergePolicyType) throws {
    try asCocoaErrors { try base.settleConflict(of: conflict.sourceObject, by: type) }
  }

  fileprivate func settle(_ conflict: NSConstraintConflict, by type: MergePolicyType) throws {
    try asCocoaErrors {
      try base.settleConstraint(
        conflict.constraint, conflict.databaseObject, conflict.conflictingObjects, by: type)
    }
  }
}

/// Asks a policy of Core Data's form what the library asks one of its own.
final class PolicyBridge: MergePolicy {
  private let policy: NSMergePolicy
  private weak var standing: NSManagedObjectContext?

  init(_ policy: NSMergePolicy, _ context: NSManagedObjectContext) {
    self.policy = policy
    standing = context
    super.init(merge: policy.mergeType.known)
  }

  override func resolve(
    optimisticLockingConflicts conflicts: inout [MergeConflict], in context: ManagedObjectContext
  ) throws {
    // A policy as it is decides as the library's own, with its errors.
    guard let standing, type(of: policy) != NSMergePolicy.self else {
      return try super.resolve(optimisticLockingConflicts: &conflicts, in: context)
    }
    let told = conflicts.map { NSMergeConflict($0, standing) }
    for conflict in told { conflict.isOfSave = true }
    defer { for conflict in told { conflict.isOfSave = false } }
    try policy.resolve(mergeConflicts: told)
    for (index, conflict) in told.enumerated() {
      conflicts[index].resolution = conflict.resolution ?? .mergeByPropertyObjectTrump
    }
    try super.resolve(optimisticLockingConflicts: &conflicts, in: context)
  }

  override func resolve(
    constraintConflicts conflicts: inout [ConstraintConflict], in context: ManagedObjectContext
  ) throws {
    guard let standing, type(of: policy) != NSMergePolicy.self else {
      return try super.resolve(constraintConflicts: &conflicts, in: context)
    }
    let told = conflicts.map { NSConstraintConflict($0, standing) }
    for conflict in told { conflict.isOfSave = true }
    defer { for conflict in told { conflict.isOfSave = false } }
    try policy.resolve(mergeConflicts: told)
    for (index, conflict) in told.enumerated() { conflicts[index].resolution = conflict.resolution }
    conflicts.removeAll { $0.resolution == nil }
    try super.resolve(constraintConflicts: &conflicts, in: context)
  }
}
