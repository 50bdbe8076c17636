import DriftlessSQLite
import Foundation

/// A transaction that saves and reads of one thread are part of (`PersistentStore.writeWhole`).
final class JoinedWrite: @unchecked Sendable {  // used on the thread that began it alone
  @TaskLocal static var current: JoinedWrite?

  private let store: PersistentStore
  private let thread = pthread_self()
  private let transaction: WriteTransaction
  /// A task that was begun within it keeps its value, and may come to run on its thread when it is over.
  fileprivate var isOver = false

  init(_ store: PersistentStore, _ transaction: WriteTransaction) {
    self.store = store
    self.transaction = transaction
  }

  /// The transaction of a store that this thread is in.
  static func transaction(of store: PersistentStore) -> WriteTransaction? {
    // Whoever is in one has its connection. A task's value is dear to ask for.
    guard HeldConnections.areAny, let current, current.store === store,
      pthread_equal(current.thread, pthread_self()) != 0, !current.isOver
    else { return nil }
    return current.transaction
  }
}

extension PersistentStore {
  /// Runs `body` as one transaction with one entry in the history: the saves that it makes on its thread are parts of it,
  /// and its reads see them. When it throws, nothing was done.
  ///
  /// Contexts that it saved must not be used after a failure: they hold what was taken back.
  package func writeWhole<T>(
    _ info: TransactionInfo, _ body: (WriteTransaction) throws -> T
  ) throws -> T {
    try write(info) { transaction in
      try transaction.connection.withCache(kibibytes: StoreTuning.wholeCacheKibibytes) {
        let joined = JoinedWrite(self, transaction)
        defer { joined.isOver = true }
        return try JoinedWrite.$current.withValue(joined) { try body(transaction) }
      }
    }.0
  }
}
