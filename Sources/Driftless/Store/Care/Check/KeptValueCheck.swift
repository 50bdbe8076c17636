package import DriftlessSQLite
import Foundation

/// What is kept for sync of single objects: `ZDL_GRAVE`, the rows of deleted ones; `ZDL_BASE`, values before the first
/// local change; and `ZDL_FORMER`, the entities of deleted ones.
struct KeptValueCheck: TableCheck {
  let tables = ["ZDL_GRAVE", "ZDL_BASE", "ZDL_FORMER"]

  private static let suggestion =
    "Sync the store; when it stays, keep a copy and run syncctl enroll --anew: what is pending goes on from its rows."

  func check(_ inspection: StoreInspection) throws {
    let object = inspection.objectRule()
    let newest = try inspection.transaction.maximumTransactionNumber()
    try inspection.check(
      "ZDL_GRAVE", key: ["entity", "key"],
      [object, .integer("transaction_number", 1...max(1, newest))] + Graves.rules,
      suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_BASE", key: ["entity", "key", "property"],
      [object] + BaseValues.rules, suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_FORMER", key: ["entity", "key"], [object], suggestion: Self.suggestion)
    try checkGraves(inspection)
    try checkBases(inspection)
  }

  private func checkGraves(_ inspection: StoreInspection) throws {
    try inspection.report(
      rowsOf: """
        SELECT \(StoreInspection.name(["entity", "key"])) FROM ZDL_GRAVE
        WHERE \(inspection.exists("entity", "key"))
        """, in: "ZDL_GRAVE", "the object is there", .disagreement, suggestion: Self.suggestion)
    try inspection.checkArchives("ZDL_GRAVE", "row", key: ["entity", "key"]) { values, row in
      let entity = inspection.schema.entity(numbered: row.entityNumber(1))
      guard let slots = entity?.layout.slots else { return nil }
      guard values.count == slots.count else { return "has other properties than its entity" }
      return zip(values, slots).allSatisfy { $0.fits($1) }
        ? nil : "holds a value of another type than its property"
    }
  }

  private func checkBases(_ inspection: StoreInspection) throws {
    try inspection.checkArchives(
      "ZDL_BASE", "value", key: ["entity", "key", "property"]
    ) { values, row in
      guard let entity = inspection.schema.entity(numbered: row.entityNumber(1)) else { return nil }
      // None where it is not known what the zone has.
      guard !values.isEmpty else { return nil }
      return inspection.breach(of: values, in: entity, property: row.string(3))
    }
  }
}

extension StoreInspection {
  /// Reads a column of archived values, row by row.
  ///
  /// - Parameters:
  ///   - key: the columns that name a row; they come after the bytes.
  ///   - rule: what is wrong with the values, or nil.
  package func checkArchives(
    _ table: String, _ column: String, key: [String],
    suggestion: String = StoreInspection.restore,
    _ rule: ([PropertyValue], SQLiteStatement) throws -> String?
  ) throws {
    let statement = try connection.prepareUncached(
      """
      SELECT "\(column)", \(key.map { "\"\($0)\"" }.joined(separator: ", ")),
      \(Self.name(key)) FROM "\(table)" WHERE typeof("\(column)") = 'blob'
      """)
    var tallies: [String: Tally] = [:]
    while try statement.step() {
      let breach: String?
      if let values = try? RowArchive.decodeValues(statement.data(0)) {
        breach = try rule(values, statement)
      } else {
        breach = "cannot be read"
      }
      guard let breach else { continue }
      tallies[breach, default: Tally()].add(statement.string(Int32(key.count + 1)))
    }
    for (breach, tally) in tallies.sorted(by: { $0.key < $1.key }) {
      report(tally, in: table, "its \(column) \(breach)", suggestion: suggestion)
    }
  }

  /// What is wrong with the values that are kept of a property of an entity: one value, a place, or a whole set. Nil when
  /// nothing is.
  package func breach(
    of values: [PropertyValue], in entity: EntityDescription, property name: String
  ) -> String? {
    let named = entity.layout.index(named: name).map { entity.layout.slots[$0] }
    let isOffered = entity.layout.slots.first { $0.isToMany && OfferName.of($0.name) == name }
    if let slot = named ?? isOffered {
      if slot.isToMany {
        return values.allSatisfy { $0.fits(slot) } ? nil : "holds something else than objects"
      }
      guard values.count == 1 else { return "is not one value" }
      return values[0].fits(slot) ? nil : "is of another type than its property"
    }
    let isPlace = entity.layout.slots.contains {
      $0.relationship != nil && PlaceName.of($0.name) == name
    }
    guard isPlace else { return "is of no property of \(entity.name)" }
    guard values.count == 1 else { return "is not one value" }
    switch values[0] {
    case .integer, .null: return nil
    default: return "is no place"
    }
  }
}

extension PropertyValue {
  /// Whether a property may have the value, by its type.
  package func fits(_ slot: PropertySlot) -> Bool {
    guard case .attribute(_, let type) = slot.kind else {
      if case .reference = self { return true }
      return isNull
    }
    return type.holds(self)
  }
}

extension AttributeType {
  /// Whether an attribute of this type may have the value.
  package func holds(_ value: PropertyValue) -> Bool {
    switch (value, self) {
    case (.null, _), (_, .undefined), (_, .objectID), (_, .composite): true
    case (.bool, .boolean), (.double, .double), (.double, .float), (.decimal, .decimal),
      (.string, .string), (.date, .date), (.uuid, .uuid), (.uri, .uri), (.data, .binaryData),
      (.data, .transformable), (.integer, .integer16), (.integer, .integer32),
      (.integer, .integer64):
      true
    default: false
    }
  }
}
