import DriftlessSQLite
import Foundation

extension ReadTransaction {
  /// How many fetched rows lie in memory together. One that is kept keeps as many.
  private static let rowsOfBlock = 256

  /// The rows of a query that selects values.
  /// - Parameter objectID: makes the ID of a key.
  func fetchedRows(
    _ rows: RowQuery, objectID: (ObjectKey) -> ManagedObjectID?,
    each: (Int) throws -> Void = { _ in }
  ) throws -> [FetchedRow] {
    let statement = try connection.prepareUncached(rows.query.sql)
    statement.bind(rows.query.bindings)
    let names = Dictionary(
      uniqueKeysWithValues: rows.columns.enumerated().map { ($1.name, $0) })
    var fetched: [FetchedRow] = []
    var values: [PropertyValue] = []
    var objectIDs: [ObjectKey: ManagedObjectID] = [:]
    func finishBlock() {
      let block = FetchedRowBlock(columns: names, values: values, objectIDs: objectIDs)
      let count = names.isEmpty ? 0 : values.count / names.count
      for row in 0..<count { fetched.append(FetchedRow(block, row: row)) }
      values = []
      objectIDs = [:]
    }
    var count = 0
    while try statement.step() {
      if values.isEmpty { values.reserveCapacity(Self.rowsOfBlock * names.count) }
      var index: Int32 = 0
      for column in rows.columns {
        let value = column.reading.value(in: statement, at: index)
        if case .reference = column.reading { index += 1 }
        index += 1
        values.append(value)
        if case .reference(let key) = value, objectIDs[key] == nil {
          objectIDs[key] = objectID(key)
        }
      }
      count += 1
      if count % Self.rowsOfBlock == 0 { finishBlock() }
      try each(count)
    }
    finishBlock()
    return fetched
  }

  /// The objects of an entity and its subentities that a predicate finds.
  ///
  /// - Throws: ``FetchError`` for a predicate that does not fit the model, `StoreError`.
  package func keys(
    of entity: EntityDescription, where predicate: FetchPredicate?
  ) throws -> [ObjectKey] {
    var keys: [ObjectKey] = []
    let query = try QueryCompiler(schema: schema).compile(
      entity: entity, predicate: predicate, selection: .keys)
    try forEachKey(of: query) { keys.append($0) }
    return keys
  }

  /// Hands over the keys that a query selects.
  func forEachKey(of query: CompiledQuery, _ body: (ObjectKey) throws -> Void) throws {
    let statement = try connection.prepareUncached(query.sql)
    statement.bind(query.bindings)
    while try statement.step() {
      try body(
        statement.objectKey(1, 0))
    }
  }

  /// The objects that a to-many relationship of each of these objects holds, by the owner's key, in their order if it
  /// is ordered.
  func toManyKeys(
    of owners: [Int64], _ relationship: RelationshipDescription
  ) throws -> [Int64: [ObjectKey]] {
    guard let destination = relationship.destinationEntity else { return [:] }
    let table = schema.table(for: destination)
    let owner: SQLFragment
    let order: SQLFragment?
    var source = SQLFragment.identifier(table.name) + " t"
    if let join = schema.joinTable(for: relationship) {
      owner = .column("j", join.sourceColumn)
      order = join.destinationOrderColumn.map { .column("j", $0) }
      source =
        source + " JOIN " + .identifier(join.name) + " j ON t.Z_PK = "
        + .column("j", join.destinationColumn)
    } else if let inverse = relationship.inverseRelationship, let binding = binding(of: inverse) {
      owner = .column("t", table.columns[binding.column].name)
      order = binding.orderColumn.map { .column("t", table.columns[$0].name) }
    } else {
      return [:]
    }
    let list = SQLFragment.value(.text("[" + owners.map(String.init).joined(separator: ",") + "]"))
    let places = SQLFragment.joined([owner] + (order.map { [$0] } ?? []), by: ", ")
    let place = order ?? SQLFragment("NULL")
    let query =
      "SELECT " + owner + ", t.Z_PK, t.Z_ENT, " + place + " FROM " + source + " WHERE " + owner
      + " IN (SELECT value FROM json_each(" + list + ")) ORDER BY " + places + ", t.Z_PK"
    let statement = try connection.prepareUncached(query.sql)
    statement.bind(query.bindings)
    guard order != nil else {
      var keys: [Int64: [ObjectKey]] = [:]
      while try statement.step() {
        keys[statement.int64(0), default: []].append(statement.objectKey(2, 1))
      }
      return keys
    }
    var orders: [Int64: PlaceOrder] = [:]
    while try statement.step() {
      orders[statement.int64(0), default: PlaceOrder()]
        .append(statement.objectKey(2, 1), placeIn: statement, 3)
    }
    return try orders.mapValues { try $0.keys(self) }
  }
}

extension RowQuery.Reading {
  fileprivate func value(in statement: SQLiteStatement, at column: Int32) -> PropertyValue {
    if statement.isNull(column) { return .null }
    switch self {
    case .reference:
      return .reference(
        ObjectKey(
          entity: statement.entityNumber(column + 1),
          key: statement.int64(column)))
    case .decimalKey:
      return DecimalKey.decimal(of: statement.data(column)).map(PropertyValue.decimal) ?? .null
    case .number:
      if case .integer(let value) = statement.value(column) { return .integer(value) }
      return .double(ExactDouble.value(in: statement, column, statement.type(column)))
    case .attribute(let type):
      return RowProgram.Step(
        slot: 0, kind: RowProgram.kind(of: type), column: column, entityColumn: -1, entityNumber: 0
      ).value(in: statement, at: column)
    }
  }
}
