import DriftlessSQLite
import Foundation

/// A query whose rows are values by name.
package struct RowQuery: Sendable {
  /// How a column is read.
  enum Reading: Sendable {
    /// As an attribute of that type keeps it.
    case attribute(AttributeType)
    /// A number of whatever type SQLite gives.
    case number
    /// The sortable key of a decimal.
    case decimalKey
    /// A key, with the number of the concrete entity in the column behind it.
    case reference
  }

  struct Column: Sendable {
    let name: String
    let reading: Reading
  }

  package let query: CompiledQuery
  let columns: [Column]
}

extension QueryCompiler {
  /// Compiles a fetch of rows.
  /// - Throws: ``FetchError`` that names the property that cannot be fetched, or the option that does not fit.
  package func compileRows<Result>(
    _ request: FetchRequest<Result>, of entity: EntityDescription
  ) throws(FetchError) -> RowQuery {
    var compilation = QueryCompilation(schema: schema, entity: entity)
    compilation.aggregatesRows = true
    let properties = try columns(of: request, entity)
    var selected: [SQLFragment] = []
    var columns: [RowQuery.Column] = []
    for property in properties {
      let (sql, reading) = try compilation.column(property)
      selected += sql
      columns.append(RowQuery.Column(name: property.name, reading: reading))
    }
    let select = SQLFragment(request.returnsDistinctResults ? "SELECT DISTINCT " : "SELECT ")
    var query = select + .joined(selected, by: ", ")
    // Conditions and sort keys may join further tables: FROM comes last.
    var tail = try conditions(request.predicate, request.includesSubentities, entity, compilation)
    let groups = try self.groups(request, properties, compilation)
    if !groups.isEmpty { tail = tail + " GROUP BY " + .joined(groups, by: ", ") }
    if let having = request.havingPredicate {
      tail = tail + " HAVING " + (try compilation.condition(having.naming(properties)))
    }
    var order: [SQLFragment] = []
    for key in request.sort { order.append(try compilation.order(by: key, naming: properties)) }
    if groups.isEmpty, !request.returnsDistinctResults, !properties.contains(where: \.isAggregate) {
      if !order.isEmpty || request.limit > 0 || request.offset > 0 {
        order.append(.column(QueryCompilation.rootAlias, "Z_PK"))
      }
    } else if order.isEmpty {
      order = groups
    }
    if !order.isEmpty { tail = tail + " ORDER BY " + .joined(order, by: ", ") }
    query = query + " FROM " + compilation.root.scope.from + tail
    if request.limit > 0 || request.offset > 0 {
      query = query + Self.cut(request.limit, request.offset)
    }
    return RowQuery(
      query: CompiledQuery(sql: query.sql, bindings: query.bindings), columns: columns)
  }

  private func columns<Result>(
    of request: FetchRequest<Result>, _ entity: EntityDescription
  ) throws(FetchError) -> [FetchedProperty] {
    var properties = request.propertiesToFetch
    if properties.isEmpty { properties = request.propertiesToGroupBy }
    if properties.isEmpty {
      properties = entity.layout.slots.compactMap { slot in
        slot.relationship == nil && !slot.isTransient ? FetchedProperty(slot.name) : nil
      }
    }
    var names: Set<String> = []
    for property in properties where !names.insert(property.name).inserted {
      throw FetchError(
        .invalidRequest, "Two columns of propertiesToFetch are named \(property.name)",
        suggestion: "Give each expression a name of its own.")
    }
    return properties
  }

  private func groups<Result>(
    _ request: FetchRequest<Result>, _ properties: [FetchedProperty],
    _ compilation: QueryCompilation
  ) throws(FetchError) -> [SQLFragment] {
    var groups: [SQLFragment] = []
    for property in request.propertiesToGroupBy {
      let named = properties.first { $0.name == property.name } ?? property
      if named.isAggregate {
        throw FetchError(
          .invalidRequest,
          "Rows cannot be grouped by \(property.name): it is computed of groups",
          suggestion: "Group by properties.")
      }
      groups += try compilation.column(named).sql
    }
    guard !groups.isEmpty else { return [] }
    for property in properties where !property.isConstant && !property.isAggregate {
      guard !request.propertiesToGroupBy.contains(where: { $0.name == property.name }) else {
        continue
      }
      throw FetchError(
        .invalidRequest, "\(property.name) has many values in a group",
        suggestion: "Add it to propertiesToGroupBy, or fetch an aggregate of it such as max:().")
    }
    return groups
  }
}

