import DriftlessSQLite

/// The state of compiling one query: the aliases given out and the variables in sight.
struct QueryCompilation {
  static let rootAlias = "t0"

  /// Hands out `t1`, `t2`, …, over all nested SELECTs.
  final class Aliases {
    private var count = 0

    func next() -> String {
      count += 1
      return "t\(count)"
    }
  }

  let schema: StoreSchema
  let aliases: Aliases
  /// Where key paths start.
  let root: SQLRoot
  /// Where the variables of the SUBQUERYs around start.
  var variables: [String: SQLRoot] = [:]
  /// Whether `sum:(pages)` adds up the rows of the query, as in a column of a fetch of rows.
  var aggregatesRows = false

  init(schema: StoreSchema, entity: EntityDescription) {
    self.init(schema: schema, entity: entity, alias: Self.rootAlias, aliases: Aliases())
  }

  /// A SELECT inside of another one.
  init(_ entity: EntityDescription, inside outer: QueryCompilation) {
    self.init(
      schema: outer.schema, entity: entity, alias: outer.aliases.next(), aliases: outer.aliases)
  }

  private init(
    schema: StoreSchema, entity: EntityDescription, alias: String, aliases: Aliases
  ) {
    self.schema = schema
    self.aliases = aliases
    let from = SQLFragment.identifier(schema.tableName(of: entity)) + " " + .identifier(alias)
    root = SQLRoot(scope: SQLScope(from: from), alias: alias, entity: entity)
  }

  // MARK: Conditions

  func condition(_ predicate: FetchPredicate) throws(FetchError) -> SQLFragment {
    switch predicate {
    case .constant(let value): return .value(.integer(value ? 1 : 0))
    case .and(let parts, _): return try all(parts, empty: true, by: " AND ")
    case .or(let parts, _): return try all(parts, empty: false, by: " OR ")
    case .not(let part, _): return "NOT (" + (try condition(part)) + ")"
    case .comparison(let comparison): return try condition(comparison)
    case .block:
      throw FetchError(
        .unsupported, "A block predicate cannot be asked of the store",
        suggestion: "Fetch by properties, and filter the objects with evaluate(with:).")
    case .tooDeep: throw PredicateNesting.error
    }
  }

  private func all(
    _ parts: [FetchPredicate], empty: Bool, by separator: String
  ) throws(FetchError) -> SQLFragment {
    if parts.isEmpty { return try condition(.constant(empty)) }
    var conditions: [SQLFragment] = []
    for part in parts { conditions.append(try condition(part)) }
    return .tree(conditions, by: separator)
  }

  // MARK: Sorting

  func order(by key: FetchSort) throws(FetchError) -> SQLFragment {
    try order(by: .keyPath(key.keyPath), key)
  }

  func order(
    by expression: FetchExpression, _ key: FetchSort
  ) throws(FetchError) -> SQLFragment {
    guard case .computed(let value, let kind) = try operand(expression) else {
      throw FetchError(
        .unsupported, "\(key.keyPath) is no sort key", suggestion: "Sort by a property.")
    }
    var sorted = value
    switch kind {
    case .decimal: sorted = .call(SQLFunction.decimalKey, value)
    case .text where key.options.isCollation:
      sorted = value + " COLLATE " + .identifier(SQLFunction.collation(key.options))
    case .text where !key.options.effective.isEmpty:
      sorted = .call(SQLFunction.fold, value, Self.options(key.options))
    default: break
    }
    return key.ascending ? sorted : sorted + " DESC"
  }

  static func options(_ options: FetchComparison.Options) -> SQLFragment {
    // Written out, so that SQLite sees the expression of an index in it.
    .integer(Int64(options.effective.rawValue))
  }
}
