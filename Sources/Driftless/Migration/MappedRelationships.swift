import DriftlessSQLite

/// What a mapping changed of relationships that are no column of their object: pairs, and places in orders.
///
/// Saves give the objects of an order new places. Those that stand in it as they did get their old ones back, which others
/// know; the rest are changes, as they are when an order is set.
struct MappedRelationships {
  let keys: MigrationKeys
  let connection: SQLiteConnection

  private var plan: MigrationPlan { keys.plan }
  private var new: StoreSchema { keys.new }

  /// Finds the changes, and puts places back.
  func run() throws {
    try connection.execute(
      """
      CREATE TEMP TABLE driftless_mapped (name, key INTEGER, PRIMARY KEY (name, key)) WITHOUT ROWID
      """)
    for entity in new.entities {
      for case let relationship as RelationshipDescription in entity.ownProperties
      where relationship.isToMany && !relationship.isTransient {
        try compare(relationship)
      }
    }
  }

  /// SQL for whether the relationship of the object in a row changed; nil where the object's columns say it.
  func isChanged(_ relationship: RelationshipDescription, in row: String) -> String? {
    let isHere =
      relationship.isToMany
      ? new.joinTable(for: relationship) != nil
      : relationship.inverseRelationship?.isOrdered == true
    guard isHere else { return nil }
    return """
      EXISTS (SELECT 1 FROM temp.driftless_mapped c
      WHERE c.name = '\(JoinTable.key(relationship))' AND c.key = \(row).Z_PK)
      """
  }

  /// Where the pairs of a relationship are: SQL of `source`, `destination` and `place`, and what has the places.
  private struct Pairs {
    let rows: String
    let table: String
    let source: String
    let destination: String
    let place: String?
  }

  private func pairs(of relationship: RelationshipDescription) -> Pairs? {
    if let join = new.joinTable(for: relationship) {
      let place = join.destinationOrderColumn
      return Pairs(
        rows: """
          SELECT "\(join.sourceColumn)" AS source, "\(join.destinationColumn)" AS destination,
          \(place.map { "\"\($0)\"" } ?? "NULL") AS place FROM \(join.rows(in: "main"))
          """, table: join.name, source: join.sourceColumn, destination: join.destinationColumn,
        place: join.held == nil ? place : nil)
    }
    guard let inverse = relationship.inverseRelationship, let entity = inverse.entity,
      let slot = entity.layout.index(named: inverse.name)
    else { return nil }
    let table = new.table(for: entity)
    guard let binding = table.slotBindings(for: entity).first(where: { $0.slot == slot }),
      let order = binding.orderColumn
    else { return nil }
    let (key, place) = (table.columns[binding.column].name, table.columns[order].name)
    return Pairs(
      rows: """
        SELECT "\(key)" AS source, Z_PK AS destination, "\(place)" AS place
        FROM main."\(table.name)" WHERE "\(key)" IS NOT NULL
        """, table: table.name, source: key, destination: "Z_PK", place: place)
  }

  private func compare(_ relationship: RelationshipDescription) throws {
    let formers = plan.formers(of: relationship)
    guard let pairs = pairs(of: relationship),
      let former = MigrationCopy(keys: keys, connection: connection)
        .pairs(of: formers, as: relationship)
    else { return }
    try connection.execute(
      """
      CREATE TEMP TABLE driftless_former (source INTEGER, destination INTEGER, place INTEGER,
      PRIMARY KEY (source, destination)) WITHOUT ROWID;
      INSERT OR IGNORE INTO temp.driftless_former SELECT source, destination, place FROM (\(former))
      WHERE source IS NOT NULL AND destination IS NOT NULL
      """)
    if new.joinTable(for: relationship) != nil,
      Relation.isRecorded(relationship, relationship.inverseRelationship)
    {
      try comparePairs(relationship, pairs)
    }
    if relationship.isOrdered, formers.allSatisfy(\.isOrdered) {
      try compareOrders(relationship, pairs)
    }
    try connection.execute("DROP TABLE temp.driftless_former")
  }

  private func comparePairs(_ relationship: RelationshipDescription, _ pairs: Pairs) throws {
    let now = "SELECT source, destination FROM (\(pairs.rows))"
    let then = "SELECT source, destination FROM temp.driftless_former"
    try connection.execute(
      """
      INSERT OR IGNORE INTO temp.driftless_mapped
      SELECT '\(JoinTable.key(relationship))', source FROM
      (SELECT * FROM (\(now) EXCEPT \(then)) UNION ALL SELECT * FROM (\(then) EXCEPT \(now)))
      """)
  }

  // MARK: Orders

  /// One object of an order, with the place that it had in it.
  private typealias Member = (key: Int64, place: Int64?, former: Int64?, isFormer: Bool)

  private func compareOrders(_ relationship: RelationshipDescription, _ pairs: Pairs) throws {
    guard let place = pairs.place else { return }
    try connection.execute(
      """
      CREATE TEMP TABLE driftless_places (source INTEGER, destination INTEGER, place INTEGER,
      PRIMARY KEY (source, destination)) WITHOUT ROWID
      """)
    let rows = try connection.prepareUncached(
      """
      SELECT n.source, n.destination, n.place, f.place, f.source IS NOT NULL FROM (\(pairs.rows)) n
      LEFT JOIN temp.driftless_former f ON f.source = n.source AND f.destination = n.destination
      ORDER BY n.source, n.place, n.destination
      """)
    var source: Int64?
    var members: [Member] = []
    while try rows.step() {
      let next = rows.int64(0)
      if let source, source != next {
        try compareOrder(of: source, members, relationship)
        members = []
      }
      source = next
      members.append(
        (
          rows.int64(1), rows.isNull(2) ? nil : rows.int64(2),
          rows.isNull(3) ? nil : rows.int64(3), rows.int64(4) == 1
        ))
    }
    if let source { try compareOrder(of: source, members, relationship) }
    let wanted = """
      FROM temp.driftless_places p WHERE p.source = "\(pairs.table)"."\(pairs.source)"
      AND p.destination = "\(pairs.table)"."\(pairs.destination)"
      """
    try connection.execute(
      """
      UPDATE main."\(pairs.table)" SET "\(place)" = (SELECT p.place \(wanted))
      WHERE EXISTS (SELECT 1 \(wanted));
      DROP TABLE temp.driftless_places
      """)
  }

  private func compareOrder(
    of source: Int64, _ members: [Member], _ relationship: RelationshipDescription
  ) throws {
    var places = members.map(\.former)
    var moved: [Int: Int64] = [:]
    // Who had no places stood by their keys.
    let isWithoutPlaces =
      members.allSatisfy { $0.isFormer && $0.former == nil }
      && zip(members, members.dropFirst()).allSatisfy { $0.key < $1.key }
    if !isWithoutPlaces { moved = OrderPlaces.changes(places) }
    for (index, place) in moved { places[index] = place }
    for (member, place) in zip(members, places) where member.place != place {
      try connection.run(
        "INSERT INTO temp.driftless_places VALUES (?, ?, ?)", .integer(source),
        .integer(member.key), place.map { .integer($0) } ?? .null)
    }
    let isPair = new.joinTable(for: relationship) != nil
    let recorded = isPair ? relationship : relationship.inverseRelationship
    guard let name = recorded.map(JoinTable.key) else { return }
    // Who is new in the order is a change of its own.
    for index in moved.keys where members[index].isFormer {
      try connection.run(
        "INSERT OR IGNORE INTO temp.driftless_mapped VALUES (?, ?)", .text(name),
        .integer(isPair ? source : members[index].key))
    }
  }
}
