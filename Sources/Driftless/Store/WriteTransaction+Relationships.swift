package import DriftlessSQLite

/// Many-to-many pairs, and the order of ordered relationships.
extension WriteTransaction {
  /// Adds `destinations` to a many-to-many relationship of `source`. Pairs that exist stay.
  ///
  /// The change of the relationship is recorded by the caller (`recordUpdate`), once for each object.
  ///
  /// - Parameter isPlacedLater: The caller says where they stand in an ordered relationship (`setOrder`), once it has added all of
  ///   them; else they come last.
  package func addPairs(
    _ relationship: RelationshipDescription, _ source: ObjectKey, _ destinations: [ObjectKey],
    isPlacedLater: Bool = false
  ) throws {
    try changePairs(
      relationship, source, destinations, adds: true, isPlacedLater: isPlacedLater)
  }

  /// A pair of a many-to-many relationship, by the keys of source and destination.
  package typealias Pair = RowsInMemory.Pair

  /// Whether pairs of the relationship are rows and nothing more, which `addPairs` writes many of at once.
  package func canAddPairsAtOnce(_ relationship: RelationshipDescription) -> Bool {
    guard !keepsForSync, let join = schema.joinTable(for: relationship) else { return false }
    return !join.isSymmetric && join.held == nil && join.destinationOrderColumn == nil
  }

  /// Adds pairs of many sources. Pairs that exist stay.
  package func addPairs(_ relationship: RelationshipDescription, _ pairs: [Pair]) throws {
    guard let join = schema.joinTable(for: relationship), !pairs.isEmpty else { return }
    let statement = try connection.prepare(
      """
      INSERT OR IGNORE INTO "\(join.name)" ("\(join.sourceColumn)", "\(join.destinationColumn)")
      SELECT c0, c1 FROM driftless_rows
      """)
    try RowsInMemory.lending(pairs) { try connection.run(statement, reading: $0) }
  }

  /// Hands over the rows of an entity, and of those below it, that refer to objects by a column of references.
  ///
  /// - Parameter keys: the objects' own keys, of one table.
  func forEachReference(
    to keys: [Int64], in column: String, of entity: EntityDescription,
    _ body: (_ key: Int64, _ row: ObjectKey) throws -> Void
  ) throws {
    let numbers = schema.numbers(of: entity, includingSubentities: true)
    let sql: SQLFragment =
      "SELECT s.Z_PK, s.Z_ENT, d.c0 FROM driftless_rows d CROSS JOIN "
      + .identifier(schema.table(for: entity).name) + " s ON "
      + .column("s", column) + " = d.c0 WHERE +s.Z_ENT IN ("
      + .joined(numbers.map { .integer(Int64($0)) }, by: ", ") + ")"
    let statement = try connection.prepareUncached(sql.sql)
    statement.bind(sql.bindings)
    try RowsInMemory.lending(keys) { rows in
      try connection.forEachRow(of: statement, reading: rows) {
        try body(statement.int64(2), statement.objectKey(1, 0))
      }
    }
  }

  package func removePairs(
    _ relationship: RelationshipDescription, _ source: ObjectKey, _ destinations: [ObjectKey]
  ) throws {
    try changePairs(relationship, source, destinations, adds: false)
  }

  private func changePairs(
    _ relationship: RelationshipDescription, _ source: ObjectKey, _ destinations: [ObjectKey],
    adds: Bool, isPlacedLater: Bool = false
  ) throws {
    let plan = try pairPlan(relationship, adds: adds)
    guard !destinations.isEmpty else { return }
    try keepBase(of: source, relationship)
    if let inverse = relationship.inverseRelationship {
      for destination in destinations { try keepBase(of: destination, inverse) }
    }
    if adds, plan.join.held != nil {
      for destination in destinations { try takeOver(destination, relationship, for: source) }
    }
    let statement = plan.statement
    for destination in destinations {
      statement.bind(source.key, at: 1)
      statement.bind(destination.key, at: 2)
      try statement.run()
      if plan.join.isSymmetric {
        statement.bind(destination.key, at: 1)
        statement.bind(source.key, at: 2)
        try statement.run()
      }
    }
    if adds, !isPlacedLater, plan.join.destinationOrderColumn != nil {
      let added = Set(destinations)
      try setOrder(
        relationship, source,
        toManyKeys(of: source, relationship).filter { !added.contains($0) } + destinations)
    }
  }

