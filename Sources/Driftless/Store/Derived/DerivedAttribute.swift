/// A derived attribute and where in the tables its value comes from.
struct DerivedAttribute {
  /// Where the value comes from. Names are those of tables and columns.
  enum Source {
    case now
    /// Another column of the same row.
    case column(String, TextForm?)
    /// A column of the row that a key names.
    case across(key: String, table: String, column: String, TextForm?)
    /// The rows of a table that name this one.
    case children(CollectionOperator, table: String, key: String, column: String?)
    /// The rows that a join table puts beside this one.
    case pairs(CollectionOperator, JoinTable, table: String, column: String?)
  }

  /// What becomes of a text. SQLite's own functions know ASCII alone, so these are ours.
  enum TextForm {
    case uppercase, lowercase, canonical

    func of(_ value: String) -> String {
      switch self {
      case .uppercase: return "\(SQLFunction.uppercase)(\(value))"
      case .lowercase: return "\(SQLFunction.lowercase)(\(value))"
      case .canonical:
        let options: FetchComparison.Options = [.caseInsensitive, .diacriticInsensitive]
        return "\(SQLFunction.fold)(\(value), \(options.rawValue))"
      }
    }
  }

  let entityName: String
  let name: String
  let table: EntityTable
  let column: String
  /// The numbers of the entities that have it; nil when every row of the table does.
  let entityNumbers: [Int32]?
  let source: Source
  /// Whether the values that are added up are whole numbers.
  let isWhole: Bool

  /// - Throws: `StoreError` with code `cannotDerive` for an expression that triggers cannot follow.
  init(
    _ attribute: DerivedAttributeDescription, of entity: EntityDescription, in schema: StoreSchema
  ) throws {
    entityName = entity.name
    name = attribute.name
    table = schema.table(for: entity)
    let resolution = DerivationResolution(attribute: attribute, entity: entity, schema: schema)
    column = try resolution.column(of: attribute.name, in: entity)
    entityNumbers =
      entity.superentity == nil ? nil : schema.numbers(of: entity, includingSubentities: true)
    (source, isWhole) = try resolution.source()
  }

  /// The derived attributes of all entities of a store.
  ///
  /// - Parameter skipsUnknown: Whether those that triggers cannot follow are left out.
  static func all(in schema: StoreSchema, skipsUnknown: Bool = false) throws -> [DerivedAttribute] {
    var all: [DerivedAttribute] = []
    for entity in schema.entities {
      for case let attribute as DerivedAttributeDescription in entity.ownProperties
      where !attribute.isTransient {
        do {
          all.append(try DerivedAttribute(attribute, of: entity, in: schema))
        } catch {
          if !skipsUnknown { throw error }
        }
      }
    }
    return all
  }
}

/// Finds the columns that a derivation names.
private struct DerivationResolution {
  let attribute: DerivedAttributeDescription
  let entity: EntityDescription
  let schema: StoreSchema

  func source() throws -> (DerivedAttribute.Source, isWhole: Bool) {
    guard let expression = attribute.derivationExpression else { throw refusal }
    switch expression {
    case .function(.now, _, _): return (.now, false)
    case .function(let function, let operands, _):
      guard operands.count == 1, case .keyPath(let path) = operands[0] else { throw refusal }
      let forms: [FetchFunction: DerivedAttribute.TextForm] = [
        .uppercase: .uppercase, .lowercase: .lowercase, .canonical: .canonical,
      ]
      guard let form = forms[function] else { throw refusal }
      return (try value(path, form), false)
    case .keyPath(let path): return (try value(path, nil), false)
    case .collection(let operation, of: .keyPath(let start), let rest, _):
      return try aggregate(operation, start + rest)
    default: throw refusal
    }
  }

  private func value(
    _ path: [String], _ form: DerivedAttribute.TextForm?
  ) throws -> DerivedAttribute.Source {
    if let slot = slot(path, of: entity), slot.relationship == nil {
      return .column(try column(of: slot.name, in: entity), form)
    }
    guard let slot = slot(path.prefix(1), of: entity), case .toOne(let relationship) = slot.kind,
      let destination = relationship.destinationEntity,
      let end = self.slot(path.dropFirst(), of: destination), end.relationship == nil
    else { throw refusal }
    return .across(
      key: try column(of: slot.name, in: entity), table: schema.tableName(of: destination),
      column: try column(of: end.name, in: destination), form)
  }

  private func aggregate(
    _ operation: CollectionOperator, _ path: [String]
  ) throws -> (DerivedAttribute.Source, isWhole: Bool) {
    // Triggers are in SQL that any program runs, which has no statistics.
    guard ![.median, .mode, .stddev].contains(operation),
      let slot = slot(path.prefix(1), of: entity), case .toMany(let relationship) = slot.kind,
      let destination = relationship.destinationEntity
    else { throw refusal }
    var value: String?
    var isWhole = operation == .count
    if operation == .count {
      guard path.count == 1 else { throw refusal }
    } else {
      guard let end = self.slot(path.dropFirst(), of: destination),
        case .attribute(_, let type) = end.kind
      else { throw refusal }
      value = try column(of: end.name, in: destination)
      isWhole = [.integer16, .integer32, .integer64, .boolean].contains(type)
    }
    if let join = schema.joinTable(for: relationship) {
      if let held = join.held {
        return (
          .children(operation, table: held.table, key: held.key, column: value), isWhole
        )
      }
      return (
        .pairs(operation, join, table: schema.tableName(of: destination), column: value), isWhole
      )
    }
    guard let inverse = relationship.inverseRelationship, let owner = inverse.entity else {
      throw refusal
    }
    return (
      .children(
        operation, table: schema.tableName(of: owner),
        key: try column(of: inverse.name, in: owner), column: value), isWhole
    )
  }

  func column(of name: String, in entity: EntityDescription) throws -> String {
    guard let slot = entity.layout.index(named: name),
      let column = schema.columnName(of: slot, in: entity)
    else { throw refusal }
    return column
  }

  /// The property at the end of a path of one step, or of several into a composite attribute.
  private func slot(_ path: some Sequence<String>, of entity: EntityDescription) -> PropertySlot? {
    entity.layout.index(named: path.joined(separator: ".")).map { entity.layout.slots[$0] }
  }

  private var refusal: StoreError {
    StoreError(
      .cannotDerive,
      """
      A store cannot keep \(entity.name).\(attribute.name), which is derived as \
      “\(attribute.derivationExpressionFormat ?? "")”.
      """,
      suggestion: """
        Derive it from an attribute (name), across one to-one relationship (author.name), through uppercase:, lowercase: \
        or canonical:, from a to-many relationship (books.@count, books.pages.@sum), or as now().
        """)
  }
}
