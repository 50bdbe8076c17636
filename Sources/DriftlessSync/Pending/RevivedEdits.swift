import Driftless

/// When the properties of what is to be revived were edited, as history has it: that is read from its beginning, so it is kept
/// while history is the same, for the change sets of a push are built one after the other, and halved where the server refuses
/// them.
struct RevivedEdits {
  private var through: Int64 = -1
  private var keys: Set<ObjectKey> = []
  private var history = EditHistory()

  /// - Parameter pending: all that is pending, of which change sets are parts.
  mutating func history(
    of pending: PendingSet, _ transaction: ReadTransaction, schema: SyncSchema
  ) throws -> EditHistory {
    guard pending.objects.containsState(where: { $0.whole == .revive }) else {
      return EditHistory()
    }
    let revived = Set(pending.objects.lazy.filter { $0.1.whole == .revive }.map { $0.0 })
    let newest = try transaction.maximumTransactionNumber()
    if newest == through, revived.isSubset(of: keys) { return history }
    history = try EditHistory(transaction, schema: schema, of: revived)
    (through, keys) = (newest, revived)
    return history
  }
}
