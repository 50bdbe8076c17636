import Driftless
import DriftlessSQLite
import Foundation

/// Notes of single objects: `ZDL_QUARANTINE`, those that the server refuses; `ZDL_ALIAS`, identities of those that became
/// one; `ZDL_DELETED`, deletes that the zone never heard of, with their dates. And `ZDL_SEGMENT` and
/// `ZDL_VALUE`, what is being fetched.
struct ObjectNoteCheck: EngineCheck {
  let tables = [
    "ZDL_QUARANTINE", "ZDL_ALIAS", "ZDL_DELETED", "ZDL_DELETED_SINCE", "ZDL_SEGMENT", "ZDL_VALUE",
  ]

  private static let suggestion =
    "Keep a copy of the file; then run syncctl enroll --anew: what is pending goes on from its rows."

  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    let object = inspection.objectRule()
    try inspection.check(
      "ZDL_QUARANTINE", key: ["entity", "key"],
      [object] + Quarantine.rules, suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_ALIAS", key: ["identity"],
      Unions.aliasRules + [object, inspection.objectRule("entity", "former_key")],
      suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_DELETED", key: ["identity"],
      [object] + RememberedDeletes.rules, suggestion: Self.suggestion)
    // An earlier version has no such tables.
    if inspection.has("ZDL_DELETED_SINCE") {
      try inspection.check(
        "ZDL_DELETED_SINCE", key: ["identity"], RememberedDeletes.sinceRules,
        suggestion: Self.suggestion)
    }
    if inspection.has("ZDL_SEGMENT") {
      try inspection.check(
        "ZDL_SEGMENT", key: ["name", "first"], SegmentPieces.rules, suggestion: Self.suggestion)
    }
    if inspection.has("ZDL_VALUE") {
      try inspection.check(
        "ZDL_VALUE", key: ["digest", "first"], ValuePieces.rules, suggestion: Self.suggestion)
    }
    try checkAliases(inspection, schema)
  }

  private func checkAliases(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    try inspection.checkArchives(
      "ZDL_ALIAS", "row", key: ["entity", "state"], suggestion: Self.suggestion
    ) { values, row in
      guard let entity = schema.entity(numbered: row.entityNumber(1)) else { return nil }
      let slots = entity.description.layout.slots
      guard values.count == slots.count else { return "has other properties than its entity" }
      if (try? PendingState.decode(row.data(2), entity: entity)) == nil {
        return "is kept beside a state that cannot be read"
      }
      return zip(values, slots).allSatisfy { $0.fits($1) }
        ? nil : "holds a value of another type than its property"
    }
  }
}
