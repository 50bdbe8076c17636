import Driftless
import DriftlessSQLite
import Foundation

/// Values of the zone that are kept beside the rows: `ZDL_ZONE`, of what is pending; `ZDL_KEPT`, what waits for a unique
/// key; `ZDL_LACKED`, what is empty; `ZDL_DANGLING`, references to deleted objects.
struct ZoneValueCheck: EngineCheck {
  let tables = ["ZDL_ZONE", "ZDL_KEPT", "ZDL_LACKED", "ZDL_DANGLING"]

  private static let suggestion =
    "Keep a copy of the file; then run syncctl enroll --anew: what the zone has comes anew."

  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    let object = inspection.objectRule()
    let key = ["entity", "key", "property"]
    try inspection.check(
      "ZDL_ZONE", key: key, [object] + ZoneStates.rules, suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_KEPT", key: key, [object] + KeptKeys.rules, suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_LACKED", key: key, [object] + LackedValues.rules, suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_DANGLING", key: ["target_root", "target_key"] + key,
      [object, inspection.rootRule("target_root", "target_key")] + DanglingReferences.rules,
      suggestion: Self.suggestion)
    try inspection.checkProperties(of: "ZDL_DANGLING", schema, suggestion: Self.suggestion)
    try inspection.checkProperties(
      of: "ZDL_ZONE", schema, orObject: true, suggestion: Self.suggestion)
    try inspection.checkProperties(of: "ZDL_KEPT", schema, suggestion: Self.suggestion)
    try checkValues(inspection, schema)
    try checkKept(inspection)
  }

  /// A value that waits for its key is not in the row, unless an edit, which keeps what was before it, was made over it since;
  /// where the object is gone, its row is kept.
  private func checkKept(_ inspection: StoreInspection) throws {
    let transaction = inspection.transaction
    var (shown, lost) = (StoreInspection.Tally(), StoreInspection.Tally())
    try inspection.connection.forEachRow("SELECT entity, key, property FROM ZDL_KEPT") { row in
      let key = row.objectKey(0, 1)
      let name = "entity \(key.entity), key \(key.key)"
      guard
        let slot = inspection.schema.entity(numbered: key.entity)?.layout
          .index(named: row.string(2))
      else { return }
      if let values = try transaction.knownRow(key)?.values {
        let isEdited = try BaseValues.isKept(
          of: key, row.string(2), on: inspection.connection)
        if !values[slot].isNull, !isEdited { shown.add(name) }
      } else if try inspection.connection.number(
        "SELECT EXISTS (SELECT 1 FROM ZDL_GRAVE WHERE entity = ? AND key = ?)",
        [.integer(Int64(key.entity)), .integer(key.key)]) == 0
      {
        lost.add(name)
      }
    }
    inspection.report(
      shown, in: "ZDL_KEPT", "a value waits for its key, and the row has one", .disagreement,
      suggestion: Self.suggestion)
    inspection.report(
      lost, in: "ZDL_KEPT", "a value waits for its key, and there is no object", .disagreement,
      suggestion: Self.suggestion)
  }

  private func checkValues(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    let key = ["entity", "key", "property"]
    try inspection.checkArchives("ZDL_KEPT", "value", key: key, suggestion: Self.suggestion) {
      values, row in
      guard let entity = inspection.schema.entity(numbered: row.entityNumber(1)) else { return nil }
      return inspection.breach(of: values, in: entity, property: row.string(3))
    }
    try inspection.checkArchives("ZDL_LACKED", "had", key: key, suggestion: Self.suggestion) {
      values, row in
      guard let entity = inspection.schema.entity(numbered: row.entityNumber(1)) else { return nil }
      return inspection.breach(of: values, in: entity, property: row.string(3))
    }
    try inspection.checkArchives("ZDL_ZONE", "value", key: key, suggestion: Self.suggestion) {
      values, row in
      let name = row.string(3)
      guard !name.isEmpty else { return ZoneStates.isMark(values) ? nil : "is no mark" }
      guard let property = schema.entity(numbered: row.entityNumber(1))?.property(named: name)
      else { return nil }
      guard let first = values.first else { return "is missing" }
      return property.holds(first) ? nil : "is of another type than its property"
    }
  }
}

extension SyncSchema.Property {
  /// Whether the zone may say such a value of it; a set is said beside a null.
  func holds(_ value: PropertyValue) -> Bool {
    switch (kind, value) {
    case (_, .null), (.toOne, .reference), (.place, .integer): true
    case (.attribute(let type), _): type.holds(value)
    case (.elements, _), (.toOne, _), (.place, _): false
    }
  }
}
