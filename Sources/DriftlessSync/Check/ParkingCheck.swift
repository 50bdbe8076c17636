import Driftless
import DriftlessSQLite
import Foundation

/// What could not be taken in: `ZDL_PARKED`, entries of the log; `ZDL_PARKED_VALUE`, single values; and `ZDL_STRUCK`, what
/// later entries set of them; and `ZDL_MISSED`, `ZDL_WANTED` and `ZDL_NAMED`, large values that were asked for, and that are here.
struct ParkingCheck: EngineCheck {
  let tables = [
    "ZDL_PARKED", "ZDL_PARKED_FORMER", "ZDL_PARKED_VALUE", "ZDL_STRUCK",
    "ZDL_MISSED", "ZDL_WANTED", "ZDL_NAMED",
  ]

  private static let suggestion =
    "Keep a copy of the file; then run syncctl enroll --anew: what is set aside comes anew."

  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    try inspection.check(
      "ZDL_PARKED", key: ["sequence"],
      Parking.rules + [
        .place("first_number"),
        RowRule(
          "sequence <= (SELECT cursor FROM ZDL_REPLICA)", "the cursor has not come so far",
          weight: .disagreement),
      ], suggestion: Self.suggestion)
    let key = ["entity", "key", "property"]
    try inspection.check(
      "ZDL_PARKED_VALUE", key: key,
      [inspection.objectRule()] + ParkedValues.rules, suggestion: Self.suggestion)
    try inspection.report(
      rowsOf: """
        SELECT 'sequence ' || p.sequence FROM ZDL_PARKED p JOIN ZDL_FRAME f
        ON f.sequence = p.sequence WHERE f.first_number <> p.first_number
        """, in: "ZDL_PARKED", "ZDL_FRAME has another first_number there",
      suggestion: Self.suggestion)
    try inspection.checkProperties(of: "ZDL_PARKED_VALUE", schema, suggestion: Self.suggestion)
    try inspection.checkArchives(
      "ZDL_PARKED_VALUE", "value", key: key, suggestion: Self.suggestion
    ) { values, _ in values.count == 1 ? nil : "is not one value" }
    try inspection.check(
      "ZDL_PARKED_FORMER", key: ["id"],
      FormerParking.rules + [
        RowRule("length(objects) % 16 = 0", "objects is not a list of identities")
      ],
      suggestion: "Keep a copy of the file: no zone has what is set aside of a log that is gone.")
    for (table, rules) in [
      ("ZDL_MISSED", MissedValues.rules), ("ZDL_WANTED", WantedValues.rules),
    ] where inspection.has(table) {
      try inspection.check(
        table, key: ["digest"], rules,
        suggestion: "Keep a copy of the file; then run syncctl enroll --anew: it is asked for anew."
      )
    }
    if inspection.has("ZDL_NAMED") {
      try inspection.check(
        "ZDL_NAMED", key: key, [inspection.objectRule()] + NamedCells.rules,
        suggestion: Self.suggestion)
    }
    try inspection.check(
      "ZDL_STRUCK", key: ["number", "property"],
      Parking.struckRules, suggestion: Self.suggestion)
  }
}
