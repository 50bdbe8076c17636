import DriftlessSQLite

/// Reads rows by key. Keys that come in ascending order are read in one walk along the table, as
/// long as the walk does not have to pass over many others.
package struct RowWalk {
  /// A key that is further ahead than this is looked up instead of walked to: a step costs about a
  /// fourth of a look-up.
  private static let distanceMax: Int64 = 4

  private let transaction: ReadTransaction
  private var statements: [Int32: SQLiteStatement] = [:]
  private var root: Int32?
  /// The key that the walk stands on; nil at the end.
  private var current: Int64?
  private var reader: RowReader?

  package init(_ transaction: ReadTransaction) { self.transaction = transaction }

  /// The values of an object's row by slot, which of them are null because their files cannot be read, and which stand for
  /// what cannot be read in the row; nil when there is none.
  package mutating func values(
    of key: ObjectKey
  ) throws -> (values: [PropertyValue], lost: PropertyMask, unreadable: PropertyMask)? {
    let root = transaction.schema.rootNumber(of: key.entity)
    if let current, self.root == root, current <= key.key,
      key.key &- current <= Self.distanceMax
    {
      while let current = self.current, current < key.key { try advance() }
    } else {
      try start(root, at: key)
    }
    guard current == key.key, var reader else { return nil }
    let values = try reader.knownValues()
    return (values, reader.lost(of: values), reader.unreadable())
  }

  /// Ends the walk: a statement that is left open would hold on to its snapshot.
  package func finish() {
    for statement in statements.values { statement.reset() }
  }

  private mutating func start(_ root: Int32, at key: ObjectKey) throws {
    self.root = root
    current = nil
    guard let statement = try statement(of: root) else { return }
    statement.reset()
    statement.bind(key.key, at: 1)
    reader = RowReader(statement: statement, schema: transaction.schema)
    try advance()
  }

  private mutating func statement(of root: Int32) throws -> SQLiteStatement? {
    if let statement = statements[root] { return statement }
    guard let entity = transaction.schema.entity(numbered: root) else { return nil }
    let table = transaction.schema.table(for: entity)
    let columns = table.columns.map { ", \"\($0.name)\"" }.joined()
    let statement = try transaction.connection.prepare(
      "SELECT Z_PK, Z_ENT, Z_OPT\(columns) FROM \"\(table.name)\" WHERE Z_PK >= ? ORDER BY Z_PK")
    statements[root] = statement
    return statement
  }

  private mutating func advance() throws {
    guard let root, let statement = statements[root], try statement.step() else {
      current = nil
      return
    }
    current = statement.int64(0)
  }
}
