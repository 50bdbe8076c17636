import Foundation

/// Writes to several stores.
extension ManagedObjectContext {
  /// Writes to stores; all of it is written before the first of them commits.
  ///
  /// They are written in one order, whatever the coordinator's: two who write to the same stores would wait for each other, each
  /// with a store that the other one needs. Whoever has several stores in hand at once comes here.
  ///
  /// - Parameters:
  ///   - written: Gets what is to be told when no lock is held.
  ///   - didCommit: Gets the transaction as well, unless it is one of others that goes on, or changed nothing.
  func write(
    to plans: [ObjectPlan], _ info: TransactionInfo, _ written: inout [Written],
    didCommit: (ObjectPlan, CommittedTransaction?) -> Void = { _, _ in },
    _ body: (ObjectPlan, WriteTransaction) throws -> Void
  ) throws {
    // Stores in memory, which nobody else has, come last.
    func place(_ plan: ObjectPlan) -> String { plan.store.url?.path ?? "~" }
    try writeInOrder(
      to: plans.count > 1 ? plans.sorted { place($0) < place($1) }[...] : plans[...], info,
      &written, didCommit, body)
  }

  private func writeInOrder(
    to plans: ArraySlice<ObjectPlan>, _ info: TransactionInfo, _ written: inout [Written],
    _ didCommit: (ObjectPlan, CommittedTransaction?) -> Void,
    _ body: (ObjectPlan, WriteTransaction) throws -> Void
  ) throws {
    guard let plan = plans.first else { return }
    let outcome = try plan.store.writeUntold(info) { transaction in
      try body(plan, transaction)
      try writeInOrder(to: plans.dropFirst(), info, &written, didCommit, body)
    }
    if let news = outcome.news { written.append(Written(store: plan.store, news: news)) }
    didCommit(plan, outcome.committed)
  }

  /// The stores that a request writes, of those that have its entity: one that may only be read counts where it has objects of
  /// the request, and the write says then that it cannot be. Where there is no other, it counts as well.
  ///
  /// - Parameter finds: Whether a store has objects of the request.
  func written(
    _ plans: [ObjectPlan], where finds: (ObjectPlan) throws -> Bool
  ) throws -> [ObjectPlan] {
    guard plans.contains(where: { !$0.store.isReadOnly }) else { return plans }
    return try plans.filter { try !$0.store.isReadOnly || finds($0) }
  }
}