extension QueryCompilation {
  /// The SQL columns of a column of a row, and how they are read.
  fileprivate func column(
    _ property: FetchedProperty
  ) throws(FetchError) -> (sql: [SQLFragment], reading: RowQuery.Reading) {
    if property == .version { return ([.column(root.alias, "Z_OPT")], .number) }
    guard let expression = property.expression else {
      throw FetchError(
        .invalidRequest, "The expression description \(property.name) has no expression",
        suggestion: "Set its expression.")
    }
    if case .keyPath(let path) = expression, let reached = try column(path, expression) {
      return reached
    }
    switch try operand(expression) {
    case .constant(let value):
      guard let kind = value.sqlKind else { return ([.value(.null)], .number) }
      if case .reference = kind { throw toManyNotAllowed(expression) }
      let bound = value.sqlValue(as: kind == .decimal ? .number : kind) { _ in nil }
      return (
        [.value(bound ?? value.number.map(SQLiteValue.real) ?? .null)],
        Self.reading(kind == .decimal ? .number : kind, property.resultType)
      )
    case .computed(_, .reference):
      throw FetchError(
        .unsupported, "\(expression) gives an object, which only a key path can",
        suggestion: "Fetch the relationship by name.")
    case .computed(let value, let kind): return ([value], Self.reading(kind, property.resultType))
    }
  }

  /// A property; nil for a path that is none.
  private func column(
    _ path: [String], _ expression: FetchExpression
  ) throws(FetchError) -> (sql: [SQLFragment], reading: RowQuery.Reading)? {
    switch try destination(of: path[...], from: root, joiningLast: true) {
    case .attribute(let column, let type): return ([column], .attribute(type))
    case .object(let root):
      return (
        [.column(root.alias, "Z_PK"), .column(root.alias, "Z_ENT")], .reference
      )
    case .toMany(let relationship, _, _):
      throw FetchError(
        .toManyNotAllowed,
        "\(expression) cannot be fetched into a row: \(relationship.name) is a to-many relationship",
        suggestion: "Fetch an expression such as \(relationship.name).@count, or fetch objects.")
    case .toOne: return nil
    }
  }

  private static func reading(_ kind: SQLKind, _ wanted: AttributeType) -> RowQuery.Reading {
    switch kind {
    case .decimalKey: return .decimalKey
    case .decimal: return .attribute(.decimal)
    case .date: return .attribute(.date)
    case .text: return .attribute(wanted == .uri ? .uri : .string)
    case .data: return .attribute(.binaryData)
    case .uuid: return .attribute(.uuid)
    case .reference: return .reference
    case .number:
      switch wanted {
      case .boolean, .double, .float, .decimal, .date: return .attribute(wanted)
      default: return .number
      }
    }
  }

  /// A sort key, which may be the name of a computed column.
  fileprivate func order(
    by key: FetchSort, naming properties: [FetchedProperty]
  ) throws(FetchError) -> SQLFragment {
    let name = key.keyPath.joined(separator: ".")
    guard let named = properties.first(where: { $0.isExpression && $0.name == name }),
      let expression = named.expression
    else { return try order(by: key) }
    return try order(by: expression, key)
  }
}

extension FetchedProperty {
  /// Whether it is computed of all rows of a group.
  var isAggregate: Bool { isExpression && expression?.hasAggregate == true }

  var isConstant: Bool {
    if case .constant = expression { return true }
    return false
  }
}

extension FetchExpression {
  fileprivate var hasAggregate: Bool {
    switch self {
    case .collection: true
    case .function(_, let operands, _), .list(let operands, _):
      operands.contains(where: \.hasAggregate)
    case .cast(let operand, _, _): operand.hasAggregate
    case .conditional(_, let one, let other, _): one.hasAggregate || other.hasAggregate
    default: false
    }
  }
}

extension FetchPredicate {
  /// With the names of computed columns, which may be written as variables, replaced by what they compute.
  fileprivate func naming(_ properties: [FetchedProperty]) -> FetchPredicate {
    mapExpressions { expression in
      let name: String
      switch expression {
      case .keyPath(let path): name = path.joined(separator: ".")
      case .variable(let variable, path: let path) where path.isEmpty: name = variable
      default: return expression
      }
      let named = properties.first { $0.isExpression && $0.name == name }
      return named?.expression ?? expression
    }
  }
}
