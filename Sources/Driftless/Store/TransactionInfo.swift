/// Who writes, and in what capacity.
package struct TransactionInfo: Sendable {
  package var author: String?
  package var contextName: String?
  package var kind: TransactionKind
  /// Nil for now.
  package var hybridTime: HybridTime?
  /// Of an import the name of the zone's transaction, where it is one; nil otherwise.
  package var name: UInt64?
  /// The context whose save it is, which tells the others itself.
  var contextNumber: Int64?

  package init(
    author: String? = nil, contextName: String? = nil, kind: TransactionKind = .local,
    hybridTime: HybridTime? = nil, name: UInt64? = nil
  ) {
    self.name = name
    self.author = author
    self.contextName = contextName
    self.kind = kind
    self.hybridTime = hybridTime
  }
}

/// What a history transaction is to sync.
package enum TransactionKind: Int64, Sendable {
  /// A change made here: pending until the zone has it.
  case local = 0
  /// A change of the zone's log, applied here.
  case imported = 1
  /// What a merge decided here: pending, like a local change.
  case resolution = 2
  /// A change that Core Data recorded before the file came here: pending, like a local change. Which properties an update
  /// changed is not known: Core Data counts them in an order of its own, so it may have been any.
  case adopted = 3
}