  /// One object holds it at most: who held it before has changed as well.
  private func takeOver(
    _ destination: ObjectKey, _ relationship: RelationshipDescription, for source: ObjectKey
  ) throws {
    // An object that this transaction made was held by nobody before it.
    if newKeys[schema.rootNumber(of: destination.entity)]?.contains(destination.key) == true {
      return
    }
    for former in try sources(holding: destination, in: relationship) where former != source {
      try keepBase(of: former, relationship)
      try noteLoss(of: former, relationship)
    }
  }

  /// Takes an object that is about to be deleted out of a to-many relationship without inverse of others. In a replica with
  /// pairs they stay, and hold it again when it comes back.
  /// - Parameter stays: Whether a holder is not deleted as well.
  func leaveHolders(
    _ key: ObjectKey, _ relationship: RelationshipDescription,
    where stays: (ObjectKey) throws -> Bool
  ) throws {
    guard !keepsForSync || schema.isExclusive(relationship) else { return }
    for holder in try sources(holding: key, in: relationship) where try stays(holder) {
      try changePairs(relationship, holder, [key], adds: false)
      try noteLoss(of: holder, relationship)
    }
  }

  /// Takes from an object that is about to be deleted what it holds without inverse: a replica keeps pairs of what was deleted
  /// before, which nobody sees in the object.
  func removeHeldPairs(of key: ObjectKey) throws {
    for slot in schema.entity(numbered: key.entity)?.layout.slots ?? [] {
      guard case .toMany(let relationship) = slot.kind, relationship.inverseRelationship == nil,
        let join = schema.joinTable(for: relationship), join.held == nil
      else { continue }
      let statement = try connection.prepare(
        "DELETE FROM \"\(join.name)\" WHERE \"\(join.sourceColumn)\" = ?")
      statement.bind(key.key, at: 1)
      try statement.run()
    }
  }

  /// Records, once, that an object lost members that it did not let go of itself.
  private func noteLoss(of holder: ObjectKey, _ relationship: RelationshipDescription) throws {
    guard
      let slot = schema.entity(numbered: holder.entity)?.layout.index(named: relationship.name),
      !pairs.relieved[holder, default: PropertyMask()].contains(slot)
    else { return }
    pairs.relieved[holder, default: PropertyMask()].insert(slot)
    try recordUpdate(holder, PropertyMask([slot]))
  }

  /// Who lost members that this transaction gave to others, or deleted.
  var formerHolders: [ObjectKey] {
    pairs.relieved.keys.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
  }

  /// How pairs of the relationship are written; kept while it is the same one.
  private func pairPlan(_ relationship: RelationshipDescription, adds: Bool) throws -> PairPlan {
    if let plan = pairs.plan, plan.relationship === relationship, plan.adds == adds { return plan }
    guard let join = schema.joinTable(for: relationship) else {
      throw StoreError(
        .invalidArgument, "\(relationship.name) is not a many-to-many relationship.",
        suggestion: "Set the to-one side instead.")
    }
    let plan = PairPlan(
      relationship: relationship, adds: adds, join: join,
      statement: try connection.prepare(
        adds
          ? """
          INSERT OR IGNORE INTO "\(join.name)" ("\(join.sourceColumn)", "\(join.destinationColumn)")
          VALUES (?, ?)
          """
          : """
          DELETE FROM "\(join.name)" WHERE "\(join.sourceColumn)" = ?
          AND "\(join.destinationColumn)" = ?
          """))
    pairs.plan = plan
    return plan
  }
}

extension RowsInMemory.Pair {
  package init(_ source: ObjectKey, _ destination: ObjectKey) {
    self.init(source.key, destination.key)
  }
}

/// What a transaction knows of the pairs that it writes.
struct PairWriting {
  fileprivate var plan: PairPlan?
  /// Who lost members that the transaction gave to others, by which slots.
  fileprivate var relieved: [ObjectKey: PropertyMask] = [:]
}

/// How pairs of a many-to-many relationship are written.
private struct PairPlan {
  let relationship: RelationshipDescription
  let adds: Bool
  let join: JoinTable
  let statement: SQLiteStatement
}
