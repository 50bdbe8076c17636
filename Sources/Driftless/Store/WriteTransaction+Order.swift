import DriftlessSQLite

/// Where an ordered relationship's places stand.
private struct OrderColumn {
  let table: String
  let source: String
  let destination: String
  let place: String
}

extension WriteTransaction {
  /// Puts an ordered relationship's objects in this order. Those that are out of place get new
  /// places; the others keep theirs. Objects that are not in the relationship are passed over: another save may have deleted
  /// them, or given them to another object.
  ///
  /// A move is recorded as a change of the moved object's to-one relationship: it is that object's
  /// place. That of a many-to-many relationship is recorded by the caller.
  ///
  /// - Parameter added: the keys of objects that this transaction put into the relationship: what
  ///   place they have is another relationship's, and their change is recorded already.
  package func setOrder(
    _ relationship: RelationshipDescription, _ source: ObjectKey, _ order: [ObjectKey],
    added: Set<Int64> = []
  ) throws {
    guard let column = orderColumn(of: relationship) else { return }
    let places = try places(column, of: source)
    let destinations = order.filter { places[$0.key] != nil }
    let current = destinations.map { added.contains($0.key) ? nil : places[$0.key] ?? nil }
    let changes = OrderPlaces.changes(current)
    guard !changes.isEmpty else { return }
    let isPair = schema.joinTable(for: relationship) != nil
    if isPair { try keepBase(of: source, relationship) }
    if !isPair, let inverse = relationship.inverseRelationship {
      for index in changes.keys where !added.contains(destinations[index].key) {
        try keepPlace(of: destinations[index], beside: inverse)
      }
    }
    let statement = try connection.prepare(
      """
      UPDATE "\(column.table)" SET "\(column.place)" = ? WHERE "\(column.source)" = ?
      AND "\(column.destination)" = ?
      """)
    for (index, place) in changes {
      statement.bind(place, at: 1)
      statement.bind(source.key, at: 2)
      statement.bind(destinations[index].key, at: 3)
      try statement.run()
    }
    guard !isPair, let inverse = relationship.inverseRelationship else { return }
    for index in changes.keys.sorted() where !added.contains(destinations[index].key) {
      let key = destinations[index]
      guard let slot = schema.entity(numbered: key.entity)?.layout.index(named: inverse.name)
      else { continue }
      try recordUpdate(key, PropertyMask([slot]))
    }
  }

  /// Writes the place of an object among those that refer to the same one, as it is.
  package func setPlace(
    _ place: Int64?, of key: ObjectKey, in toOne: RelationshipDescription
  ) throws {
    guard let entity = toOne.entity, let column = placeColumn(of: toOne) else { return }
    let statement = try connection.prepare(
      "UPDATE \"\(schema.table(for: entity).name)\" SET \"\(column)\" = ? WHERE Z_PK = ?")
    if let place { statement.bind(place, at: 1) } else { statement.bindNull(at: 1) }
    statement.bind(key.key, at: 2)
    try statement.run()
  }

  /// Gives an object the last place among those that refer to the same one.
  package func setLastPlace(of key: ObjectKey, in toOne: RelationshipDescription) throws {
    guard let inverse = toOne.inverseRelationship, inverse.isOrdered,
      let column = orderColumn(of: inverse)
    else { return }
    let statement = try connection.prepare(
      """
      SELECT max("\(column.place)") FROM "\(column.table)" WHERE Z_PK <> ?1
      AND "\(column.source)" = (SELECT "\(column.source)" FROM "\(column.table)" WHERE Z_PK = ?1)
      """)
    defer { statement.reset() }
    statement.bind(key.key, at: 1)
    let last = try statement.step() && !statement.isNull(0) ? statement.int64(0) : nil
    let changes = OrderPlaces.changes(last.map { [$0, nil] } ?? [nil])
    try setPlace(changes[last == nil ? 0 : 1], of: key, in: toOne)
  }
}

extension ReadTransaction {
  /// The place of an object among those that refer to the same one by a to-one relationship whose
  /// inverse is ordered; nil when it was never given one.
  package func place(of key: ObjectKey, in toOne: RelationshipDescription) throws -> Int64? {
    guard let entity = toOne.entity, let column = placeColumn(of: toOne) else { return nil }
    let statement = try connection.prepare(
      "SELECT \"\(column)\" FROM \"\(schema.table(for: entity).name)\" WHERE Z_PK = ?")
    defer { statement.reset() }
    statement.bind(key.key, at: 1)
    return try statement.step() && !statement.isNull(0) ? statement.int64(0) : nil
  }

  /// The places of the objects of an ordered relationship, by their keys. Those that were never given one, and those of any other
  /// relationship, have none.
  package func places(
    of source: ObjectKey, in relationship: RelationshipDescription
  ) throws -> [Int64: Int64] {
    guard let column = orderColumn(of: relationship) else { return [:] }
    return try places(column, of: source).compactMapValues { $0 }
  }

  fileprivate func orderColumn(of relationship: RelationshipDescription) -> OrderColumn? {
    if let join = schema.joinTable(for: relationship) {
      return join.destinationOrderColumn.map {
        OrderColumn(
          table: join.name, source: join.sourceColumn, destination: join.destinationColumn,
          place: $0)
      }
    }
    guard let inverse = relationship.inverseRelationship, let entity = inverse.entity,
      let binding = binding(of: inverse), let place = placeColumn(of: inverse)
    else { return nil }
    let table = schema.table(for: entity)
    return OrderColumn(
      table: table.name, source: table.columns[binding.column].name, destination: "Z_PK",
      place: place)
  }

  fileprivate func places(_ column: OrderColumn, of source: ObjectKey) throws -> [Int64: Int64?] {
    let statement = try connection.prepare(
      """
      SELECT "\(column.destination)", "\(column.place)" FROM "\(column.table)"
      WHERE "\(column.source)" = ?
      """)
    defer { statement.reset() }
    statement.bind(source.key, at: 1)
    var places: [Int64: Int64?] = [:]
    while try statement.step() {
      places[statement.int64(0)] = .some(statement.isNull(1) ? nil : statement.int64(1))
    }
    return places
  }

  func placeColumn(of toOne: RelationshipDescription) -> String? {
    guard let entity = toOne.entity, let order = binding(of: toOne)?.orderColumn else { return nil }
    return schema.table(for: entity).columns[order].name
  }
}
