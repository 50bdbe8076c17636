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
    _ = try write(TransactionInfo()) { transaction in
      let connection = transaction.connection
      try transaction.renewMintPrefix()
      // Whoever reads the original's history has not read this one's.
      try connection.run("DELETE FROM ZDL_HISTORY_READER")
      try connection.run("UPDATE Z_METADATA SET Z_UUID = ?", .text(identifier))
      try body(transaction)
    }
    return identifier
  }
}

extension WriteTransaction {
  /// Objects made from now on get identities that no other file gives out; those that are there keep theirs.
  package func renewMintPrefix() throws {
    for root in schema.entities where root.superentity == nil {
      try keepMintedIdentities(root: schema.entityNumber(of: root))
    }
    let prefix = Data((0..<6).map { _ in UInt8.random(in: .min ... .max) })
    try setSetting("mintPrefix", .blob(prefix))
  }

  /// Writes down the identities that follow from the keys of a hierarchy, before they would follow otherwise.
  fileprivate func keepMintedIdentities(root: Int32) throws {
    guard
      case .integer(let last)? = try connection.scalar(
        "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?", .integer(Int64(root)))
    else { return }
    var runs: [ClosedRange<Int64>] = []
    for row in try connection.rows(
      "SELECT first_key, count FROM ZDL_IDENTITY WHERE root_entity = ? ORDER BY first_key",
      .integer(Int64(root)))
    {
      guard case .integer(let first) = row[0], case .integer(let count) = row[1], count > 0 else {
        continue
      }
      runs.append(first...first + count - 1)
    }
    var next: Int64 = 1
    for run in runs + [last + 1...last + 1] {
      if next < run.lowerBound {
        try assignIdentities(
          root: root, firstKey: next, count: run.lowerBound - next,
          firstIdentity: identity(of: ObjectKey(entity: root, key: next)), firstNumber: nil)
      }
      next = max(next, run.upperBound + 1)
    }
  }
}
