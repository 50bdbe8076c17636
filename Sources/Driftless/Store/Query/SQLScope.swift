import DriftlessSQLite

/// One SELECT under construction: the table that it starts from and the joins that key paths asked
/// for so far.
final class SQLScope {
  /// `"ZBOOK" "t0"`, then joins.
  private(set) var from: SQLFragment
  private var joined: [[String]: String] = [:]

  init(from: SQLFragment) { self.from = from }

  /// The alias of the object at the end of a path of to-one relationships, joined at most once.
  ///
  /// A left join: an object without a destination stays, its values being null.
  func alias(
    joining path: [String], column: SQLFragment, table: String, newAlias: () -> String
  ) -> String {
    if let known = joined[path] { return known }
    let alias = newAlias()
    joined[path] = alias
    let source = SQLFragment.identifier(table) + " " + SQLFragment.identifier(alias)
    from =
      from + " LEFT JOIN " + source + " ON " + SQLFragment.column(alias, "Z_PK") + " = " + column
    return alias
  }

  /// Goes on from `alias` to another table, dropping rows without a counterpart.
  func join(_ source: SQLFragment, on condition: SQLFragment) {
    from = from + " JOIN " + source + " ON " + condition
  }
}

/// An object that key paths start from: a row of a scope.
struct SQLRoot {
  let scope: SQLScope
  let alias: String
  let entity: EntityDescription
  /// The to-one path that led to here, behind the alias that it started from; empty at a start.
  var path: [String] = []
}
