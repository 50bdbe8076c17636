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
        let stale = try settleStale(check.leaving, transaction)
        settled += stale
        // What is to become of them may be that they keep their values.
        if !stale.isEmpty { continue }
        try validate(settled)
        return try clearTheWay(check.leaving, transaction)
      }
      var conflicts = check.conflicts
      try asking {
        try context.mergePolicy.resolve(constraintConflicts: &conflicts, in: context)
      }
      let open = conflicts.filter { !$0.isResolvable }
      if !open.isEmpty { throw ConstraintConflictError(conflicts: open) }
      for conflict in conflicts {
        let merge = ConstraintMerge(context, conflict)
        settled += try merge.run { if $0.key < 0 { context.saving.note($1, of: $0.key) } }
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

  /// Objects that give values up, and whose rows others changed: values cannot pass from a row that is not the one that the
  /// object knows. The policy says now what becomes of them, and they go on from what their rows have.
  ///
  /// - Returns: The objects.
  private mutating func settleStale(
    _ leaving: [ConstraintCheck.Leaving], _ transaction: WriteTransaction
  ) throws -> [ManagedObject] {
    var known: Set<ObjectIdentifier> = []
    var stale: [(object: ManagedObject, row: ReadTransaction.Row)] = []
    for object in leaving.map(\.object)
    where object.version > 0 && known.insert(ObjectIdentifier(object)).inserted {
      guard let row = try transaction.ownRow(object.objectKey), row.version != object.version else {
        continue
      }
      stale.append((object, row))
    }
    guard !stale.isEmpty else { return [] }
    var conflicts = stale.map { object, row in
      conflict(
        object, object.isDeleted ? [] : object.changedColumns.indexes, row,
        isDeletion: object.isDeleted)
    }
    try decide(&conflicts)
    for (object, row) in stale {
      context.rebase(object, on: row, by: decided[object.objectID] ?? .error)
    }
    return stale.map(\.object)
  }

  private mutating func clearTheWay(
    _ leaving: [ConstraintCheck.Leaving], _ transaction: WriteTransaction
  ) throws {
    var gone: Set<ObjectIdentifier> = []
    for place in leaving {
      let object = place.object
      if !object.isDeleted {
        try transaction.vacate(
          object.objectKey, version: object.version, place.columns,
          changing: object.changedColumns)
      } else if gone.insert(ObjectIdentifier(object)).inserted {
        try delete(object, transaction)
      }
    }
  }
}
