import DriftlessSQLite
import Foundation

extension PersistentStore {
  /// Prepares a file that an earlier version of the library opened for writing, and that Core Data wrote, for being copied to several
  /// hosts: the objects that are there get their identities now, and every copy of the file has them under those.
  ///
  /// A file that is opened for writing for the first time needs no preparing: its objects get identities that follow from its
  /// content, so that they are the same on each host that has the same file. What earlier versions opened has identities of
  /// that file alone. A file that the library made, or that was prepared, is left as it is.
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

  /// How many objects of some entities a file of Core Data's has under identities of its own, which no other copy of it has: an
  /// earlier version opened it first.
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
