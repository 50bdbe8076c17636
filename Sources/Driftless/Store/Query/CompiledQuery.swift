package import DriftlessSQLite

/// A SELECT with its values, ready to be prepared. Values are only ever bound.
package struct CompiledQuery: Hashable, Sendable {
  package let sql: String
  package let bindings: [SQLiteValue]

  package init(sql: String, bindings: [SQLiteValue]) {
    self.sql = sql
    self.bindings = bindings
  }
}

/// What the columns of a compiled query are.
package enum QuerySelection: Hashable, Sendable {
  /// Z_PK, Z_ENT, Z_OPT, then the hierarchy's columns in the order of its table's `columns`.
  case rows
  /// Z_PK, Z_ENT
  case keys
  /// One number.
  case count
}
