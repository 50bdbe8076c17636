import DriftlessSQLite

/// `ZDL_DELTA`: what local transactions did to properties whose edits add up. Of a counter the value is what it was before
/// them, and what they added.
struct DeltaCheck: TableCheck {
  let tables = ["ZDL_DELTA"]

  private static let suggestion =
    "Sync the store; when it stays, set the counter to what it should be and sync again."

  func check(_ inspection: StoreInspection) throws {
    let newest = try inspection.transaction.maximumTransactionNumber()
    let key = ["entity", "key", "property", "transaction_number"]
    try inspection.check(
      "ZDL_DELTA", key: key,
      [
        inspection.objectRule(), .integer("transaction_number", Int64.min...max(1, newest)),
      ] + TransactionDeltas.rules, suggestion: Self.suggestion)
    try inspection.checkArchives(
      "ZDL_DELTA", "value", key: key, suggestion: Self.suggestion
    ) { values, row in
      guard let layout = inspection.schema.entity(numbered: row.entityNumber(1))?.layout else {
        return nil
      }
      guard let index = layout.index(named: row.string(3)) else { return "is of no property" }
      guard values.count == 1 else { return "is not one value" }
      let slot = layout.slots[index]
      guard slot.relationship == nil, slot.policy.addsToFormer else {
        return "is of a property whose edits do not add up"
      }
      return values[0].fits(slot) ? nil : "is of another type than its property"
    }
    try checkSums(inspection)
  }

  /// The value of a counter, where no bound of its type cut it, is its base and what was added since.
  private func checkSums(_ inspection: StoreInspection) throws {
    let statement = try inspection.connection.prepareUncached(
      "SELECT DISTINCT entity, key, property FROM ZDL_DELTA")
    var (unlike, baseless) = (StoreInspection.Tally(), StoreInspection.Tally())
    while try statement.step() {
      let key = statement.objectKey(0, 1)
      let property = statement.string(2)
      guard let layout = inspection.schema.entity(numbered: key.entity)?.layout,
        let slot = layout.index(named: property), layout.slots[slot].policy == .counter,
        let value = try inspection.transaction.row(key)?.values[slot],
        let deltas = try? inspection.transaction.deltas(of: key, property),
        // What was added may not be known of what a server lost.
        !deltas.contains(where: { $0.value.isNull })
      else { continue }
      let name = "entity \(key.entity), key \(key.key), property \(property)"
      guard let base = try inspection.base(of: key, property) else {
        // A row without a value says that nobody knows it.
        let isUnknown = try BaseValues.isKept(of: key, property, on: inspection.connection)
        if !isUnknown { baseless.add(name) }
        continue
      }
      let sum = deltas.reduce(Optional(base)) { sum, delta in
        sum.flatMap { CounterDelta.sum($0, delta.value) }
      }
      if let sum, !value.isClose(to: sum), !layout.slots[slot].isAtBound(value) {
        unlike.add(name)
      }
    }
    inspection.report(
      unlike, in: "ZDL_DELTA", "the counter is not its base and what was added", .disagreement,
      suggestion: Self.suggestion)
    inspection.report(
      baseless, in: "ZDL_DELTA", "ZDL_BASE does not say what it was added to", .disagreement,
      suggestion: Self.suggestion)
  }
}

extension StoreInspection {
  /// The value that a property had before the first local change; nil where none is kept.
  fileprivate func base(of key: ObjectKey, _ property: String) throws -> PropertyValue? {
    let bytes = try connection.scalar(
      "SELECT value FROM ZDL_BASE WHERE entity = ? AND key = ? AND property = ?",
      .integer(Int64(key.entity)), .integer(key.key), .text(property))
    guard case .blob(let bytes)? = bytes else { return nil }
    return (try? RowArchive.decodeValues(bytes))?.first
  }
}

extension PropertySlot {
  /// Whether a counter has come to the end of its type, where what is added is cut.
  fileprivate func isAtBound(_ value: PropertyValue) -> Bool {
    guard case .integer(let number) = value, case .attribute(_, let type) = kind else {
      return false
    }
    switch type {
    case .integer16: return number == Int64(Int16.min) || number == Int64(Int16.max)
    case .integer32: return number == Int64(Int32.min) || number == Int64(Int32.max)
    default: return number == .min || number == .max
    }
  }
}

extension PropertyValue {
  /// Whether two sums are the same but for the last digits.
  package func isClose(to other: PropertyValue) -> Bool {
    if case .double(let a) = self, case .double(let b) = other {
      return a == b || abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1) || !(a - b).isFinite
    }
    if isNull, case .integer(0) = other { return true }
    return self == other
  }
}
