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

/// Writes the row of a transaction, in the transaction that it describes.
struct HistoryWriter {
  let connection: SQLiteConnection

  static let processName = ProcessInfo.processInfo.processName

  func write(
    number: Int64, name: UInt64, info: TransactionInfo, hybridTime: HybridTime, now: Date,
    firstChange: Int64, changeCount: Int64
  ) throws {
    assert(number > 0 && changeCount > 0, "a transaction of the history has changes")
    func string(_ text: String?) throws -> SQLiteValue {
      try text.map { .integer(try stringKey($0)) } ?? .null
    }
    try connection.run(
      """
      INSERT INTO ATRANSACTION (Z_PK, Z_ENT, Z_OPT, ZAUTHORTS, ZBUNDLEIDTS, ZCONTEXTNAMETS,
      ZPROCESSIDTS, ZTIMESTAMP) VALUES (?, 16002, 1, ?, NULL, ?, ?, ?)
      """,
      .integer(number), try string(info.author), try string(info.contextName),
      try string(Self.processName), .real(now.timeIntervalSinceReferenceDate))
    try TransactionNotes.add(
      HistoryHeader(number: number, kind: info.kind, hybridTime: hybridTime, name: name),
      changes: firstChange...(firstChange + changeCount - 1), on: connection)
    try setMaximum(HistoryEntity.transaction, number)
    try setMaximum(HistoryEntity.change, firstChange + changeCount - 1)
  }

  private func setMaximum(_ entity: Int64, _ value: Int64) throws {
    try connection.run(
      "UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", .integer(value), .integer(entity))
  }

  private func stringKey(_ text: String) throws -> Int64 {
    if case .integer(let key)? = try connection.scalar(
      "SELECT Z_PK FROM ATRANSACTIONSTRING WHERE ZNAME = ?", .text(text))
    {
      return key
    }
    let last = try ReadTransaction.lastNumber(HistoryEntity.string, connection)
    let key = try ReadTransaction.numbers(after: last, count: 1).lowerBound
    try connection.run(
      "INSERT INTO ATRANSACTIONSTRING (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (?, 16003, 1, ?)",
      .integer(key), .text(text))
    try setMaximum(HistoryEntity.string, key)
    return key
  }
}
