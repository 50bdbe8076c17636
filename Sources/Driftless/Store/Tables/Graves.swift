package import DriftlessSQLite

/// Owns `ZDL_GRAVE`: the rows of deleted objects, while the store syncs and the zone has not
/// acknowledged the delete.
package enum Graves {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [.bytes("row")]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_GRAVE (entity INTEGER NOT NULL, key INTEGER NOT NULL,
    transaction_number INTEGER NOT NULL, row BLOB NOT NULL,
    PRIMARY KEY (entity, key)\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// Keeps the row of an object that a transaction deletes.
  static func keep(
    _ values: [PropertyValue], of key: ObjectKey, deletedBy transaction: Int64,
    on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT OR REPLACE INTO ZDL_GRAVE VALUES (?, ?, ?, ?)", .integer(Int64(key.entity)),
      .integer(key.key), .integer(transaction), .blob(RowArchive.encode(values)))
  }

  /// Lets go of what transactions up to one deleted, but for some objects.
  package static func drop(
    through transaction: Int64, but kept: Set<ObjectKey>, on connection: SQLiteConnection
  ) throws {
    guard !kept.isEmpty else {
      return try connection.run(
        "DELETE FROM ZDL_GRAVE WHERE transaction_number <= ?", .integer(transaction))
    }
    var dropped: [ObjectKey] = []
    let graves = try connection.prepare(
      "SELECT entity, key FROM ZDL_GRAVE WHERE transaction_number <= ?")
    defer { graves.reset() }
    graves.bind(transaction, at: 1)
    while try graves.step() {
      let key = graves.objectKey(0, 1)
      if !kept.contains(key) { dropped.append(key) }
    }
    for key in dropped {
      try connection.run(
        "DELETE FROM ZDL_GRAVE WHERE entity = ? AND key = ?", .integer(Int64(key.entity)),
        .integer(key.key))
    }
  }

  package static func dropAll(on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM main.ZDL_GRAVE")
  }

  /// Says in other words what is kept of an entity's objects: a model has their properties at other places in a file that
  /// is migrated.
  static func migrate(
    entity: Int64, on connection: SQLiteConnection, _ row: ([PropertyValue]) -> [PropertyValue]
  ) throws {
    for grave in try connection.rows(
      "SELECT key, row FROM main.ZDL_GRAVE WHERE entity = ?", .integer(entity))
    {
      guard case .blob(let bytes) = grave[1] else { continue }
      try connection.run(
        "UPDATE main.ZDL_GRAVE SET row = ? WHERE entity = ? AND key = ?",
        .blob(RowArchive.encode(row(try RowArchive.decodeValues(bytes)))), .integer(entity),
        grave[0])
    }
  }
}

extension ReadTransaction {
  /// The values that a deleted object had, while its delete is not acknowledged.
  package func grave(of key: ObjectKey) throws -> [PropertyValue]? {
    let statement = try connection.prepare(
      "SELECT row FROM ZDL_GRAVE WHERE entity = ? AND key = ?")
    defer { statement.reset() }
    statement.bind(Int64(key.entity), at: 1)
    statement.bind(key.key, at: 2)
    guard try statement.step() else { return nil }
    return try archivedRow(statement.data(0), of: key.entity)
  }
}
