import DriftlessSQLite

/// Values of the zone that the model here cannot hold lie in `ZDL_PARKED_VALUE`, and their objects show something else.
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
    // Only a store that syncs has the table.
    let mayLackValues =
      try self.mayLackValues
      ?? (connection.scalar(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ZDL_PARKED_VALUE'") != nil
        && connection.scalar("SELECT 1 FROM ZDL_PARKED_VALUE LIMIT 1") != nil)
    self.mayLackValues = mayLackValues
    guard mayLackValues,
      case .text(let reason)? = try connection.scalar(
        "SELECT reason FROM ZDL_PARKED_VALUE WHERE entity = ? AND key = ? AND property = ?",
        .integer(Int64(key.entity)), .integer(key.key), .text(property))
    else { return nil }
    return reason
  }
}
