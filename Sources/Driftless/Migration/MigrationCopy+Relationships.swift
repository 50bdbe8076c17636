import DriftlessSQLite

/// Relationships that are kept in another form than before, and join tables.
extension MigrationCopy {
  /// Fills a join table, or the keys of a relationship that were none, or were at the other end.
  func copyPairs(_ relationship: RelationshipDescription) throws {
    let formers = plan.formers(of: relationship)
    if let join = new.joinTable(for: relationship) {
      guard let pairs = pairs(of: formers, as: relationship) else { return }
      return try fill(join, of: relationship, from: pairs, formers)
    }
    // Those that were to-one have their keys from the rows.
    if !relationship.isToMany,
      let pairs = pairs(of: formers.filter(\.isToMany), as: relationship)
    {
      try fillKeys(of: relationship, from: pairs, at: ("source", "destination"), relationship)
    }
    // The other end has keys. Where it was there, it has them from the rows, unless each end was for itself.
    guard let inverse = relationship.inverseRelationship, inverse !== relationship,
      !inverse.isToMany,
      let pairs = pairs(
        of: isOneFact(formers, plan.formers(of: inverse)) ? [] : formers, as: relationship)
    else { return }
    try fillKeys(of: inverse, from: pairs, at: ("destination", "source"), relationship)
  }

  /// Whether what relationships were at one end is what they were at the other.
  private func isOneFact(
    _ formers: [RelationshipDescription], _ others: [RelationshipDescription]
  ) -> Bool {
    formers.allSatisfy { former in
      former.inverseRelationship.map { inverse in others.contains { $0 === inverse } } ?? false
    }
  }

  private func fill(
    _ join: JoinTable, of relationship: RelationshipDescription, from pairs: String,
    _ formers: [RelationshipDescription]
  ) throws {
    // Both ends of a relationship have it: it is filled from the one that comes first.
    if let inverse = relationship.inverseRelationship, inverse !== relationship, inverse.isToMany,
      isOneFact(formers, plan.formers(of: inverse)),
      (inverse.entity?.name ?? "", inverse.name)
        < (relationship.entity?.name ?? "", relationship.name)
    {
      return
    }
    let present =
      "SELECT * FROM (\(pairs)) WHERE source IS NOT NULL AND destination IS NOT NULL"
    if join.held != nil { try checkHolders(in: present, of: relationship) }
    var columns = "\"\(join.sourceColumn)\", \"\(join.destinationColumn)\""
    var values = "source, destination"
    if let order = join.destinationOrderColumn {
      columns += ", \"\(order)\""
      values += ", COALESCE(place, destination * 1024)"
    }
    if let order = join.sourceOrderColumn {
      columns += ", \"\(order)\""
      values += ", COALESCE(otherPlace, source * 1024)"
    }
    try connection.execute(
      """
      INSERT OR IGNORE INTO \(join.held == nil ? "main." : "")"\(join.name)" (\(columns))
      SELECT \(values) FROM (\(present))
      """)
  }

  /// Columns name one object that holds another: that others hold it as well would be lost without a word.
  private func checkHolders(in pairs: String, of relationship: RelationshipDescription) throws {
    let several = try connection.scalar(
      """
      SELECT destination FROM (\(pairs)) GROUP BY destination
      HAVING COUNT(DISTINCT source) > 1 LIMIT 1
      """)
    guard several != nil else { return }
    throw MigrationPlan.severalHolders(in: relationship)
  }

  /// Writes the key columns of a to-one relationship.
  ///
  /// - Parameters:
  ///   - ends: which of a pair is the owner's key, and which the other's.
  ///   - former: the relationship that had the pairs, as messages name it.
  private func fillKeys(
    of relationship: RelationshipDescription, from pairs: String,
    at ends: (owner: String, other: String), _ former: RelationshipDescription
  ) throws {
    guard let entity = relationship.entity, let destination = relationship.destinationEntity,
      let slot = entity.layout.index(named: relationship.name)
    else { return }
    let table = new.table(for: entity)
    guard let binding = table.slotBindings(for: entity).first(where: { $0.slot == slot }) else {
      return
    }
    try connection.execute(
      """
      DROP TABLE IF EXISTS temp.driftless_pairs;
      CREATE TEMP TABLE driftless_pairs AS SELECT \(ends.owner) AS owner, \(ends.other) AS other
      FROM (\(pairs)) WHERE source IS NOT NULL AND destination IS NOT NULL;
      CREATE INDEX temp.driftless_pairs_owner ON driftless_pairs (owner, other)
      """)
    let several = try connection.scalar(
      "SELECT owner FROM temp.driftless_pairs GROUP BY owner HAVING COUNT(*) > 1 LIMIT 1")
    guard several == nil else {
      throw MigrationPlan.refusal(
        former === relationship
          ? "objects have several at the end of \(entity.name).\(relationship.name), which is to-one now"
          : "several objects share one at the end of \(former.entity?.name ?? "").\(former.name)",
        former === relationship
          ? "Keep it to-many, or let each object keep one before the migration."
          : "Make its inverse to-many too.")
    }
    if former !== relationship {
      try checkKeys(of: table.columns[binding.column].name, in: table.name, relationship, former)
    }
    let other = "(SELECT other FROM temp.driftless_pairs WHERE owner = Z_PK)"
    func name(_ column: Int) -> String { "\"\(table.columns[column].name)\"" }
    var assignments = ["\(name(binding.column)) = \(other)"]
    if let column = binding.entityColumn {
      assignments.append(
        """
        \(name(column)) = (SELECT d.Z_ENT FROM main."\(new.table(for: destination).name)" d
        WHERE d.Z_PK = \(other))
        """)
    }
    if let column = binding.orderColumn {
      assignments.append("\(name(column)) = \(newPlace("Z_PK"))")
    }
    try connection.execute(
      """
      UPDATE main."\(table.name)" SET \(assignments.joined(separator: ", "))
      WHERE Z_PK IN (SELECT owner FROM temp.driftless_pairs);
      DROP TABLE temp.driftless_pairs
      """)
  }

