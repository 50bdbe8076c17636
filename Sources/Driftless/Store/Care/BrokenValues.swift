import DriftlessSQLite
import Foundation

/// A column of an object that holds what its property cannot hold, or refers to an object that is not there. No program of the
/// library writes such a one: each shows something else in its place, as near to it as its type allows.
package struct BrokenValue: Sendable {
  package var key: ObjectKey
  package var slot: Int
  /// What is wrong, as the end of a sentence that begins with the property.
  package var breach: String
  /// What lies in the column, for a person.
  package var text: String
  /// What is referred to, or held, and is not there.
  package var nowhere: ObjectKey?
}

extension BrokenValue {
  init(
    _ key: ObjectKey, _ rule: ValueRule, _ breach: ValueRule.Breach, in statement: SQLiteStatement
  ) {
    self.init(
      key: key, slot: rule.step.slot, breach: breach.rawValue,
      text: breach == .encoding
        ? statement.withBytes(rule.step.column) { ReadTransaction.text(bytes: $0.count) }
        : ReadTransaction.text(statement.value(rule.step.column)), nowhere: nil)
  }

  /// One sentence, with the object as people name it.
  package func sentence(
    _ transaction: ReadTransaction
  ) throws -> String {
    let entity = transaction.schema.entity(numbered: key.entity)
    let slots = entity?.layout.slots ?? []
    let name = slots.indices.contains(slot) ? slots[slot].name : "a property"
    let identity = try transaction.identity(of: key).uuidString.lowercased()
    return
      "\(entity?.name ?? "?").\(name) of \(identity) (key \(key.key)) \(breach): its column holds \(text)."
  }

  /// What to do about it, where nobody else has the value.
  package static let advice =
    "Set the property of this object to another value than it shows, or to null, with syncctl import: "
    + "{\"op\":\"update\",\"entity\":…,\"id\":…,\"set\":{…:null}}; "
    + "or take what the zone has, with syncctl verify --repair."
}

extension ReadTransaction {
  /// The row of an object, with what its columns hold that cannot be read; where values lie in files that cannot be read, null.
  package func rowWithBreaches(_ key: ObjectKey) throws -> (row: Row, broken: [BrokenValue])? {
    var found: (row: Row, broken: [BrokenValue])?
    _ = try withRow(key) { reader in
      let values = try reader.knownValues()
      found = (
        Row(
          key: reader.key, version: reader.version, values: values, lost: reader.lost(of: values)),
        reader.unreadableValues()
      )
    }
    return found
  }

  /// Hands over each value of the store that cannot be read.
  package func forEachUnreadableValue(_ body: (BrokenValue) throws -> Void) throws {
    for table in schema.tables {
      _ = try ValueRule.forEachBreach(of: table, self) { statement, rule, breach in
        guard breach != .range else { return }
        try body(BrokenValue(statement.objectKey(1, 0), rule, breach, in: statement))
      }
    }
  }
}

extension ReadTransaction {
  /// Hands over each broken value of the store.
  package func forEachBrokenValue(_ body: (BrokenValue) throws -> Void) throws {
    for table in schema.tables {
      _ = try ValueRule.forEachBreach(of: table, self) { statement, rule, breach in
        try body(BrokenValue(statement.objectKey(1, 0), rule, breach, in: statement))
      }
      for entity in table.entities {
        for case let relationship as RelationshipDescription in entity.ownProperties {
          if relationship.isToMany {
            try forEachNowhere(heldBy: relationship, table, body)
          } else {
            try forEachNowhere(relationship, table, body)
          }
        }
      }
    }
  }

  /// References of a relationship to objects that are not there.
  private func forEachNowhere(
    _ relationship: RelationshipDescription, _ table: EntityTable,
    _ body: (BrokenValue) throws -> Void
  ) throws {
    guard let destination = relationship.destinationEntity, let binding = binding(of: relationship)
    else { return }
    let column = table.columns[binding.column].name
    var condition = ""
    if relationship.inverseRelationship.map({ $0.deleteRule == .noAction }) ?? true {
      // A delete leaves it as it was: one to what is gone is as it should be.
      let root = schema.entityNumber(of: destination.rootEntity)
      let last = try PrimaryKeyTable.lastKey(of: Int64(root), on: connection)
      condition = "AND s.\"\(column)\" > \(last)"
    }
    let statement = try connection.prepareUncached(
      """
      SELECT s.Z_PK, s.Z_ENT, s."\(column)" FROM "\(table.name)" s
      WHERE typeof(s."\(column)") = 'integer' AND s."\(column)" > 0 \(condition) AND NOT EXISTS
      (SELECT 1 FROM "\(schema.tableName(of: destination))" d WHERE d.Z_PK = s."\(column)")
      """)
    try tell(statement, relationship, "refers to an object that is not there", body)
  }

  /// What objects hold, and is not there. Where there is no inverse, a replica keeps what was deleted for when it comes back.
  private func forEachNowhere(
    heldBy relationship: RelationshipDescription, _ table: EntityTable,
    _ body: (BrokenValue) throws -> Void
  ) throws {
    guard relationship.inverseRelationship != nil, let destination = relationship.destinationEntity,
      let join = schema.joinTable(for: relationship), join.held == nil
    else { return }
    let statement = try connection.prepareUncached(
      """
      SELECT s.Z_PK, s.Z_ENT, j."\(join.destinationColumn)" FROM "\(join.name)" j
      JOIN "\(table.name)" s ON s.Z_PK = j."\(join.sourceColumn)" WHERE NOT EXISTS
      (SELECT 1 FROM "\(schema.tableName(of: destination))" d
      WHERE d.Z_PK = j."\(join.destinationColumn)")
      """)
    try tell(statement, relationship, "holds an object that is not there", body)
  }

  /// - Parameter statement: gives key and entity of an object, and the key of what is not there.
  private func tell(
    _ statement: SQLiteStatement, _ relationship: RelationshipDescription, _ breach: String,
    _ body: (BrokenValue) throws -> Void
  ) throws {
    let target = relationship.destinationEntity.map(schema.entityNumber(of:)) ?? 0
    while try statement.step() {
      let key = statement.objectKey(1, 0)
      guard let slot = schema.entity(numbered: key.entity)?.layout.index(named: relationship.name)
      else { continue }
      try body(
        BrokenValue(
          key: key, slot: slot, breach: breach, text: "row \(statement.int64(2))",
          nowhere: ObjectKey(entity: target, key: statement.int64(2))))
    }
  }

  /// Characters of a text that are told.
  private static let charactersMax = 200

  fileprivate static func text(_ value: SQLiteValue) -> String {
    switch value {
    case .null: "null"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text):
      text.count > charactersMax ? "\"\(text.prefix(charactersMax))…\"" : "\"\(text)\""
    case .blob(let bytes): text(bytes: bytes.count)
    }
  }

  fileprivate static func text(bytes count: Int) -> String {
    "\(count) byte\(count == 1 ? "" : "s")"
  }
}
