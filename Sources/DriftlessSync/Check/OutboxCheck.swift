import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// `ZDL_OUTBOX`, the change set in flight, with `ZDL_OUTBOX_PART`, parts that go before it, and `ZDL_OMITTED`, what it leaves out.
struct OutboxCheck: EngineCheck {
  let tables = ["ZDL_OUTBOX", "ZDL_OUTBOX_PART", "ZDL_OMITTED"]

  private static let suggestion =
    "Keep a copy of the file; then run syncctl enroll --anew: what was in flight is told again from its rows."

  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    let newest = try inspection.transaction.maximumTransactionNumber()
    try inspection.check(
      "ZDL_OUTBOX", key: ["push_number"],
      Outbox.rules + [
        .integer("through_transaction", 0...max(0, newest)),
        RowRule(
          "push_number = (SELECT push_number FROM ZDL_REPLICA)", "the replica is at another push"),
        RowRule(
          "through_transaction >= (SELECT acknowledged FROM ZDL_REPLICA)",
          "the history that it covers was acknowledged", weight: .disagreement),
      ], suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_OUTBOX_PART", key: ["part"], OutboxPart.rules, suggestion: Self.suggestion)
    if let outbox = try? Outbox.load(from: inspection.connection) {
      do {
        var before: Data?
        var number: UInt16 = 0
        try outbox.forEachPart(on: inspection.connection) { part, _ in
          checkFrame(part, inspection)
          number += 1
          let header = try? ChangeSetDecoder().decodeHeader(part.frame)
          if let header, header.part != number || header.digestBefore != before {
            inspection.report(
              .damage, "ZDL_OUTBOX_PART",
              "ZDL_OUTBOX_PART, part \(number): it does not follow the part before it.",
              suggestion: Self.suggestion)
          }
          before = header?.digest
        }
      } catch is SyncError {
        inspection.report(
          .damage, "ZDL_OUTBOX_PART",
          "ZDL_OUTBOX_PART: a part cannot be read, or its runs are not those of its frame.",
          suggestion: Self.suggestion)
      }
    } else if try Outbox.exists(on: inspection.connection) {
      inspection.report(
        .damage, "ZDL_OUTBOX",
        "ZDL_OUTBOX: its runs cannot be read, or are not those of its frame.",
        suggestion: Self.suggestion)
    }
    try inspection.check(
      "ZDL_OMITTED", key: ["entity", "key", "property"],
      [inspection.objectRule()] + OmittedParts.rules, suggestion: Self.suggestion)
    try inspection.checkProperties(
      of: "ZDL_OMITTED", schema, orObject: true, suggestion: Self.suggestion)
    if try !Outbox.exists(on: inspection.connection),
      try inspection.connection.number("SELECT count(*) FROM ZDL_OMITTED") > 0
    {
      inspection.report(
        .disagreement, "ZDL_OMITTED", "ZDL_OMITTED says what no change set leaves out.",
        suggestion: "Sync the store, which clears it.")
    }
  }

  private func checkFrame(_ outbox: Outbox, _ inspection: StoreInspection) {
    func report(_ breach: String) {
      inspection.report(
        .damage, "ZDL_OUTBOX", "ZDL_OUTBOX, push_number \(outbox.pushNumber): \(breach).",
        suggestion: Self.suggestion)
    }
    guard let header = try? ChangeSetDecoder().decodeHeader(outbox.frame),
      (try? ChangeSetDecoder().checkedIndex(outbox.frame)) != nil
    else { return report("its frame is damaged") }
    if header.pushNumber != outbox.pushNumber { report("its frame is of another push") }
    for run in outbox.runs {
      let last = run.first.addingReportingOverflow(run.count)
      let isKnown = run.first > 0 && run.count > 0 && !last.overflow
      if !isKnown || last.partialValue - 1 > inspection.lastKey(run.entity) {
        return report("its runs name objects that never were")
      }
    }
  }
}

extension StoreInspection {
  /// Reports rows whose property is none of their entity's that sync.
  ///
  /// - Parameter orObject: whether the empty name stands for the object.
  func checkProperties(
    of table: String, _ schema: SyncSchema, orObject: Bool = false, suggestion: String
  ) throws {
    var tally = Tally()
    try connection.forEachRow("SELECT entity, key, property FROM \(table)") { row in
      let name = row.string(2)
      guard !(orObject && name.isEmpty), let entity = schema.entity(numbered: row.entityNumber(0)),
        entity.property(named: name) == nil
      else { return }
      tally.add("entity \(entity.number), key \(row.int64(1)), property \(name.prefix(40))")
    }
    report(
      tally, in: table, "it is of no property that syncs", .disagreement, suggestion: suggestion)
  }
}
