import DriftlessSQLite

/// Whether a store has the values that the zone has. Those that the model here cannot hold are parked, and their objects show
/// something else; so does a column that another program, or damage, left unreadable.
struct HeldValues {
  /// Whether some may be parked; nil until that is asked.
  private var someMayBeParked: Bool?

  /// Refuses an edit that is told as what it adds to the value before it, where the zone's value is not the one that was
  /// seen: the zone's would be lost for everybody.
  ///
  /// - Parameter values: what the edit writes.
  /// - Throws: `StoreError` with code `valueNotHeld`.
  mutating func check(
    _ key: ObjectKey, _ slots: [PropertySlot], becoming values: ValueRow,
    _ transaction: WriteTransaction
  ) throws {
    let adding = slots.filter { $0.policy.addsToFormer && $0.relationship == nil }
    guard !adding.isEmpty else { return }
    for slot in adding {
      guard let reason = try reasonParked(key, slot.name, on: transaction.connection) else {
        continue
      }
      throw Self.refusal(
        key, slot, because: "the zone's value is not here (\(reason))",
        suggestion: (slot.property as? AttributeDescription)?.isEncrypted == true
          ? "Give this replica the key and sync: syncctl key use. Or edit it on one that has the key."
          : "Edit it where the model holds the value, or open the store with such a model.")
    }
    try checkReadable(key, adding.filter { !values[$0.index].isNull }, transaction)
  }

  /// A column that cannot be read shows a value that nobody set, and the zone has another one. Null adds to nothing: it is the way
  /// to set such a value anew. Of an object that the zone has not, what is set here is all that there is.
  private func checkReadable(
    _ key: ObjectKey, _ slots: [PropertySlot], _ transaction: WriteTransaction
  ) throws {
    guard !slots.isEmpty, let held = try transaction.rowWithBreaches(key),
      let (slot, value) = slots.lazy.compactMap({ slot in
        held.broken.first { $0.slot == slot.index }.map { (slot, $0) }
      }).first,
      let run = try IdentityRuns.last(
        root: transaction.schema.rootNumber(of: key.entity), upToKey: key.key,
        on: transaction.connection), key.key < run.end, run.number != nil
    else { return }
    throw Self.refusal(
      key, slot, because: "the zone's value is not here (its column holds \(value.text))",
      suggestion: "Take what the zone has: syncctl verify --repair."
        // What shows as null already is not changed by null.
        + (held.row.values[slot.index].isNull
          ? "" : " Or set it to null, save, and set what it is to be."))
  }

  private static func refusal(
    _ key: ObjectKey, _ slot: PropertySlot, because reason: String, suggestion: String
  ) -> StoreError {
    StoreError(
      .valueNotHeld,
      "\(slot.property.entity?.name ?? "The object").\(slot.name) cannot be edited here: \(reason), "
        + "and an edit by \(slot.policy.text) adds to it.", suggestion: suggestion, keys: [key])
  }

  /// Why the zone's value is not here; nil when it is.
  private mutating func reasonParked(
    _ key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> String? {
    let someMayBeParked =
      try self.someMayBeParked ?? EngineRows.haveParkedValues(on: connection)
    self.someMayBeParked = someMayBeParked
    guard someMayBeParked else { return nil }
    return try EngineRows.reasonParked(key, property, on: connection)
  }
}
