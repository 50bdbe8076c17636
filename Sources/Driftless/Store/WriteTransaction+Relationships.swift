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
}
