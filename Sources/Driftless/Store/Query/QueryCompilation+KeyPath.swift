import DriftlessSQLite

/// Where a key path ends.
enum SQLDestination {
  case attribute(column: SQLFragment, AttributeType)
  /// `column` is the key; `reached` joins the object's own row.
  case toOne(column: SQLFragment, RelationshipDescription)
  case toMany(RelationshipDescription, from: SQLRoot, rest: ArraySlice<String>)
  case object(SQLRoot)
}

extension QueryCompilation {
  /// Walks a key path up to its end, or up to its first to-many step.
  /// - Parameter joiningLast: the row at the end of a last to-one step is needed, not just its key.
  func destination(
    of path: ArraySlice<String>, from start: SQLRoot, joiningLast: Bool = false
  ) throws(FetchError) -> SQLDestination {
    try PredicateNesting.check(steps: path.count)
    var root = start
    var rest = path
    while true {
      guard let step = takeProperty(&rest, of: root.entity) else {
        if rest.isEmpty || Array(rest) == ["objectID"] { return .object(root) }
        if EntityName.isPath(rest) { return .attribute(column: entityName(of: root), .string) }
        throw unknown(rest, of: root.entity, in: path)
      }
      let slot = root.entity.layout.slots[step]
      if case .toMany(let relationship) = slot.kind {
        return .toMany(relationship, from: root, rest: rest)
      }
      guard let name = schema.columnName(of: step, in: root.entity) else {
        throw FetchError(
          .unsupported, "\(slot.name) of \(root.entity.name) is not kept in the store",
          suggestion: "Fetch by stored properties and filter the result in memory.")
      }
      let column = SQLFragment.column(root.alias, name)
      switch slot.kind {
      case .attribute(_, let type):
        let isOutside = schema.holdsExternalData(step, of: root.entity)
        let value = isOutside ? .call(ExternalData.readFunction, column) : column
        if rest.isEmpty { return .attribute(column: value, type) }
        guard Array(rest) == ["length"], let length = Self.length(of: value, type) else {
          throw unknown(rest, of: root.entity, in: path)
        }
        return .attribute(column: length, .integer64)
      case .toOne(let relationship):
        if !joiningLast, rest.isEmpty || Array(rest) == ["objectID"] {
          return .toOne(column: column, relationship)
        }
        root = try follow(relationship, column: column, from: root)
      case .toMany: break
      }
    }
  }

  /// The one property that a value has: nil where it has none.
  private static func length(of value: SQLFragment, _ type: AttributeType) -> SQLFragment? {
    switch type {
    case .string: .call(SQLFunction.length, value)
    case .binaryData: .call("length", value)
    default: nil
    }
  }

  /// What entity the row is of, by its name.
  private func entityName(of root: SQLRoot) -> SQLFragment {
    var name: SQLFragment = "(CASE " + .column(root.alias, "Z_ENT")
    for entity in root.entity.selfAndDescendants {
      let number = SQLFragment.integer(Int64(schema.entityNumber(of: entity)))
      name = name + " WHEN " + number + " THEN " + .value(.text(entity.name))
    }
    return name + " END)"
  }

  /// The slot of the first property of the path; a composite's leaf has a name of several steps.
  private func takeProperty(_ path: inout ArraySlice<String>, of entity: EntityDescription) -> Int?
  {
    guard let first = path.first else { return nil }
    var name = first
    var rest = path.dropFirst()
    while true {
      if let index = entity.layout.index(named: name) {
        path = rest
        return index
      }
      guard let next = rest.popFirst() else { return nil }
      name += "." + next
    }
  }

  /// Joins the row at the end of a to-one relationship.
  private func follow(
    _ relationship: RelationshipDescription, column: SQLFragment, from root: SQLRoot
  ) throws(FetchError) -> SQLRoot {
    let destination = try self.destination(of: relationship)
    let path = (root.path.isEmpty ? [root.alias] : root.path) + [relationship.name]
    let alias = root.scope.alias(
      joining: path, column: column, table: schema.tableName(of: destination),
      newAlias: aliases.next)
    return SQLRoot(scope: root.scope, alias: alias, entity: destination, path: path)
  }

  func destination(
    of relationship: RelationshipDescription
  ) throws(FetchError) -> EntityDescription {
    guard let entity = relationship.destinationEntity else {
      throw FetchError(
        .unsupported, "The relationship \(relationship.name) has no destination",
        suggestion: "Complete the model.")
    }
    return entity
  }

  private func unknown(
    _ rest: ArraySlice<String>, of entity: EntityDescription, in path: ArraySlice<String>
  ) -> FetchError {
    FetchError(
      .unknownKey,
      "\(entity.name) has no property \"\(rest.joined(separator: "."))\""
        + " (key path \"\(path.joined(separator: "."))\")",
      suggestion: "Check the spelling against the model.")
  }
}
