/// A to-many relationship that has no inverse, as Core Data keeps it: each object at its end says in a column which object holds
/// it. So one holds it at most.
package struct HeldColumns: Hashable, Sendable {
  /// The table of the objects that are held.
  let table: String
  /// The key of the object that holds.
  let key: String
  /// The entity of the object that holds, where it may be of several.
  let entity: String?
  /// The place among those that are held, where the relationship is ordered.
  let order: String?
  /// The table of the objects that hold.
  let source: String

  init(
    _ relationship: RelationshipDescription, from entity: EntityDescription,
    to destination: EntityDescription, _ numbers: [String: Int32], _ present: PresentTables?
  ) {
    table = Self.table(of: destination)
    let name = Self.name(relationship, entity, numbers)
    key = "Z" + name
    source = Self.table(of: entity)
    let byRoot = "Z\(numbers[entity.rootEntity.name] ?? 0)_" + name
    let hasEntity = present.map { $0.has(byRoot, in: Self.table(of: destination)) }
    self.entity = hasEntity ?? !entity.subentities.isEmpty ? byRoot : nil
    order = relationship.isOrdered ? "Z_FOK_" + name : nil
  }

  static func table(of entity: EntityDescription) -> String {
    "Z" + entity.rootEntity.name.uppercased()
  }

  /// The column of the key without its first letter.
  static func name(
    _ relationship: RelationshipDescription, _ entity: EntityDescription,
    _ numbers: [String: Int32]
  ) -> String {
    "\(numbers[entity.name] ?? 0)" + relationship.name.uppercased()
  }

  var columns: [(name: String, kind: EntityTable.Column.Kind)] {
    [(key, .reference)] + (entity.map { [($0, .referenceEntity)] } ?? [])
      + (order.map { [($0, .order)] } ?? [])
  }
}

/// The columns as if they were a join table: a view of one connection, through which pairs are read and written.
extension HeldColumns {
  static let sourceColumn = "source"
  static let destinationColumn = "destination"
  static let orderColumn = "place"

  var view: String { "driftless_\(table)_\(key)" }

  /// The pairs of a database that is attached.
  func rows(in database: String) -> String {
    let place = order.map { ", \"\($0)\" AS \(Self.orderColumn)" } ?? ""
    return """
      (SELECT "\(key)" AS \(Self.sourceColumn), Z_PK AS \(Self.destinationColumn)\(place)
      FROM \(database)."\(table)" WHERE "\(key)" IS NOT NULL)
      """
  }

  /// What makes the view, and lets it be written.
  var statements: [String] {
    func trigger(_ event: String, _ assignments: [String], _ condition: String) -> String {
      let name = "\(view)_\(event.prefix { $0 != " " })"
      return """
        CREATE TEMP TRIGGER IF NOT EXISTS "\(name)" INSTEAD OF \(event) ON "\(view)" BEGIN
        UPDATE "\(table)" SET \(assignments.joined(separator: ", ")) WHERE \(condition); END
        """
    }
    let entityOfSource = "(SELECT Z_ENT FROM \"\(source)\" WHERE Z_PK = NEW.source)"
    let columns = [key, entity, order].compactMap { $0 }
    var statements = [
      "CREATE TEMP VIEW IF NOT EXISTS \"\(view)\" AS SELECT * FROM \(rows(in: "main"))",
      trigger(
        "INSERT",
        ["\"\(key)\" = NEW.source"] + (entity.map { ["\"\($0)\" = \(entityOfSource)"] } ?? [])
          + (order.map { ["\"\($0)\" = NEW.place"] } ?? []),
        "Z_PK = NEW.destination AND \"\(key)\" IS NOT NEW.source"),
      trigger(
        "DELETE", columns.map { "\"\($0)\" = NULL" },
        "Z_PK = OLD.destination AND \"\(key)\" = OLD.source"),
    ]
    if let order {
      statements.append(
        trigger("UPDATE", ["\"\(order)\" = NEW.place"], "Z_PK = OLD.destination"))
    }
    return statements
  }
}
