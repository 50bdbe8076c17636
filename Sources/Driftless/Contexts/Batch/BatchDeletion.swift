import DriftlessSQLite

/// Carries a batch delete out: which objects go along, who is to let go of them, then the rows.
///
/// The doomed stand in a table of the connection's own: hierarchy, key, entity, and the round in which they were found.
struct BatchDeletion {
  private static let name = "driftless_doomed"

  private let transaction: WriteTransaction
  private let plan: ObjectPlan
  /// Objects that stay, and let go of the doomed by these to-one relationships.
  private(set) var freed: [(key: ObjectKey, relation: Relation)] = []
  private let keepsFreed: Bool
  private var schema: StoreSchema { plan.schema }

  /// - Parameter keepsFreed: Whether ``freed`` is asked for.
  init(_ transaction: WriteTransaction, _ plan: ObjectPlan, keepsFreed: Bool = false) throws {
    self.keepsFreed = keepsFreed
    self.transaction = transaction
    self.plan = plan
    drop()
    try transaction.connection.execute(
      """
      CREATE TEMP TABLE \(Self.name) (h INTEGER, k INTEGER, e INTEGER, g INTEGER,
      PRIMARY KEY (h, k)) WITHOUT ROWID;
      CREATE INDEX temp.\(Self.name)_rounds ON \(Self.name) (g)
      """)
  }

  func drop() { try? transaction.connection.execute("DROP TABLE IF EXISTS temp.\(Self.name)") }

  // MARK: Who goes

  func add(_ keys: [ObjectKey]) throws {
    for key in keys {
      guard let found = try transaction.concreteKey(root: key) else { continue }
      try transaction.connection.run(
        "INSERT OR IGNORE INTO temp.\(Self.name) VALUES (?, ?, ?, 0)",
        .integer(Int64(schema.rootNumber(of: found.entity))), .integer(found.key),
        .integer(Int64(found.entity)))
    }
  }

  func add(_ query: CompiledQuery) throws {
    let numbers = schema.numbers
    // All rows of a query are of one hierarchy, which any of its entities tells.
    let roots = numbers.map { "WHEN \($0.number) THEN \(schema.rootNumber(of: $0.number))" }
    let statement = try transaction.connection.prepareUncached(
      "INSERT OR IGNORE INTO temp.\(Self.name) SELECT CASE Z_ENT \(roots.joined(separator: " ")) "
        + "END, Z_PK, Z_ENT, 0 FROM (\(query.sql))")
    statement.bind(query.bindings)
    try statement.run()
  }

  /// Follows delete rules and deletes.
  mutating func run(_ tally: inout BatchTally) throws {
    try addCascaded()
    for shape in plan.shapes {
      for case let relation? in shape.relations where isOwn(relation, shape) {
        if relation.isManyToMany {
          try removePairs(of: relation, shape)
          if relation.isOneSided { try leaveHolders(in: relation) }
        } else if !relation.isToMany {
          try nullify(relation, shape)
        }
      }
    }
    let statement = try transaction.connection.prepareUncached(
      "SELECT k, e FROM temp.\(Self.name) ORDER BY h, k")
    while try statement.step() {
      let key = statement.objectKey(1, 0)
      try transaction.delete(key, expectedVersion: nil)
      tally.add(key)
    }
  }

  /// Whether the relationship is declared in the entity, not above.
  private func isOwn(_ relation: Relation, _ shape: ObjectShape) -> Bool {
    relation.description.entity === shape.entity
  }

  private func addCascaded() throws {
    let cascades = plan.shapes.flatMap { shape in
      shape.relations.compactMap { $0 }
        .filter { isOwn($0, shape) && $0.description.deleteRule == .cascade }
        .compactMap { destinations(of: $0, shape) }
    }
    var round: Int64 = 0
    var isStable = cascades.isEmpty
    while !isStable {
      isStable = true
      for select in cascades {
        let statement = try transaction.connection.prepareUncached(
          "INSERT OR IGNORE INTO temp.\(Self.name) \(select.sql)")
        statement.bind([.integer(round + 1), .integer(round)] + select.bindings)
        try statement.run()
        if transaction.connection.changes > 0 { isStable = false }
      }
      round += 1
    }
  }

  /// A SELECT of the objects at the other end of a relationship of the doomed of one round. Its first two parameters
  /// are the next round and this one.
  private func destinations(of relation: Relation, _ shape: ObjectShape) -> SQLFragment? {
    let table = SQLFragment.identifier(schema.table(for: relation.destination).name)
    let root = schema.rootNumber(of: schema.entityNumber(of: relation.destination))
    let source: SQLFragment
    if let join = schema.joinTable(for: relation.description) {
      source =
        table + " t JOIN " + .identifier(join.name) + " j ON t.Z_PK = "
        + .column("j", join.destinationColumn) + " JOIN temp.driftless_doomed d ON "
        + .column("j", join.sourceColumn) + " = d.k"
    } else if relation.isToMany, let inverse = relation.description.inverseRelationship,
      let column = transaction.column(of: inverse)
    {
      source =
        table + " t JOIN temp.driftless_doomed d ON " + .column("t", column) + " = d.k"
    } else if let column = transaction.column(of: relation.description) {
      source =
        SQLFragment.identifier(schema.table(for: shape.entity).name)
        + " s JOIN temp.driftless_doomed d ON s.Z_PK = d.k JOIN " + table + " t ON t.Z_PK = "
        + .column("s", column)
    } else {
      return nil
    }
    return "SELECT " + .integer(Int64(root)) + ", t.Z_PK, t.Z_ENT, ?1 FROM " + source
      + " WHERE d.g = ?2 AND " + isDoomed(shape)
  }

