import DriftlessSQLite
import Foundation

/// A transaction's header, as the change feed meets it.
package struct HistoryHeader: Hashable, Sendable {
  package let number: Int64
  package let kind: TransactionKind
  package let hybridTime: HybridTime
  /// 0 for an import without one.
  package let name: UInt64
}

/// Owns `ZDL_TRANSACTION`: what Driftless notes of a transaction beside Core Data's `ATRANSACTION`.
enum TransactionNotes {
  static let table = "ZDL_TRANSACTION"
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .integer("number", 1...ReadTransaction.greatestNumber),
    .integer(
      "kind", TransactionKind.local.rawValue...TransactionKind.adopted.rawValue, grows: true),
    .integer("first_change", 1...ReadTransaction.greatestNumber),
    .integer("last_change", 1...ReadTransaction.greatestNumber),
    RowRule("last_change >= first_change", "it ends before it begins"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_TRANSACTION (number INTEGER PRIMARY KEY, kind INTEGER NOT NULL,
    hybrid_time INTEGER NOT NULL, first_change INTEGER NOT NULL, last_change INTEGER NOT NULL,
    name INTEGER NOT NULL DEFAULT 0\(RowRule.constraints(rules)))
    """

  // MARK: Older files

  /// Brings the table of an older version to this one.
  static func complete(on connection: SQLiteConnection) throws {
    guard try !hasNames(connection) else { return }
    try connection.execute(
      """
      ALTER TABLE ZDL_TRANSACTION ADD COLUMN name INTEGER NOT NULL DEFAULT 0;
      UPDATE ZDL_TRANSACTION SET kind = \(TransactionKind.adopted.rawValue)
      WHERE kind = \(TransactionKind.local.rawValue) AND number IN
      (SELECT Z_PK FROM ATRANSACTION WHERE ZBUNDLEIDTS IS NOT NULL OR ZBUNDLEID IS NOT NULL);
      UPDATE ZDL_TRANSACTION SET name = \(TransactionName.derivedSQL("number", "hybrid_time"))
      WHERE kind <> \(TransactionKind.imported.rawValue)
      """)
  }

  /// What a connection runs that reads the table of an older version, and may not change it; nil for one of this version.
  static func overlay(on connection: SQLiteConnection) throws -> String? {
    guard try !hasNames(connection) else { return nil }
    return """
      CREATE TEMP VIEW ZDL_TRANSACTION AS SELECT *, CASE kind WHEN
      \(TransactionKind.imported.rawValue) THEN 0 ELSE
      \(TransactionName.derivedSQL("number", "hybrid_time")) END AS name
      FROM main.ZDL_TRANSACTION
      """
  }

  private static func hasNames(_ connection: SQLiteConnection) throws -> Bool {
    try StoreDefinition.hasColumn("name", of: table, connection)
  }

  /// Notes the history that Core Data recorded, and of which nothing is noted yet, at the times of its clock.
  ///
  /// Two copies of one file that are taken over give its transactions the same names.
  static let takeOver = """
    INSERT INTO ZDL_TRANSACTION (number, kind, hybrid_time, first_change, last_change,
    name) SELECT number, \(TransactionKind.adopted.rawValue), time, first, last,
    \(TransactionName.derivedSQL("number", "time")) FROM (SELECT t.Z_PK AS number,
    CAST((t.ZTIMESTAMP + \(Date.timeIntervalBetween1970AndReferenceDate)) * 1000 AS INTEGER) << 16
    AS time, MIN(c.Z_PK) AS first, MAX(c.Z_PK) AS last
    FROM ATRANSACTION t JOIN ACHANGE c ON c.ZTRANSACTIONID = t.Z_PK
    WHERE t.Z_PK > (SELECT COALESCE(MAX(number), 0) FROM ZDL_TRANSACTION) GROUP BY t.Z_PK)
    WHERE true ON CONFLICT DO NOTHING
    """

  /// Whether Core Data recorded a row of `ACHANGE`.
  static let isAdopted = """
    EXISTS (SELECT 1 FROM main.ZDL_TRANSACTION t WHERE t.number = ZTRANSACTIONID
    AND t.kind = \(TransactionKind.adopted.rawValue))
    """

  // MARK: Writing

  static func add(
    _ header: HistoryHeader, changes: ClosedRange<Int64>, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      """
      INSERT INTO ZDL_TRANSACTION (number, kind, hybrid_time, first_change, last_change, name)
      VALUES (?, ?, ?, ?, ?, ?)
      """, .integer(header.number), .integer(header.kind.rawValue),
      .integer(Int64(bitPattern: header.hybridTime.rawValue)), .integer(changes.lowerBound),
      .integer(changes.upperBound), .integer(Int64(bitPattern: header.name)))
  }

  static func setTime(
    _ time: Int64, of number: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "UPDATE ZDL_TRANSACTION SET hybrid_time = ? WHERE number = ?", .integer(time),
      .integer(number))
  }

  /// Forgets transactions before a number. The newest stays: the hybrid clock goes on from it.
  static func drop(before number: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      """
      DELETE FROM ZDL_TRANSACTION WHERE number < ?
      AND number < (SELECT MAX(number) FROM ZDL_TRANSACTION)
      """, .integer(number))
  }

  static func dropAll(on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM main.ZDL_TRANSACTION")
  }

  // MARK: Reading

  /// The newest transaction of which something is noted; 0 for none.
  static func newest(on connection: SQLiteConnection) throws -> Int64 {
    guard
      case .integer(let number)? = try connection.scalar("SELECT MAX(number) FROM ZDL_TRANSACTION")
    else { return 0 }
    return number
  }

  /// The time of the newest transaction that came from elsewhere, or has no higher number than one; where those were purged, of
  /// the newest one; nil for none.
  static func newestTime(through number: Int64, on connection: SQLiteConnection) throws -> Int64? {
    guard
      case .integer(let time)? = try connection.scalar(
        """
        SELECT coalesce((SELECT MAX(hybrid_time) FROM ZDL_TRANSACTION WHERE number <= ? OR kind = ?),
        (SELECT MAX(hybrid_time) FROM ZDL_TRANSACTION))
        """, .integer(number), .integer(TransactionKind.imported.rawValue))
    else { return nil }
    return time
  }

  /// The last change before a transaction.
  static func lastChange(before number: Int64, on connection: SQLiteConnection) throws -> Int64? {
    guard
      case .integer(let last)? = try connection.scalar(
        "SELECT last_change FROM ZDL_TRANSACTION WHERE number < ? ORDER BY number DESC LIMIT 1",
        .integer(number))
    else { return nil }
    return last
  }

  /// The times of the transactions after one that are no imports, oldest first.
  static func times(
    after number: Int64, through last: Int64, on connection: SQLiteConnection
  ) throws -> [(number: Int64, time: Int64)] {
    let rows = try connection.rows(
      """
      SELECT number, hybrid_time FROM ZDL_TRANSACTION WHERE number > ? AND number <= ?
      AND kind <> ? ORDER BY number
      """, .integer(number), .integer(last), .integer(TransactionKind.imported.rawValue))
    return rows.compactMap { row in
      guard case .integer(let number) = row[0], case .integer(let time) = row[1] else { return nil }
      return (number, time)
    }
  }

  /// The newest time of an import, and of transactions up to a number, that is not above a bound; 0 for none.
  static func newestTime(
    through bound: Int64, upTo number: Int64, on connection: SQLiteConnection
  ) throws -> Int64 {
    let newest = try connection.scalar(
      """
      SELECT MAX(hybrid_time) FROM ZDL_TRANSACTION WHERE hybrid_time BETWEEN 0 AND ?
      AND (kind = ? OR number <= ?)
      """, .integer(bound), .integer(TransactionKind.imported.rawValue), .integer(number))
    if case .integer(let newest)? = newest { return newest }
    return 0
  }

  /// Goes through headers, oldest first. It has a statement of its own: what is done with one may ask for others.
  struct Headers {
    private let statement: SQLiteStatement

    /// - Parameter kind: transactions of this kind are passed over.
    init(
      after number: Int64, through last: Int64, passingOver kind: TransactionKind?,
      on connection: SQLiteConnection
    ) throws {
      statement = try connection.prepareUncached(
        """
        SELECT number, kind, hybrid_time, first_change, last_change, name FROM ZDL_TRANSACTION
        WHERE number > ? AND number <= ? AND kind IS NOT ? ORDER BY number
        """)
      statement.bind(number, at: 1)
      statement.bind(last, at: 2)
      if let kind { statement.bind(kind.rawValue, at: 3) }
    }

    /// The next header, and the numbers of the first and the last change.
    func next() throws -> (header: HistoryHeader, firstChange: Int64, lastChange: Int64)? {
      guard try statement.step() else { return nil }
      let header = HistoryHeader(
        number: statement.int64(0), kind: TransactionKind(rawValue: statement.int64(1)) ?? .local,
        hybridTime: HybridTime(rawValue: statement.unsigned(2)), name: statement.unsigned(5))
      return (header, statement.int64(3), statement.int64(4))
    }
  }
}

extension ReadTransaction {
  /// The name of a transaction; 0 for an import without one, and for a transaction that is unknown.
  package func transactionName(_ number: Int64) throws -> UInt64 {
    let statement = try connection.prepare("SELECT name FROM ZDL_TRANSACTION WHERE number = ?")
    defer { statement.reset() }
    statement.bind(number, at: 1)
    return try statement.step() ? statement.unsigned(0) : 0
  }

  /// The number of the transaction with a name; nil for one that is not, or no longer, in the history.
  package func transactionNumber(named name: UInt64) throws -> Int64? {
    guard name != 0 else { return nil }
    let number = try connection.scalar(
      "SELECT number FROM ZDL_TRANSACTION WHERE name = ?", .integer(Int64(bitPattern: name)))
    if case .integer(let number)? = number { return number }
    return nil
  }

  /// The time of the newest transaction that is not of this replica alone: one that came from elsewhere, or that has no higher
  /// number than the last acknowledged one; nil for none.
  package func newestTime(known acknowledged: Int64) throws -> HybridTime? {
    try TransactionNotes.newestTime(through: acknowledged, on: connection)
      .map { HybridTime(rawValue: UInt64(bitPattern: $0)) }
  }

  /// The hybrid time of a transaction; zero for one that is unknown.
  package func hybridTime(of transaction: Int64) throws -> HybridTime {
    try time(ofTransaction: transaction) ?? HybridTime(rawValue: 0)
  }

  /// The hybrid time of a transaction; nil for one that is unknown.
  func time(ofTransaction number: Int64) throws -> HybridTime? {
    let statement = try connection.prepare(
      "SELECT hybrid_time FROM ZDL_TRANSACTION WHERE number = ?")
    defer { statement.reset() }
    statement.bind(number, at: 1)
    guard try statement.step() else { return nil }
    return HybridTime(rawValue: statement.unsigned(0))
  }
}
