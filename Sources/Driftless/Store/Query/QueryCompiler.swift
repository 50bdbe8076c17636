import DriftlessSQLite

/// Compiles fetches to SQL on a store's tables.
///
/// Null has SQL's three-valued logic (see ``FetchPredicate``), and text functions are those of
/// ``SQLFunction``, so that the store finds what `FetchPredicate.matches(_:)` finds in memory.
package struct QueryCompiler {
  let schema: StoreSchema

  package init(schema: StoreSchema) { self.schema = schema }

  /// - Parameters:
  ///   - sort: ties, and all rows without a sort but with a limit, are in the order of their keys.
  ///   - limit: 0 for all.
  /// - Throws: ``FetchError`` that names the key path or value that does not fit the model.
  package func compile(
    entity: EntityDescription, predicate: FetchPredicate? = nil, sort: [FetchSort] = [],
    limit: Int = 0, offset: Int = 0, includesSubentities: Bool = true,
    selection: QuerySelection = .rows
  ) throws(FetchError) -> CompiledQuery {
    let compilation = QueryCompilation(schema: schema, entity: entity)
    let conditions = try conditions(predicate, includesSubentities, entity, compilation)
    let isCut = limit > 0 || offset > 0
    var order: [SQLFragment] = []
    if selection != .count || isCut {
      for key in sort { order.append(try compilation.order(by: key)) }
      if isCut || !sort.isEmpty {
        order.append(.column(QueryCompilation.rootAlias, "Z_PK"))
      }
    }

    var query =
      "SELECT " + columns(selection, isCut: isCut, of: entity) + " FROM "
      + compilation.root.scope.from + conditions
    if !order.isEmpty { query = query + " ORDER BY " + .joined(order, by: ", ") }
    if isCut { query = query + Self.cut(limit, offset) }
    if selection == .count, isCut { query = "SELECT COUNT(*) FROM (" + query + ")" }
    return CompiledQuery(sql: query.sql, bindings: query.bindings)
  }

  static func cut(_ limit: Int, _ offset: Int) -> SQLFragment {
    " LIMIT " + .value(.integer(limit > 0 ? Int64(limit) : -1)) + " OFFSET "
      + .value(.integer(Int64(max(0, offset))))
  }

  /// ` WHERE …`, or nothing.
  func conditions(
    _ predicate: FetchPredicate?, _ includesSubentities: Bool, _ entity: EntityDescription,
    _ compilation: QueryCompilation
  ) throws(FetchError) -> SQLFragment {
    var conditions: [SQLFragment] = []
    if let scope = entityCondition(
      entity, includesSubentities: includesSubentities, alias: compilation.root.alias)
    {
      conditions.append(scope)
    }
    if let predicate {
      let narrowing = RTreeNarrowing(
        schema: schema, entity: entity, alias: compilation.root.alias
      ).condition(predicate)
      if let narrowing { conditions.append(narrowing) }
      conditions.append(try compilation.condition(predicate))
    }
    return conditions.isEmpty ? SQLFragment("") : " WHERE " + .joined(conditions, by: " AND ")
  }

  private func columns(
    _ selection: QuerySelection, isCut: Bool, of entity: EntityDescription
  ) -> SQLFragment {
    switch selection {
    case .count: return isCut ? SQLFragment("1") : SQLFragment("COUNT(*)")
    case .keys: return named(["Z_PK", "Z_ENT"])
    case .rows:
      return named(["Z_PK", "Z_ENT", "Z_OPT"] + schema.table(for: entity).columns.map(\.name))
    }
  }

  private func named(_ columns: [String]) -> SQLFragment {
    .joined(columns.map { .column(QueryCompilation.rootAlias, $0) }, by: ", ")
  }

  /// nil when all rows of the table belong to the entity.
  private func entityCondition(
    _ entity: EntityDescription, includesSubentities: Bool, alias: String
  ) -> SQLFragment? {
    if entity.superentity == nil, includesSubentities || entity.subentities.isEmpty { return nil }
    let numbers = schema.numbers(of: entity, includingSubentities: includesSubentities)
    let values = numbers.map { SQLFragment.value(.integer(Int64($0))) }
    let column = SQLFragment.column(alias, "Z_ENT")
    if values.count == 1 { return column + " = " + values[0] }
    return column + " IN (" + .joined(values, by: ", ") + ")"
  }
}
