import DriftlessSQLite
import Foundation

/// Owns `ATRANSACTION`, a row for each transaction of the history, and `ATRANSACTIONSTRING`, the names of authors, contexts and
/// processes that those rows have keys of. What Driftless notes of a transaction beside is in ``TransactionNotes``.
enum TransactionTable {
  static let table = "ATRANSACTION"
  static let stringTable = "ATRANSACTIONSTRING"

  static let statements = [
    """
    CREATE TABLE IF NOT EXISTS ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
    ZAUTHORTS INTEGER, ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER,
    ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR,
    ZPROCESSID VARCHAR, ZQUERYGEN BLOB)
    """,
    """
    CREATE TABLE IF NOT EXISTS ATRANSACTIONSTRING (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
    ZNAME VARCHAR)
    """,
    """
    CREATE UNIQUE INDEX IF NOT EXISTS Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING (ZNAME
    COLLATE BINARY ASC)
    """,
    "CREATE INDEX IF NOT EXISTS ATRANSACTION_ZAUTHORTS_INDEX ON ATRANSACTION (ZAUTHORTS)",
    "CREATE INDEX IF NOT EXISTS ATRANSACTION_ZBUNDLEIDTS_INDEX ON ATRANSACTION (ZBUNDLEIDTS)",
    """
    CREATE INDEX IF NOT EXISTS ATRANSACTION_ZCONTEXTNAMETS_INDEX ON ATRANSACTION (ZCONTEXTNAMETS)
    """,
    "CREATE INDEX IF NOT EXISTS ATRANSACTION_ZPROCESSIDTS_INDEX ON ATRANSACTION (ZPROCESSIDTS)",
    """
    CREATE INDEX IF NOT EXISTS Z_TRANSACTION_TransactionAuthorIndex
    ON ATRANSACTION (ZAUTHOR COLLATE BINARY ASC)
    """,
    """
    CREATE INDEX IF NOT EXISTS Z_TRANSACTION_TransactionTimestampIndex
    ON ATRANSACTION (ZTIMESTAMP COLLATE BINARY ASC)
    """,
  ]

  /// The columns that have keys of strings.
  static let stringColumns = ["ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAMETS", "ZPROCESSIDTS"]
  /// What each row keeps by itself.
  static let rules: [RowRule] =
    [
      .integer("Z_PK", 1...Int64.max),
      .integer("Z_ENT", HistoryEntity.transaction...HistoryEntity.transaction),
      .integer("Z_OPT", 0...Int64.max, orNull: true), .number("ZTIMESTAMP"),
    ] + stringColumns.map { .integer($0, 1...Int64.max, orNull: true) }
    + ["ZAUTHOR", "ZBUNDLEID", "ZCONTEXTNAME", "ZPROCESSID"].map { .text($0, orNull: true) }
    + [.bytes("ZQUERYGEN", orNull: true)]
  /// What each string's row keeps by itself.
  static let stringRules: [RowRule] = [
    .integer("Z_PK", 1...Int64.max),
    .integer("Z_ENT", HistoryEntity.string...HistoryEntity.string),
    .integer("Z_OPT", 0...Int64.max, orNull: true), .text("ZNAME"),
  ]

  // MARK: Writing

  static func add(
    _ number: Int64, author: String?, contextName: String?, processName: String, time: Date,
    on connection: SQLiteConnection
  ) throws {
    func string(_ text: String?) throws -> SQLiteValue {
      try text.map { .integer(try stringKey($0, connection)) } ?? .null
    }
    try connection.run(
      """
      INSERT INTO ATRANSACTION (Z_PK, Z_ENT, Z_OPT, ZAUTHORTS, ZBUNDLEIDTS, ZCONTEXTNAMETS,
      ZPROCESSIDTS, ZTIMESTAMP) VALUES (?, 16002, 1, ?, NULL, ?, ?, ?)
      """,
      .integer(number), try string(author), try string(contextName), try string(processName),
      .real(time.timeIntervalSinceReferenceDate))
  }

