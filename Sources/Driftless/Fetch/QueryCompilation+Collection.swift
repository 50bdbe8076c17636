import DriftlessSQLite

/// A collection as a SELECT: which rows its elements are.
struct SQLCollection {
  let scope: SQLScope
  /// What ties the elements to the object that has them, and SUBQUERY's condition.
  var conditions: [SQLFragment]
  /// The object that the rest of the key path starts from.
  var element: SQLRoot
  var rest: ArraySlice<String>
  /// The elements' places, when the relationship is ordered.
  var order: SQLFragment?
}

extension QueryCompilation {
  /// Whether the expression stands for the elements of a to-many relationship or a list.
  func isCollection(_ expression: FetchExpression) -> Bool {
    switch expression {
    case .subquery, .list: return true
    case .keyPath(let path):
      if case .toMany = try? destination(of: path[...], from: root) { return true }
    case .variable(let name, let path):
      if let root = variables[name],
        case .toMany = try? destination(of: path[...], from: root)
      {
        return true
      }
    default: break
    }
    return false
  }

  func collection(_ expression: FetchExpression) throws(FetchError) -> SQLCollection {
    switch expression {
    case .keyPath(let path): return try collection(path[...], from: root, expression)
    case .variable(let name, let path):
      return try collection(path[...], from: try variable(name), expression)
    case .subquery(let inner, let name, let condition):
      var collection = try collection(inner)
      collection = try entering(collection, expression)
      var nested = self
      nested.variables[name] = collection.element
      collection.conditions.append(try nested.condition(condition))
      return collection
    default:
      throw FetchError(
        .typeMismatch, "\(expression) is no collection",
        suggestion: "Use a to-many key path or SUBQUERY.")
    }
  }

  private func collection(
    _ path: ArraySlice<String>, from root: SQLRoot, _ expression: FetchExpression
  ) throws(FetchError) -> SQLCollection {
    guard
      case .toMany(let relationship, let owner, let rest) = try destination(of: path, from: root)
    else {
      throw FetchError(
        .typeMismatch, "\(expression) is one value, but a collection is needed",
        suggestion: "Leave out ANY, ALL, NONE or the @ operator, or use a to-many key path.")
    }
    var collection = try elements(of: relationship, owner: owner, in: nil, rest)
    while case .toMany(let next, let owner, let rest) = try destination(
      of: collection.rest, from: collection.element)
    {
      let nested = try elements(of: next, owner: owner, in: collection.scope, rest)
      collection.element = nested.element
      collection.rest = nested.rest
    }
    return collection
  }

  /// The rows at the end of a to-many relationship: in a SELECT of their own, or joined to one.
  private func elements(
    of relationship: RelationshipDescription, owner: SQLRoot, in joined: SQLScope?,
    _ rest: ArraySlice<String>
  ) throws(FetchError) -> SQLCollection {
    let entity = try destination(of: relationship)
    let alias = aliases.next()
    let table = SQLFragment.identifier(schema.tableName(of: entity)) + " " + .identifier(alias)
    let ownerKey = SQLFragment.column(owner.alias, "Z_PK")
    var sources = [table]
    var links: [SQLFragment]
    var order: SQLFragment?
    if let inverse = relationship.inverseRelationship, !inverse.isToMany {
      guard let slot = entity.layout.index(named: inverse.name),
        let column = schema.columnName(of: slot, in: entity)
      else { throw notStored(relationship) }
      links = [.column(alias, column) + " = " + ownerKey]
      order = schema.orderColumnName(of: slot, in: entity).map { .column(alias, $0) }
    } else {
      guard let pairs = schema.joinTable(for: relationship) else { throw notStored(relationship) }
      let pair = aliases.next()
      order = pairs.destinationOrderColumn.map { .column(pair, $0) }
      sources.insert(.identifier(pairs.name) + " " + .identifier(pair), at: 0)
      links = [
        .column(pair, pairs.sourceColumn) + " = " + ownerKey,
        .column(alias, "Z_PK") + " = " + .column(pair, pairs.destinationColumn),
      ]
    }
    let scope: SQLScope
    if let joined {
      scope = joined
      for (source, link) in zip(sources, links) { scope.join(source, on: link) }
      links = []
    } else {
      scope = SQLScope(from: .joined(sources, by: ", "))
    }
    return SQLCollection(
      scope: scope, conditions: links,
      element: SQLRoot(scope: scope, alias: alias, entity: entity), rest: rest, order: order)
  }

  /// `chapters[FIRST].title`
  func element(
    of expression: FetchExpression, _ place: ElementPlace, _ path: [String],
    _ whole: FetchExpression
  ) throws(FetchError) -> SQLOperand {
    let collection = try collection(expression)
    guard let order = collection.order, collection.rest.isEmpty else {
      throw FetchError(
        .unsupported, "\(expression) has no order, so there is no element at a place",
        suggestion: "Use an ordered relationship, or @min and @max of a property.")
    }
    guard
      case .computed(let value, let kind) = try operand(path[...], from: collection.element, whole)
    else { throw toManyNotAllowed(whole) }
    let key = SQLFragment.column(collection.element.alias, "Z_PK")
    let sorted =
      place == .last
      ? " ORDER BY " + order + " DESC, " + key + " DESC" : " ORDER BY " + order + ", " + key
    var offset = 0
    if case .index(let index) = place { offset = index }
    return .computed(
      "(" + select(value, collection, nil) + sorted + " LIMIT 1 OFFSET "
        + .value(.integer(Int64(offset))) + ")", kind)
  }

