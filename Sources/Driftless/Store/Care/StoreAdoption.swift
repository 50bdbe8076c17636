import DriftlessSQLite
import Foundation

extension PersistentStore {
  /// Prepares a file that Core Data wrote for being copied to several hosts: the objects that are there get their identities now,
  /// and every copy of the file has them under those.
  ///
  /// Core Data's files say no identities, so each file that is opened gives its objects some of its own: the same file on two
  /// hosts may have been written to on both, and then one key is two objects. Only who prepares the file knows that it was not.
  /// A file that the library made needs no preparing, and one that was prepared is left as it is.
  ///
  /// ```swift
  /// let store = try PersistentStore.open(url: url, model: model)
  /// try store.adopt()
  /// store.close()
  /// // Now copy the file, with its folder of large values, to wherever it is needed.
  /// ```
  ///
  /// - Returns: how many objects got their identities; 0 where there was nothing to do.
  /// - Throws: `StoreError`, also where the store can only be read.
  @discardableResult
  public func adopt() throws -> Int {
    guard try read({ try isUnprepared($0) }) else { return 0 }
    return try write(TransactionInfo()) { transaction in
      guard try isUnprepared(transaction) else { return 0 }
      let count = try schema.entities.reduce(0) { try $0 + transaction.mintedObjects(of: $1) }
      try transaction.renewMintPrefix()
      return count
    }.0
  }

  /// How many objects of some entities a file of Core Data's has that was never prepared: no other copy of it has them under
  /// the same identities.
  package func unpreparedObjects(
    where isCounted: (EntityDescription) -> Bool
  ) throws -> Int {
    try read { transaction in
      guard try isUnprepared(transaction) else { return 0 }
      return try schema.entities.filter(isCounted).reduce(0) {
        try $0 + transaction.mintedObjects(of: $1)
      }
    }
  }

  private func isUnprepared(_ transaction: ReadTransaction) throws -> Bool {
    try metadata.format == 0 && transaction.setting(StoreSettings.identitiesKept) == nil
  }
}