  /// Whether `d` is an object of the entity.
  private func isDoomed(_ shape: ObjectShape) -> SQLFragment {
    let numbers = schema.numbers(of: shape.entity, includingSubentities: true)
    return "d.h = " + .integer(Int64(schema.rootNumber(of: shape.number))) + " AND d.e IN ("
      + .joined(numbers.map { .integer(Int64($0)) }, by: ", ") + ")"
  }

  // MARK: Who lets go

  /// Objects that stay and refer to the doomed by this to-one relationship, unless the rule at its other end says to
  /// leave them.
  private mutating func nullify(_ relation: Relation, _ shape: ObjectShape) throws {
    guard let inverse = relation.description.inverseRelationship, inverse.deleteRule != .noAction,
      let column = transaction.column(of: relation.description),
      let destination = plan.shape(numbered: schema.entityNumber(of: relation.destination))
    else { return }
    let root = SQLFragment.integer(Int64(schema.rootNumber(of: shape.number)))
    let selection: SQLFragment =
      "SELECT s.Z_PK, s.Z_ENT FROM " + .identifier(schema.table(for: shape.entity).name)
      + " s JOIN temp.driftless_doomed d ON " + .column("s", column) + " = d.k WHERE "
      + isDoomed(destination) + " AND s.Z_ENT IN ("
      + .joined(
        schema.numbers(of: shape.entity, includingSubentities: true).map { .integer(Int64($0)) },
        by: ", ")
      + ") AND NOT EXISTS (SELECT 1 FROM temp.driftless_doomed o WHERE o.h = " + root
      + " AND o.k = s.Z_PK)"
    var mask = PropertyMask()
    mask.insert(relation.slot)
    let rows = try BatchRows(transaction, selection)
    defer { rows.drop() }
    try rows.forEach { statement in
      let key = statement.objectKey(1, 0)
      let values = [PropertyValue](repeating: .null, count: relation.slot + 1)
      try transaction.update(key, mask, values: values, expectedVersion: nil)
      if keepsFreed { freed.append((key, relation)) }
    }
  }

  private func removePairs(of relation: Relation, _ shape: ObjectShape) throws {
    guard let join = schema.joinTable(for: relation.description) else { return }
    let selection: SQLFragment =
      "SELECT d.k, d.e FROM temp.driftless_doomed d WHERE " + isDoomed(shape)
      + " AND EXISTS (SELECT 1 FROM " + .identifier(join.name) + " j WHERE "
      + .column("j", join.sourceColumn) + " = d.k)"
    let rows = try BatchRows(transaction, selection)
    defer { rows.drop() }
    try rows.forEach { statement in
      let key = statement.objectKey(1, 0)
      let others = try transaction.toManyKeys(of: key, relation.description)
      try transaction.removePairs(relation.description, key, others)
      try recordLoss(of: relation, by: others)
    }
  }

  /// Those who stay let go of the doomed that they hold without these knowing it.
  private func leaveHolders(in relation: Relation) throws {
    guard let join = schema.joinTable(for: relation.description),
      let destination = plan.shape(numbered: schema.entityNumber(of: relation.destination))
    else { return }
    let selection: SQLFragment =
      "SELECT d.k, d.e FROM temp.driftless_doomed d WHERE " + isDoomed(destination)
      + " AND EXISTS (SELECT 1 FROM " + .identifier(join.name) + " j WHERE "
      + .column("j", join.destinationColumn) + " = d.k)"
    let rows = try BatchRows(transaction, selection)
    defer { rows.drop() }
    try rows.forEach { statement in
      try transaction.leaveHolders(statement.objectKey(1, 0), relation.description) { holder in
        try !isDoomed(holder)
      }
    }
  }

  /// The objects that stay lost one from a relationship of theirs, if it is that end which the history records.
  private func recordLoss(of relation: Relation, by others: [ObjectKey]) throws {
    guard relation.inverseSlot >= 0 else { return }
    var mask = PropertyMask()
    mask.insert(relation.inverseSlot)
    for other in others {
      guard let inverse = plan.shape(numbered: other.entity)?.relations[relation.inverseSlot],
        inverse.isRecorded || inverse.isOrdered, try !isDoomed(other)
      else { continue }
      try transaction.recordUpdate(other, mask)
    }
  }

  private func isDoomed(_ key: ObjectKey) throws -> Bool {
    try transaction.connection.scalar(
      "SELECT 1 FROM temp.\(Self.name) WHERE h = ? AND k = ?",
      .integer(Int64(schema.rootNumber(of: key.entity))), .integer(key.key)) != nil
  }
}

extension ReadTransaction {
  /// The key column of a to-one relationship.
  func column(of relationship: RelationshipDescription) -> String? {
    guard let entity = relationship.entity, let binding = binding(of: relationship) else {
      return nil
    }
    return schema.table(for: entity).columns[binding.column].name
  }
}
