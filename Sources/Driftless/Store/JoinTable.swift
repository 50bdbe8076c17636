/// The pairs of a to-many relationship that no to-one relationship keeps, seen from one of its two sides: a table of their own,
/// or columns in the destination's table (``HeldColumns``), which a view shows as if they were one.
package struct JoinTable: Hashable, Sendable {
  package let name: String
  package let sourceColumn: String
  package let destinationColumn: String
  /// The place of the destination among those of the source, when the relationship is ordered.
  package let destinationOrderColumn: String?
  /// The place of the source among those of the destination, when the inverse is ordered.
  package let sourceOrderColumn: String?
  /// A relationship that is its own inverse: both directions are rows.
  package let isSymmetric: Bool
  /// The columns that the pairs are; nil for a table.
  package let held: HeldColumns?

  private init(held: HeldColumns) {
    name = held.view
    sourceColumn = HeldColumns.sourceColumn
    destinationColumn = HeldColumns.destinationColumn
    destinationOrderColumn = held.order == nil ? nil : HeldColumns.orderColumn
    sourceOrderColumn = nil
    isSymmetric = false
    self.held = held
  }

  private init(
    _ relationship: RelationshipDescription, _ numbers: [String: Int32],
    _ present: PresentTables?, _ used: inout [String: Int]
  ) {
    let source = numbers[relationship.entity?.name ?? ""] ?? 0
    let inverse = relationship.inverseRelationship
    let destination =
      numbers[(inverse?.entity ?? relationship.destinationEntity)?.name ?? ""] ?? 0
    let name = relationship.name.uppercased()
    let isSymmetric = inverse === relationship
    self.isSymmetric = isSymmetric
    held = nil
    let inverseName = inverse?.name.uppercased() ?? name + "SOURCE"
    let mine = "Z_\(source)\(inverseName)"
    let theirs = isSymmetric ? "REFLEXIVE" : "Z_\(destination)\(name)"
    // The side whose column sorts first as text names the table. In files of before 2018 it is the entity with the
    // smaller number: where one rule finds no table, the other does.
    let (byMine, byTheirs) = ("Z_\(source)\(name)", "Z_\(destination)\(inverseName)")
    let isMine = inverse == nil || isSymmetric || mine < theirs
    let (modern, former) = isMine ? (byMine, byTheirs) : (byTheirs, byMine)
    let table = present.map { !$0.has(modern) && $0.has(former) ? former : modern } ?? modern
    self.name = table
    // A column of a name that another join table has gets a digit; what digit, the file tells.
    func column(_ base: String) -> String {
      if let present { return present.numbered(base, in: table) }
      defer { used[base, default: 0] += 1 }
      return used[base].map { "\(base)\($0)" } ?? base
    }
    func order(_ column: String, _ base: String) -> String {
      let names = ["Z_FOK_" + column.dropFirst(2), "Z_FOK_" + base.dropFirst(2)]
      return present.map { $0.column(names[0], names[1], in: table) } ?? names[0]
    }
    let first = column(isMine ? mine : theirs)
    let second = isSymmetric ? theirs : column(isMine ? theirs : mine)
    let (from, to) = isMine ? (first, second) : (second, first)
    (sourceColumn, destinationColumn) = (from, to)
    let base = "Z_\(destination)\(name)"
    destinationOrderColumn =
      relationship.isOrdered ? order(isSymmetric ? base : to, base) : nil
    let isOther = inverse?.isOrdered == true && !isSymmetric
    sourceOrderColumn = isOther ? order(from, mine) : nil
  }

  /// The same table, seen from the other side.
  private init(reversing other: JoinTable) {
    name = other.name
    sourceColumn = other.destinationColumn
    destinationColumn = other.sourceColumn
    destinationOrderColumn = other.sourceOrderColumn
    sourceOrderColumn = other.destinationOrderColumn
    isSymmetric = other.isSymmetric
    held = other.held
  }

  /// Those of all relationships that have one, by `ENTITY.RELATIONSHIP`.
  ///
  /// - Parameters:
  ///   - present: The tables of an existing file, which decide; nil for a fresh one.
  ///   - holdsInColumns: Whether a relationship without inverse is columns in a fresh file; else it has a table, where
  ///     several objects may hold one.
  static func all(
    of members: [EntityDescription], _ numbers: [String: Int32], _ present: PresentTables?,
    holdsInColumns: (RelationshipDescription) -> Bool
  ) -> [String: JoinTable] {
    var tables: [String: JoinTable] = [:]
    var used: [String: Int] = [:]
    for entity in members.sorted(by: { numbers[$0.name] ?? 0 < numbers[$1.name] ?? 0 }) {
      let relationships = entity.ownProperties.compactMap { $0 as? RelationshipDescription }
      for relationship in relationships.sorted(by: { $0.name < $1.name })
      where relationship.usesJoinTable && tables[key(relationship)] == nil {
        if let held = held(relationship, entity, numbers, present, holdsInColumns) {
          tables[key(relationship)] = JoinTable(held: held)
          continue
        }
        let table = JoinTable(relationship, numbers, present, &used)
        tables[key(relationship)] = table
        if let inverse = relationship.inverseRelationship, inverse !== relationship {
          tables[key(inverse)] = JoinTable(reversing: table)
        }
      }
    }
    return tables
  }

  static func key(_ relationship: RelationshipDescription) -> String {
    "\(relationship.entity?.name ?? "").\(relationship.name)"
  }

  private static func held(
    _ relationship: RelationshipDescription, _ entity: EntityDescription,
    _ numbers: [String: Int32], _ present: PresentTables?,
    _ holdsInColumns: (RelationshipDescription) -> Bool
  ) -> HeldColumns? {
    guard relationship.inverseRelationship == nil, !relationship.isTransient,
      let destination = relationship.destinationEntity, numbers[destination.name] != nil,
      numbers[destination.rootEntity.name] != nil
    else { return nil }
    if let present {
      // What an earlier version made has a table of its own.
      let name = HeldColumns.name(relationship, entity, numbers)
      let isTable =
        present.has("Z_" + name)
        && !present.has("Z" + name, in: HeldColumns.table(of: destination))
      if isTable { return nil }
    } else if !holdsInColumns(relationship) {
      return nil
    }
    return HeldColumns(relationship, from: entity, to: destination, numbers, present)
  }

  /// The pairs in a database that is attached, as a table of a query.
  func rows(in database: String) -> String {
    held?.rows(in: database) ?? "\(database).\"\(name)\""
  }

  /// What makes it, the same from both sides. Columns of another table are made with that.
  var definition: [String] {
    guard held == nil else { return [] }
    let columns = [sourceColumn, destinationColumn].sorted()
    let orders = [destinationOrderColumn, sourceOrderColumn].compactMap { $0 }.sorted()
    let list = (columns + orders).map { "\"\($0)\" INTEGER" }.joined(separator: ", ")
    return [
      "CREATE TABLE \"\(name)\" (\(list), PRIMARY KEY (\"\(columns[0])\", \"\(columns[1])\"))",
      "CREATE INDEX \"\(name)_\(columns[1])_INDEX\" ON \"\(name)\" (\"\(columns[1])\", \"\(columns[0])\")",
    ]
  }
}
