import DriftlessSQLite

/// What a batch works on, set down before anything is changed: in a table of the connection's own, which SQLite keeps
/// in a file, so that a million rows cost no memory.
struct BatchRows {
  private static let name = "driftless_batch"

  private let transaction: WriteTransaction

  /// - Parameters:
  ///   - columns: how many values stand behind key and entity.
  ///   - selection: a SELECT of key, entity and values.
  init(_ transaction: WriteTransaction, columns: Int = 0, _ selection: SQLFragment) throws {
    self.transaction = transaction
    drop()
    let values = (0..<columns).map { ", v\($0)" }.joined()
    try transaction.connection.execute(
      "CREATE TEMP TABLE \(Self.name) (k INTEGER PRIMARY KEY, e\(values))")
    let insert = try transaction.connection.prepareUncached(
      "INSERT OR IGNORE INTO temp.\(Self.name) " + selection.sql)
    insert.bind(selection.bindings)
    try insert.run()
  }

  func forEach(_ body: (SQLiteStatement) throws -> Void) throws {
    let statement = try transaction.connection.prepareUncached(
      "SELECT * FROM temp.\(Self.name) ORDER BY k")
    while try statement.step() { try body(statement) }
  }

  func drop() { try? transaction.connection.execute("DROP TABLE IF EXISTS temp.\(Self.name)") }
}