  private static func stringKey(_ text: String, _ connection: SQLiteConnection) throws -> Int64 {
    if case .integer(let key)? = try connection.scalar(
      "SELECT Z_PK FROM ATRANSACTIONSTRING WHERE ZNAME = ?", .text(text))
    {
      return key
    }
    let last = try PrimaryKeyTable.lastKey(of: HistoryEntity.string, on: connection)
    let key = try ReadTransaction.numbers(after: last, count: 1, of: "texts of the history")
      .lowerBound
    try connection.run(
      "INSERT INTO ATRANSACTIONSTRING (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (?, 16003, 1, ?)",
      .integer(key), .text(text))
    try PrimaryKeyTable.setLastKey(key, of: HistoryEntity.string, on: connection)
    return key
  }

  /// Forgets the transactions before a number.
  ///
  /// - Returns: How many there were.
  static func drop(before number: Int64, on connection: SQLiteConnection) throws -> Int {
    try connection.run("DELETE FROM ATRANSACTION WHERE Z_PK < ?", .integer(number))
    return connection.changes
  }

  static func dropAll(on connection: SQLiteConnection) throws {
    try connection.execute("DELETE FROM main.ATRANSACTION; DELETE FROM main.ATRANSACTIONSTRING")
  }

  // MARK: Reading

  /// The oldest transaction that is left; nil for none.
  static func oldest(on connection: SQLiteConnection) throws -> Int64? {
    try number("SELECT MIN(Z_PK) FROM ATRANSACTION", on: connection)
  }

  /// The newest transaction that is left; nil for none.
  static func newest(on connection: SQLiteConnection) throws -> Int64? {
    try number("SELECT MAX(Z_PK) FROM ATRANSACTION", on: connection)
  }

  /// When the newest one that is left was made. Seconds since 2001; nil for none.
  static func newestTime(on connection: SQLiteConnection) throws -> Double? {
    guard
      case .real(let time) = try connection.scalar(
        "SELECT ZTIMESTAMP FROM ATRANSACTION ORDER BY Z_PK DESC LIMIT 1")
    else { return nil }
    return time
  }

  /// The first transaction since a time, or the one after all of before. Where a clock was behind once, none of since then is
  /// passed over; a stamp that is ahead of `now` tells nothing.
  static func first(
    since time: Date, now: Date, on connection: SQLiteConnection
  ) throws -> Int64? {
    try number(
      """
      SELECT COALESCE(
        (SELECT MIN(Z_PK) FROM ATRANSACTION WHERE ZTIMESTAMP >= ?1 AND ZTIMESTAMP <= ?2),
        (SELECT COALESCE(MAX(Z_PK), 0) + 1 FROM ATRANSACTION WHERE ZTIMESTAMP < ?1))
      """, .real(time.timeIntervalSinceReferenceDate), .real(now.timeIntervalSinceReferenceDate),
      on: connection)
  }

  private static func number(
    _ sql: String, _ values: SQLiteValue..., on connection: SQLiteConnection
  ) throws -> Int64? {
    let statement = try connection.prepare(sql)
    defer { statement.reset() }
    statement.bind(values)
    guard try statement.step(), case .integer(let number) = statement.value(0) else { return nil }
    return number
  }

  /// A transaction with what is noted of it.
  struct Row {
    let number: Int64
    let time: Date
    let author: String?
    let contextName: String?
    let processID: String?
    let bundleID: String?
    let hybridTime: HybridTime
    let kind: TransactionKind
    /// The numbers of the first and the last change; nil where nothing is noted.
    let changes: (first: Int64, last: Int64)?
    /// See ``HistoryHeader/name``.
    let name: UInt64
  }

  /// Goes through transactions, oldest first. It has a statement of its own: what is done with one may ask for others.
  struct Rows {
    private let statement: SQLiteStatement

