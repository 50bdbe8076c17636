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
    case .subquery, .list, .fetch(_, countOnly: false): return true
    case .distinct(let collection, _), .property(let collection, _, _):
      return isCollection(collection)
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
    case .subquery(let inner, let name, let condition, _):
      var collection = try collection(inner)
      collection = try entering(collection, expression)
      var nested = self
      nested.variables[name] = collection.element
      collection.conditions.append(try nested.condition(condition))
      return collection
    case .distinct(let inner, _):
      var collection = try collection(inner)
      let value = try operand(collection.rest, from: collection.element, expression)
      if case .computed(let value, _) = value {
        collection.conditions.append(value + " IS NOT NULL")
      }
      return collection
    case .fetch(let fetch, countOnly: false): return try descending(try collection(fetch))
    case .property(let inner, let path, _):
      var collection = try collection(inner)
      collection.rest += path
      return try descending(collection)
    case .tooDeep: throw PredicateNesting.error
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
    return try descending(try elements(of: relationship, owner: owner, in: nil, rest))
  }

  /// The collection with all to-many steps of its path followed.
  private func descending(_ start: SQLCollection) throws(FetchError) -> SQLCollection {
    var collection = start
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
    if case .list(let items, _) = comparison.left { return try quantified(items, comparison) }
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

  /// ANY, ALL, NONE of a list that the predicate spells.
  private func quantified(
    _ items: [FetchExpression], _ comparison: FetchComparison
  ) throws(FetchError) -> SQLFragment {
    var conditions: [SQLFragment] = []
    for item in items {
      conditions.append("((" + (try compare(try operand(item), comparison)) + ") IS 1)")
    }
    if conditions.isEmpty { return .value(.integer(comparison.modifier == .any ? 0 : 1)) }
    switch comparison.modifier {
    case .any, .direct: return .tree(conditions, by: " OR ")
    case .all: return .tree(conditions, by: " AND ")
    case .none: return "NOT " + .tree(conditions, by: " OR ")
    }
  }

  func select(
    _ what: StaticString, _ collection: SQLCollection, _ condition: SQLFragment?
  ) -> SQLFragment {
    select(SQLFragment(what), collection, condition)
  }

  func select(
    _ what: SQLFragment, _ collection: SQLCollection, _ condition: SQLFragment?
  ) -> SQLFragment {
    let conditions = collection.conditions + (condition.map { [$0] } ?? [])
    return "SELECT " + what + " FROM " + collection.scope.from + " WHERE "
      + .joined(conditions, by: " AND ")
  }
}
