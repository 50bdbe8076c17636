import DriftlessSQLite

/// Many-to-many pairs, and the order of ordered relationships.
extension WriteTransaction {
  /// Adds `destinations` to a many-to-many relationship of `source`. Pairs that exist stay.
  ///
  /// The change of the relationship is recorded by the caller (`recordUpdate`), once for each object.
  package func addPairs(
    _ relationship: RelationshipDescription, _ source: ObjectKey, _ destinations: [ObjectKey]
  ) throws {
    try changePairs(relationship, source, destinations, adds: true)
  }

  package func removePairs(
    _ relationship: RelationshipDescription, _ source: ObjectKey, _ destinations: [ObjectKey]
  ) throws {
    try changePairs(relationship, source, destinations, adds: false)
  }

  private func changePairs(
    _ relationship: RelationshipDescription, _ source: ObjectKey, _ destinations: [ObjectKey],
    adds: Bool
  ) throws {
    guard let join = schema.joinTable(for: relationship) else {
      throw StoreError(
        .invalidArgument, "\(relationship.name) is not a many-to-many relationship.",
        suggestion: "Set the to-one side instead.")
    }
    guard !destinations.isEmpty else { return }
    try keepBase(of: source, relationship)
    if let inverse = relationship.inverseRelationship {
      for destination in destinations { try keepBase(of: destination, inverse) }
    }
    let statement = try connection.prepare(
      adds
        ? """
        INSERT OR IGNORE INTO "\(join.name)" ("\(join.sourceColumn)", "\(join.destinationColumn)")
        VALUES (?, ?)
        """
        : """
        DELETE FROM "\(join.name)" WHERE "\(join.sourceColumn)" = ?
        AND "\(join.destinationColumn)" = ?
        """)
    for destination in destinations {
      statement.bind(source.key, at: 1)
      statement.bind(destination.key, at: 2)
      try statement.run()
      if join.isSymmetric {
        statement.bind(destination.key, at: 1)
        statement.bind(source.key, at: 2)
        try statement.run()
      }
    }
    if adds, join.destinationOrderColumn != nil {
      try setOrder(
        relationship, source,
        toManyKeys(of: source, relationship).filter { !destinations.contains($0) } + destinations)
    }
  }

  /// Writes the order of an ordered relationship's objects: keys in steps of 1024.
  package func setOrder(
    _ relationship: RelationshipDescription, _ source: ObjectKey, _ destinations: [ObjectKey]
  ) throws {
    let sql: String
    if let join = schema.joinTable(for: relationship) {
      guard let order = join.destinationOrderColumn else { return }
      sql = """
        UPDATE "\(join.name)" SET "\(order)" = ? WHERE "\(join.sourceColumn)" = ?
        AND "\(join.destinationColumn)" = ?
        """
    } else {
      guard let inverse = relationship.inverseRelationship, let entity = inverse.entity,
        let binding = binding(of: inverse), let order = binding.orderColumn
      else { return }
      let table = schema.table(for: entity)
      sql = """
        UPDATE "\(table.name)" SET "\(table.columns[order].name)" = ?
        WHERE "\(table.columns[binding.column].name)" = ? AND Z_PK = ?
        """
    }
    let statement = try connection.prepare(sql)
    for (place, destination) in destinations.enumerated() {
      statement.bind(Int64(place + 1) * 1024, at: 1)
      statement.bind(source.key, at: 2)
      statement.bind(destination.key, at: 3)
      try statement.run()
    }
  }
}