  private func notStored(_ relationship: RelationshipDescription) -> FetchError {
    FetchError(
      .unsupported, "The relationship \(relationship.name) is not kept in the store",
      suggestion: "Give it an inverse in the model.")
  }

  /// The collection with the rest of its path followed, so that its elements are objects.
  private func entering(
    _ collection: SQLCollection, _ expression: FetchExpression
  ) throws(FetchError) -> SQLCollection {
    var entered = collection
    if collection.rest.isEmpty { return entered }
    guard
      case .object(let root) = try destination(
        of: collection.rest, from: collection.element, joiningLast: true)
    else {
      throw FetchError(
        .typeMismatch, "The elements of \(expression) are no objects",
        suggestion: "End the key path at a relationship.")
    }
    entered.element = root
    entered.rest = []
    return entered
  }

  // MARK: Quantifiers and aggregates

  /// ANY, ALL, NONE
  func quantified(_ comparison: FetchComparison) throws(FetchError) -> SQLFragment {
    let collection = try collection(comparison.left)
    let element = try operand(
      collection.rest, from: collection.element, comparison.left)
    let condition = try compare(element, comparison)
    switch comparison.modifier {
    case .none: return "NOT EXISTS (" + select("1", collection, condition) + ")"
    // An element for which the condition is unknown does not satisfy it.
    case .all:
      return "NOT EXISTS (" + select("1", collection, "(" + condition + ") IS NOT 1") + ")"
    case .any, .direct: return "EXISTS (" + select("1", collection, condition) + ")"
    }
  }

  func aggregate(
    _ operation: CollectionOperator, _ expression: FetchExpression, _ path: [String],
    _ whole: FetchExpression
  ) throws(FetchError) -> SQLOperand {
    if case .list(let items) = expression, operation == .count {
      return .constant(.integer(Int64(items.count)))
    }
    if aggregatesRows, variables.isEmpty, !isCollection(expression) {
      return try aggregateRows(operation, expression, path, whole)
    }
    let collection = try collection(expression)
    if operation == .count {
      return .computed("(" + select("COUNT(*)", collection, nil) + ")", .number)
    }
    let rest = collection.rest + path
    guard case .computed(let value, let kind) = try operand(rest, from: collection.element, whole)
    else { throw toManyNotAllowed(whole) }
    let (result, resultKind) = try aggregate(operation, value, kind, whole)
    return .computed("(" + select(result, collection, nil) + ")", resultKind)
  }

  /// Over the rows of the query, or of each of its groups.
  private func aggregateRows(
    _ operation: CollectionOperator, _ expression: FetchExpression, _ path: [String],
    _ whole: FetchExpression
  ) throws(FetchError) -> SQLOperand {
    guard case .keyPath(let start) = expression else { throw toManyNotAllowed(whole) }
    var inner = self
    inner.aggregatesRows = false
    let operand = try inner.operand(.keyPath(start + path))
    guard case .computed(let value, let kind) = operand else { throw toManyNotAllowed(whole) }
    if operation == .count { return .computed(.call("count", value), .number) }
    let (result, resultKind) = try aggregate(operation, value, kind, whole)
    return .computed(result, resultKind)
  }

  /// The aggregate of a value over the rows of a SELECT.
  private func aggregate(
    _ operation: CollectionOperator, _ value: SQLFragment, _ kind: SQLKind,
    _ whole: FetchExpression
  ) throws(FetchError) -> (SQLFragment, SQLKind) {
    switch (operation, kind) {
    case (.sum, .number), (.sum, .decimal):
      return ("COALESCE(" + .call("sum", plain(value, kind)) + ", 0)", .number)
    case (.avg, .number), (.avg, .decimal): return (.call("avg", plain(value, kind)), .number)
    case (.min, _), (.max, _):
      let key = kind == .decimal ? SQLFragment.call(SQLFunction.decimalKey, value) : value
      return (
        .call(operation == .min ? "min" : "max", key), kind == .decimal ? .decimalKey : kind
      )
    default:
      throw FetchError(
        .typeMismatch, "\(whole) adds up \(kind.name)",
        suggestion: "Use @sum and @avg on numeric attributes.")
    }
  }

  private func plain(_ value: SQLFragment, _ kind: SQLKind) -> SQLFragment {
    kind == .decimal ? .call(SQLFunction.decimalNumber, value) : value
  }

  private func select(
    _ what: StaticString, _ collection: SQLCollection, _ condition: SQLFragment?
  ) -> SQLFragment {
    select(SQLFragment(what), collection, condition)
  }

  private func select(
    _ what: SQLFragment, _ collection: SQLCollection, _ condition: SQLFragment?
  ) -> SQLFragment {
    let conditions = collection.conditions + (condition.map { [$0] } ?? [])
    return "SELECT " + what + " FROM " + collection.scope.from + " WHERE "
      + .joined(conditions, by: " AND ")
  }
}