  /// Two relationships that were each for itself become the two ends of one: what they say of an object must be the same.
  private func checkKeys(
    of column: String, in table: String, _ relationship: RelationshipDescription,
    _ former: RelationshipDescription
  ) throws {
    let different = try connection.scalar(
      """
      SELECT 1 FROM main."\(table)" JOIN temp.driftless_pairs ON owner = Z_PK
      WHERE "\(column)" <> other LIMIT 1
      """)
    guard different != nil else { return }
    throw MigrationPlan.refusal(
      "\(JoinTable.key(relationship)) and \(JoinTable.key(former)) say different things of objects, and become one",
      "Make them the same before the migration, or keep them apart.")
  }

  /// The pairs of what a relationship was, in several places if need be; nil for none.
  func pairs(
    of formers: [RelationshipDescription], as present: RelationshipDescription
  ) -> String? {
    let pairs = formers.compactMap { self.pairs(of: $0, as: present) }
    return pairs.isEmpty ? nil : pairs.joined(separator: "\nUNION ALL\n")
  }

  /// The pairs of a relationship as the old store has them, with the keys of the new one: `source`, `destination`,
  /// `place`, `otherPlace`. Keys of objects that are gone are null.
  private func pairs(
    of relationship: RelationshipDescription, as present: RelationshipDescription
  ) -> String? {
    guard let owner = relationship.entity,
      let target = relationship.destinationEntity, let presentOwner = present.entity,
      let presentTarget = present.destinationEntity
    else { return nil }
    func column(_ name: String?, _ alias: String) -> String {
      "\(name.map { "\"\($0)\"" } ?? "NULL") AS \(alias)"
    }
    func row(_ key: String, _ entity: EntityDescription) -> String {
      "(SELECT t.Z_ENT FROM old.\"\(old.table(for: entity).name)\" t WHERE t.Z_PK = \(key))"
    }
    if let join = old.joinTable(for: relationship) {
      let (from, to) = ("\"\(join.sourceColumn)\"", "\"\(join.destinationColumn)\"")
      let source = keys.sql(from, entity: row(from, owner), of: owner, as: presentOwner)
      let destination = keys.sql(to, entity: row(to, target), of: target, as: presentTarget)
      return """
        SELECT \(source) AS source, \(destination) AS destination,
        \(column(join.destinationOrderColumn, "place")),
        \(column(join.sourceOrderColumn, "otherPlace")) FROM \(join.rows(in: "old"))
        """
    }
    let isOwn = !relationship.isToMany
    guard let keyed = isOwn ? relationship : relationship.inverseRelationship,
      let entity = isOwn ? owner : keyed.entity,
      let index = entity.layout.index(named: keyed.name)
    else { return nil }
    let table = old.table(for: entity)
    guard let binding = table.slotBindings(for: entity).first(where: { $0.slot == index }) else {
      return nil
    }
    let key = "\"\(table.columns[binding.column].name)\""
    let order = binding.orderColumn.map { table.columns[$0].name }
    let (keyOwner, keyTarget) = isOwn ? (owner, target) : (target, owner)
    let (asOwner, asTarget) =
      isOwn ? (presentOwner, presentTarget) : (presentTarget, presentOwner)
    let mine = keys.sql("Z_PK", entity: "Z_ENT", of: keyOwner, as: asOwner)
    let entityOfKey =
      binding.entityColumn.map { "\"\(table.columns[$0].name)\"" } ?? row(key, keyTarget)
    let theirs = keys.sql(key, entity: entityOfKey, of: keyTarget, as: asTarget)
    return """
      SELECT \(isOwn ? mine : theirs) AS source, \(isOwn ? theirs : mine) AS destination,
      \(column(isOwn ? nil : order, "place")), \(column(isOwn ? order : nil, "otherPlace"))
      FROM old."\(table.name)" WHERE \(key) IS NOT NULL
      """
  }
}