    /// - Parameters:
    ///   - number: the transaction after which they begin; nil for all.
    ///   - time: the time after which they were written; nil for any.
    ///   - author: who wrote them; nil for anybody.
    init(
      after number: Int64?, since time: Date?, author: String?, on connection: SQLiteConnection
    ) throws {
      var conditions = ["1"]
      var values: [SQLiteValue] = []
      if let number {
        conditions.append("t.Z_PK > ?")
        values.append(.integer(number))
      }
      if let time {
        conditions.append("t.ZTIMESTAMP > ?")
        values.append(.real(time.timeIntervalSinceReferenceDate))
      }
      if let author {
        conditions.append("COALESCE(a.ZNAME, t.ZAUTHOR) = ?")
        values.append(.text(author))
      }
      // A join with what is noted of a transaction (``TransactionNotes``): one pass over both.
      statement = try connection.prepareUncached(
        """
        SELECT t.Z_PK, t.ZTIMESTAMP, COALESCE(a.ZNAME, t.ZAUTHOR), COALESCE(c.ZNAME, t.ZCONTEXTNAME),
        COALESCE(p.ZNAME, t.ZPROCESSID), COALESCE(b.ZNAME, t.ZBUNDLEID), z.hybrid_time, z.kind,
        z.first_change, z.last_change, z.name
        FROM ATRANSACTION t LEFT JOIN ATRANSACTIONSTRING a ON a.Z_PK = t.ZAUTHORTS
        LEFT JOIN ATRANSACTIONSTRING c ON c.Z_PK = t.ZCONTEXTNAMETS
        LEFT JOIN ATRANSACTIONSTRING p ON p.Z_PK = t.ZPROCESSIDTS
        LEFT JOIN ATRANSACTIONSTRING b ON b.Z_PK = t.ZBUNDLEIDTS
        LEFT JOIN ZDL_TRANSACTION z ON z.number = t.Z_PK
        WHERE \(conditions.joined(separator: " AND ")) ORDER BY t.Z_PK
        """)
      statement.bind(values)
    }

    func next() throws -> Row? {
      guard try statement.step() else { return nil }
      func text(_ column: Int32) -> String? {
        statement.isNull(column) ? nil : statement.string(column)
      }
      return Row(
        number: statement.int64(0),
        time: Date(timeIntervalSinceReferenceDate: statement.double(1)), author: text(2),
        contextName: text(3), processID: text(4), bundleID: text(5),
        hybridTime: HybridTime(rawValue: statement.unsigned(6)),
        kind: TransactionKind(rawValue: statement.int64(7)) ?? .local,
        changes: statement.isNull(8) ? nil : (statement.int64(8), statement.int64(9)),
        name: statement.unsigned(10))
    }
  }
}

extension ReadTransaction {
  /// Author and context name of a transaction.
  package func origin(ofTransaction number: Int64) throws -> (author: String?, contextName: String?)
  {
    let statement = try connection.prepare(
      """
      SELECT a.ZNAME, c.ZNAME FROM ATRANSACTION t
      LEFT JOIN ATRANSACTIONSTRING a ON a.Z_PK = t.ZAUTHORTS
      LEFT JOIN ATRANSACTIONSTRING c ON c.Z_PK = t.ZCONTEXTNAMETS WHERE t.Z_PK = ?
      """)
    defer { statement.reset() }
    statement.bind(number, at: 1)
    guard try statement.step() else { return (nil, nil) }
    return (
      statement.isNull(0) ? nil : statement.string(0),
      statement.isNull(1) ? nil : statement.string(1)
    )
  }

  /// How many transactions the history has.
  package func transactionCount() throws -> Int {
    guard case .integer(let count)? = try connection.scalar("SELECT COUNT(*) FROM ATRANSACTION")
    else { return 0 }
    return Int(count)
  }
}
