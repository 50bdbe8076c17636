import DriftlessSQLite
import Foundation

/// The numbers under which Core Data keeps its history entities.
package enum HistoryEntity {
  /// From here on numbers are no entity's of a model.
  static let first: Int64 = 16000
  package static let change: Int64 = 16001
  package static let transaction: Int64 = 16002
  package static let string: Int64 = 16003
}

/// What a change did. The raw values are Core Data's.
public enum ChangeType: Int, Sendable, Codable {
  case insert = 0
  case update = 1
  case delete = 2
}

/// Writes what a transaction is known by, in the transaction that it describes.
struct HistoryWriter {
  let connection: SQLiteConnection

  static let processName = ProcessInfo.processInfo.processName

  func write(
    number: Int64, name: UInt64, info: TransactionInfo, hybridTime: HybridTime, now: Date,
    firstChange: Int64, changeCount: Int64
  ) throws {
    assert(number > 0 && changeCount > 0, "a transaction of the history has changes")
    try TransactionTable.add(
      number, author: info.author, contextName: info.contextName, processName: Self.processName,
      time: now, on: connection)
    try TransactionNotes.add(
      HistoryHeader(number: number, kind: info.kind, hybridTime: hybridTime, name: name),
      changes: firstChange...(firstChange + changeCount - 1), on: connection)
    try PrimaryKeyTable.setLastKey(number, of: HistoryEntity.transaction, on: connection)
    try PrimaryKeyTable.setLastKey(
      firstChange + changeCount - 1, of: HistoryEntity.change, on: connection)
  }
}
