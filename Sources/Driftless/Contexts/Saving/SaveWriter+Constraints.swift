/// Uniqueness constraints: what becomes of objects that meet under one, by the context's merge policy.
extension SaveWriter {
  /// How often one resolution may bring about the next conflict before the save gives up.
  private static let constraintRounds = 100

  /// Lets the policy make one object of those that meet, as an application would change them, and clears the way for
  /// values that pass from one object to another in this save.
  mutating func settleConstraints(_ transaction: WriteTransaction) throws {
    guard plan.schema.hasUniqueColumns else { return }
    context.undoManager?.disableUndoRegistration()
    defer { context.undoManager?.enableUndoRegistration() }
    var settled: [ManagedObject] = []
    for _ in 0..<Self.constraintRounds {
      var check = ConstraintCheck(context, plan, transaction)
      try check.run()
      if check.conflicts.isEmpty {
        try validate(settled)
        return try clearTheWay(check.leaving, transaction)
      }
      var conflicts = check.conflicts
      try context.mergePolicy.resolve(constraintConflicts: &conflicts, in: context)
      let open = conflicts.filter { !$0.isResolvable }
      if !open.isEmpty { throw ConstraintConflictError(conflicts: open) }
      for conflict in conflicts {
        let merge = ConstraintMerge(context, conflict)
        settled += try merge.run { if $0.key < 0 { context.merged[$0.key] = $1 } }
      }
      try context.graph.throwAccessorError()
    }
    var check = ConstraintCheck(context, plan, transaction)
    try check.run()
    throw ConstraintConflictError(conflicts: check.conflicts)
  }

  /// The objects were checked before they were changed.
  private func validate(_ objects: [ManagedObject]) throws {
    var items: [ValidationFailure.Item] = []
    for object in Set(objects) where object.isIn(context) && object.hasChanges {
      object.validate(into: &items)
    }
    try ValidationFailure.check(items)
  }

  private mutating func clearTheWay(
    _ leaving: [ConstraintCheck.Leaving], _ transaction: WriteTransaction
  ) throws {
    var gone: Set<ObjectIdentifier> = []
    for place in leaving {
      let object = place.object
      if !object.isDeleted {
        try transaction.vacate(object.objectKey, version: object.version, place.columns)
      } else if gone.insert(ObjectIdentifier(object)).inserted {
        try delete(object, transaction)
      }
    }
  }
}
