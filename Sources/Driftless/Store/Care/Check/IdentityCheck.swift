import DriftlessSQLite
import Foundation

/// `ZDL_IDENTITY`: each key, zone object number and identity is one object's.
///
/// Runs of one hierarchy follow each other and do not overlap; so do runs in the order of their numbers, and in that of
/// their identities.
struct IdentityCheck: TableCheck {
  let tables = ["ZDL_IDENTITY"]

  private static let suggestion = "Keep a copy of the file; then run syncctl enroll --anew."

  func check(_ inspection: StoreInspection) throws {
    try inspection.check(
      "ZDL_IDENTITY", key: ["root_entity", "first_key"],
      [inspection.rootRule("root_entity", "first_key")] + IdentityRuns.rules,
      suggestion: Self.suggestion)
    try checkKeys(inspection)
    try checkNumbers(inspection)
    try checkIdentities(inspection)
  }

  private func checkKeys(_ inspection: StoreInspection) throws {
    var last: (root: Int64, end: Int64)?
    var (twice, beyond) = (StoreInspection.Tally(), StoreInspection.Tally())
    try forEach("root_entity, first_key, count", order: "root_entity, first_key", inspection) {
      row in
      let (root, first, count) = (row.int64(0), row.int64(1), max(0, row.int64(2)))
      // The rules of the rows tell of those that hold no key.
      guard first > 0, count > 0 else { return }
      let end = first.addingReportingOverflow(count)
      if let last, last.root == root, first < last.end { twice.add("entity \(root), key \(first)") }
      if end.overflow || end.partialValue - 1 > inspection.lastKey(row.entityNumber(0)) {
        beyond.add("entity \(root), \(count) keys from \(first) on")
      }
      last = (root, end.overflow ? .max : end.partialValue)
    }
    inspection.report(
      twice, in: "ZDL_IDENTITY", "the key has two identities", suggestion: Self.suggestion)
    inspection.report(
      beyond, in: "ZDL_IDENTITY", "such keys were never given out", suggestion: Self.suggestion)
  }

  private func checkNumbers(_ inspection: StoreInspection) throws {
    var end: Int64 = 0
    var twice = StoreInspection.Tally()
    try forEach("number, count", where: "number IS NOT NULL", order: "number", inspection) { row in
      let (first, count) = (row.int64(0), max(0, row.int64(1)))
      if first < end { twice.add("zone object number \(first)") }
      let (last, overflows) = first.addingReportingOverflow(count)
      end = max(end, overflows ? .max : last)
    }
    inspection.report(
      twice, in: "ZDL_IDENTITY", "the number is two objects'", suggestion: Self.suggestion)
  }

  private func checkIdentities(_ inspection: StoreInspection) throws {
    var last: (high: UInt64, end: UInt64)?
    var (twice, minted) = (StoreInspection.Tally(), StoreInspection.Tally())
    try forEach("identity, count, root_entity, first_key", order: "identity", inspection) { row in
      guard let identity = row.uuid(0) else { return }
      let (high, low) = identity.halves
      if let last, last.high == high, low < last.end {
        twice.add("identity \(identity.uuidString.lowercased())")
      }
      last = (high, low.addingReportingOverflow(UInt64(row.count(1))).partialValue)
      if try isOther(identity, row, inspection) {
        minted.add("identity \(identity.uuidString.lowercased())")
      }
    }
    inspection.report(
      twice, in: "ZDL_IDENTITY", "the identity is two objects'", suggestion: Self.suggestion)
    inspection.report(
      minted, in: "ZDL_IDENTITY", "the identity is also that of an object made here",
      suggestion: Self.suggestion)
  }

  /// Whether an object without a run of its own has the identity, since it follows from its key.
  private func isOther(
    _ identity: UUID, _ row: SQLiteStatement, _ inspection: StoreInspection
  ) throws -> Bool {
    guard let prefix = try? inspection.transaction.mintPrefix(),
      let (root, key) = MintedIdentity.parts(of: identity, prefix: prefix),
      inspection.schema.rootNumber(of: root) == root, key > 0, key <= inspection.lastKey(root),
      (root, key) != (row.entityNumber(2), row.int64(3))
    else { return false }
    let object = ObjectKey(entity: root, key: key)
    // One that was made here and is gone may be another object elsewhere.
    return try inspection.transaction.concreteKey(root: object) != nil
      && inspection.transaction.identity(of: object) == identity
  }

  private func forEach(
    _ columns: String, where condition: String = "1", order: String,
    _ inspection: StoreInspection, _ body: (SQLiteStatement) throws -> Void
  ) throws {
    let statement = try inspection.connection.prepareUncached(
      "SELECT \(columns) FROM ZDL_IDENTITY WHERE \(condition) ORDER BY \(order)")
    while try statement.step() { try body(statement) }
  }
}
