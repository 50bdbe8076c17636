import DriftlessSQLite

/// Whether a store has the values that the zone has. Those that the model here cannot hold are parked, and their objects show
/// something else.
struct HeldValues {
  /// Whether some may be parked; nil until that is asked.
  private var someMayBeParked: Bool?

  /// Refuses an edit that is told as what it adds to the value before it, where the zone's value is not the one that was
  /// seen: the zone's would be lost for everybody.
  ///
  /// - Throws: `StoreError` with code `valueNotHeld`.
  mutating func check(
    _ key: ObjectKey, _ slots: [PropertySlot], on connection: SQLiteConnection
  ) throws {
    for slot in slots where slot.policy.addsToFormer && slot.relationship == nil {
      guard let reason = try reasonParked(key, slot.name, on: connection) else { continue }
      throw StoreError(
        .valueNotHeld,
        "\(slot.property.entity?.name ?? "The object").\(slot.name) cannot be edited here: the "
          + "zone's value is not here (\(reason)), and an edit by \(slot.policy.text) adds "
          + "to it.",
        suggestion: (slot.property as? AttributeDescription)?.isEncrypted == true
          ? "Give this replica the key and sync: syncctl key use. Or edit it on one that has the key."
          : "Edit it where the model holds the value, or open the store with such a model.",
        keys: [key])
    }
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
