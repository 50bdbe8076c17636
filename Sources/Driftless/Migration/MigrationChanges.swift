import DriftlessSQLite
import Foundation

/// Records what a mapping model changed, made and let go of as one transaction of the history, so that sync and readers
/// of the history learn of it. What was taken over as it is, is no change.
struct MigrationChanges {
  static let author = "migration"

  let keys: MigrationKeys
  let source: PersistentStore
  let connection: SQLiteConnection

  func run() throws {
    try MappedRelationships(keys: keys, connection: connection).run()
    let transaction = try WriteTransaction(
      connection: connection, schema: keys.new, info: TransactionInfo(author: Self.author))
    for (entity, number) in keys.new.numbers {
      guard let match = keys.plan.match(ofDestination: entity) else {
        try recordInserts(of: entity, number, unless: "0", transaction)
        continue
      }
      let offset = keys.offset(of: match.source) ?? 0
      let former = """
        (SELECT Z_PK + \(offset) FROM old."\(keys.old.table(for: match.source).name)"
        WHERE Z_ENT = \(keys.old.entityNumber(of: match.source)))
        """
      try recordInserts(of: entity, number, unless: "Z_PK IN \(former)", transaction)
      try recordUpdates(match, number, offset, transaction)
      try recordDeletes(match, number, offset, transaction)
    }
    let now = Date()
    let last = try transaction.hybridTime(of: transaction.number - 1)
    _ = try transaction.finish(hybridTime: last.next(at: now), now: now)
  }

  private func recordInserts(
    of entity: EntityDescription, _ number: Int32, unless condition: String,
    _ transaction: WriteTransaction
  ) throws {
    let rows = try connection.prepareUncached(
      """
      SELECT Z_PK FROM main."\(keys.new.table(for: entity).name)"
      WHERE Z_ENT = \(number) AND NOT (\(condition)) ORDER BY Z_PK
      """)
    while try rows.step() {
      try transaction.recordInsert(ObjectKey(entity: number, key: rows.int64(0)))
    }
  }

  private func recordUpdates(
    _ match: MigrationPlan.EntityMatch, _ number: Int32, _ offset: Int64,
    _ transaction: WriteTransaction
  ) throws {
    let table = keys.new.table(for: match.destination)
    var slots: [Int] = []
    var values = ""
    var differences: [String] = []
    for value in try MigrationCopy(keys: keys, connection: connection).columnValues(match) {
      // A derived attribute follows, and is no change of its own.
      guard let slot = value.slot,
        !(match.destination.layout.slots[slot].property is DerivedAttributeDescription)
      else { continue }
      values += ", \(value.sql) AS v\(slots.count)"
      differences.append(differs(table, value, slot: slot, match, as: "o.v\(slots.count)"))
      slots.append(slot)
    }
    for slot in match.destination.layout.slots where match.sourceSlots[slot.index] == nil {
      guard let relationship = slot.relationship else { continue }
      if let join = keys.new.joinTable(for: relationship) {
        slots.append(slot.index)
        differences.append(
          "EXISTS (SELECT 1 FROM \(join.rows(in: "main")) j WHERE j.\"\(join.sourceColumn)\" = m.Z_PK)"
        )
      } else if let binding = table.slotBindings(for: match.destination)
        .first(where: { $0.slot == slot.index })
      {
        slots.append(slot.index)
        differences.append("m.\"\(table.columns[binding.column].name)\" IS NOT NULL")
      }
    }
    let relationships = MappedRelationships(keys: keys, connection: connection)
    for slot in match.destination.layout.slots where match.sourceSlots[slot.index] != nil {
      guard let relationship = slot.relationship,
        let isChanged = relationships.isChanged(relationship, in: "m")
      else { continue }
      slots.append(slot.index)
      differences.append(isChanged)
    }
    guard !slots.isEmpty else { return }
    let rows = try connection.prepareUncached(
      """
      SELECT m.Z_PK, \(differences.joined(separator: ", ")) FROM main."\(table.name)" m JOIN
      (SELECT Z_PK + \(offset) AS k\(values) FROM old."\(keys.old.table(for: match.source).name)"
      WHERE Z_ENT = \(keys.old.entityNumber(of: match.source))) o ON o.k = m.Z_PK
      WHERE m.Z_ENT = \(number) AND (\(differences.joined(separator: " OR "))) ORDER BY m.Z_PK
      """)
    while try rows.step() {
      var mask = PropertyMask()
      for (index, slot) in slots.enumerated() where rows.int64(Int32(index + 1)) == 1 {
        mask.insert(slot)
      }
      try transaction.recordUpdate(ObjectKey(entity: number, key: rows.int64(0)), mask)
    }
  }

  /// Large values are the same when their bytes are, wherever they lie.
  private func differs(
    _ table: EntityTable, _ value: MigrationCopy.ColumnValue, slot: Int,
    _ match: MigrationPlan.EntityMatch, as former: String
  ) -> String {
    let column = "m.\"\(table.columns[value.column].name)\""
    guard keys.new.holdsExternalData(slot, of: match.destination) else {
      return "\(column) IS NOT \(former)"
    }
    let read = ExternalData.readFunction
    return "\(read)(\(column)) IS NOT \(read)(\(former))"
  }

  private func recordDeletes(
    _ match: MigrationPlan.EntityMatch, _ number: Int32, _ offset: Int64,
    _ transaction: WriteTransaction
  ) throws {
    let formerNumber = keys.old.entityNumber(of: match.source)
    let rows = try connection.prepareUncached(
      """
      SELECT Z_PK FROM old."\(keys.old.table(for: match.source).name)"
      WHERE Z_ENT = \(formerNumber) AND Z_PK + \(offset) NOT IN
      (SELECT Z_PK FROM main."\(keys.new.table(for: match.destination).name)" WHERE Z_ENT = \(number))
      ORDER BY Z_PK
      """)
    while try rows.step() {
      let key = rows.int64(0)
      guard
        let former = try source.read({ try $0.row(ObjectKey(entity: formerNumber, key: key)) })
      else { continue }
      try transaction.recordDelete(
        ObjectKey(entity: number, key: key + offset), keys.row(former.values, match))
    }
  }
}
