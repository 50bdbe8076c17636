import DriftlessSQLite

/// The columns of one uniqueness constraint as an entity's rows have them, and how to look a row up by them.
struct UniqueColumns: Sendable {
  /// The entity that declares the constraint, and its properties.
  let name: String
  /// The constrained properties, in the constraint's order.
  let properties: [String]
  /// Their places in the entity's layout.
  let slots: [Int]
  /// One more than the last of them.
  private let slotEnd: Int
  private let steps: [RowProgram.Step]
  private let findSQL: String
  private let table: String
  /// Of the slots.
  private let columns: [String]

  /// Those of the entity and all above it, and those of entities below it that its rows fall under as well: a table's
  /// unique index asks for no entity.
  static func all(of program: RowProgram) -> [UniqueColumns] {
    var family: [EntityDescription] = []
    var above = program.entity.superentity
    while let entity = above {
      family.append(entity)
      above = entity.superentity
    }
    family.reverse()
    return (family + program.entity.selfAndDescendants).flatMap { entity in
      entity.uniquenessConstraints.compactMap { UniqueColumns($0, of: entity, program) }
    }
  }

  private init?(_ names: [String], of entity: EntityDescription, _ program: RowProgram) {
    let slots = names.compactMap(program.entity.layout.index(named:))
    let places = slots.map { program.stepOfSlot[$0] }.filter { $0 >= 0 }
    guard !places.isEmpty, places.count == names.count else { return nil }
    name = entity.name + "." + names.joined(separator: ",")
    properties = names
    self.slots = slots
    slotEnd = (slots.max() ?? -1) + 1
    steps = places.map { program.steps[$0] }
    table = program.table.name
    columns = steps.map { program.table.columns[Int($0.column) - 3].name }
    findSQL =
      "SELECT Z_PK, Z_ENT FROM \"\(program.table.name)\" WHERE "
      + columns.map { "\"\($0)\" = ?" }.joined(separator: " AND ")
  }

  /// The constrained values among those of a row; nil when one is null, which is like no other, and for a row of another
  /// entity, which has not all of them.
  func values(_ row: ValueRow) -> [PropertyValue]? {
    guard row.count >= slotEnd else { return nil }
    var values: [PropertyValue] = []
    for slot in slots {
      if row[slot].isNull { return nil }
      values.append(row[slot])
    }
    return values
  }

  /// The row with these values, which are none of them null.
  func row(with values: [PropertyValue], _ transaction: ReadTransaction) throws -> ObjectKey? {
    let statement = try transaction.connection.prepare(findSQL)
    defer { statement.reset() }
    for (index, value) in values.enumerated() {
      RowBinder.write(value, to: SQLiteParameter(statement, Int32(index + 1)))
    }
    guard try statement.step() else { return nil }
    return statement.objectKey(1, 0)
  }

  /// The row that has the same constrained values as this one.
  func row(
    with row: ValueRow, _ transaction: ReadTransaction
  ) throws -> ObjectKey? {
    try values(row).flatMap { try self.row(with: $0, transaction) }
  }

  /// Takes values out of a row for a moment, so that another row can take them before this one is written.
  ///
  /// - Parameter changing: The slots that are written when the row is. The others of the constraint keep their values: nobody
  ///   would write them, and one null is enough for a key to be none.
  func vacate(
    _ key: ObjectKey, version: Int64, changing: PropertyMask, _ transaction: WriteTransaction
  ) throws {
    let changed = zip(slots, columns).filter { changing.contains($0.0) }.map(\.1)
    guard !changed.isEmpty else { return }
    let nulls = changed.map { "\"\($0)\" = NULL" }.joined(separator: ", ")
    let statement = try transaction.connection.prepare(
      "UPDATE \"\(table)\" SET \(nulls) WHERE Z_PK = ? AND Z_ENT = ? AND Z_OPT = ?")
    statement.bind(key.key, at: 1)
    // The constraint is of all of a hierarchy's entities below its own.
    statement.bind(Int64(key.entity), at: 2)
    statement.bind(version, at: 3)
    try statement.run()
  }
}
