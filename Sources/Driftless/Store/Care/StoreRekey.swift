import DriftlessSQLite
import Foundation

extension PersistentStore {
  /// Makes the store another one than the file that it was copied from: it gets an identifier of its own, and objects made
  /// in it from now on get identities that the original never gives out. Objects that are there keep theirs.
  ///
  /// The store has its old identifier until it is opened again.
  /// - Parameter body: Writes what else belongs to the same transaction.
  /// - Returns: The new identifier.
  package func rekey(_ body: (WriteTransaction) throws -> Void = { _ in }) throws -> String {
    let identifier = UUID().uuidString
    var isRenamed = false
    content?.expect(identifier)
    // Connections that look at the file later find the new one: that is no other store in its place.
    defer { content?.finishRename(isRenamed: isRenamed) }
    _ = try write(TransactionInfo()) { transaction in
      let connection = transaction.connection
      try transaction.renewMintPrefix()
      // Whoever reads the original's history has not read this one's.
      try RegisteredReaders.removeAll(on: connection)
      try MetadataTable.setIdentifier(identifier, on: connection)
      try body(transaction)
    }
    isRenamed = true
    return identifier
  }
}
