import DriftlessSQLite

/// Values of the zone that the model here cannot hold are parked, and their objects show something else.
extension WriteTransaction {
  /// Refuses an edit that is told as what it adds to the value before it, where the zone's value is not the one that was
  /// seen: the zone's would be lost for everybody.
  func checkHeld(_ key: ObjectKey, _ slots: [PropertySlot]) throws {
    guard info.kind == .local else { return }
    for slot in slots where slot.policy.addsToFormer && slot.relationship == nil {
      guard let reason = try reasonNotHeld(key, slot.name) else { continue }
      throw StoreError(
        .valueNotHeld,
        "\(slot.property.entity?.name ?? "The object").\(slot.name) cannot be edited here: the "
          + "zone's value does not fit this model (\(reason)), and an edit by \(slot.policy.text) adds "
          + "to it.",
        suggestion: "Edit it where the model holds the value, or open the store with such a model.",
        keys: [key])
    }
  }

  /// Why the zone's value is not here; nil when it is.
  private func reasonNotHeld(_ key: ObjectKey, _ property: String) throws -> String? {
    let mayLackValues = try self.mayLackValues ?? EngineRows.haveParkedValues(on: connection)
    self.mayLackValues = mayLackValues
    guard mayLackValues else { return nil }
    return try EngineRows.reasonParked(key, property, on: connection)
  }
}
