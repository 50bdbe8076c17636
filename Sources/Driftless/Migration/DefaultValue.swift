import DriftlessSQLite

/// Default values for rows that are there. They are bound: SQL has no words for infinity, for what is no number and for a text
/// with a zero in it, and it rounds long decimals.
enum DefaultValue {
  /// As the column of the attribute has it.
  static func stored(_ value: PropertyValue, isExternal: Bool) -> PropertyValue {
    guard isExternal, case .data(let data) = value else { return value }
    return .data(ExternalValue.inline(data))
  }

  /// What names the value in the SQL of this connection.
  static func sql(
    _ value: PropertyValue, isExternal: Bool, on connection: SQLiteConnection
  ) throws -> String {
    if value.isNull { return "NULL" }
    // A column without a type keeps what is bound.
    try connection.execute("CREATE TEMP TABLE IF NOT EXISTS driftless_defaults (value)")
    let insert = try connection.prepareUncached("INSERT INTO temp.driftless_defaults VALUES (?)")
    RowBinder.write(stored(value, isExternal: isExternal), to: SQLiteParameter(insert, 1))
    try insert.run()
    return
      "(SELECT value FROM temp.driftless_defaults WHERE rowid = \(connection.lastInsertRowID))"
  }
}
