import DriftlessSQLite

/// FETCH: a SELECT of its own inside of a predicate.
extension QueryCompilation {
  func count(_ fetch: SubFetch) throws(FetchError) -> SQLOperand {
    .computed("(SELECT COUNT(*) FROM (" + (try keys(fetch).sql) + "))", .number)
  }

  func collection(_ fetch: SubFetch) throws(FetchError) -> SQLCollection {
    let (sql, entity) = try keys(fetch)
    let alias = aliases.next()
    let scope = SQLScope(
      from: SQLFragment.identifier(schema.tableName(of: entity)) + " " + .identifier(alias))
    return SQLCollection(
      scope: scope, conditions: [.column(alias, "Z_PK") + " IN (" + sql + ")"],
      element: SQLRoot(scope: scope, alias: alias, entity: entity), rest: fetch.path[...],
      order: nil)
  }

  /// The keys of what it finds.
  private func keys(
    _ fetch: SubFetch
  ) throws(FetchError) -> (sql: SQLFragment, entity: EntityDescription) {
    guard let entity = schema.model.entitiesByName[fetch.entityName] else {
      throw FetchError(
        .unknownKey, "FETCH is of \(fetch.entityName), which the model does not have",
        suggestion: "Check the request's entityName.")
    }
    let inner = QueryCompilation(entity, inside: self)
    let conditions = try QueryCompiler(schema: schema).conditions(
      fetch.predicate, fetch.includesSubentities, entity, inner)
    var order: [SQLFragment] = []
    let isCut = fetch.limit > 0 || fetch.offset > 0
    if isCut {
      for key in fetch.sort { order.append(try inner.order(by: key)) }
      order.append(.column(inner.root.alias, "Z_PK"))
    }
    var sql =
      "SELECT " + SQLFragment.column(inner.root.alias, "Z_PK") + " FROM "
      + inner.root.scope.from + conditions
    if isCut {
      sql =
        sql + " ORDER BY " + .joined(order, by: ", ") + QueryCompiler.cut(fetch.limit, fetch.offset)
    }
    return (sql, entity)
  }
}
