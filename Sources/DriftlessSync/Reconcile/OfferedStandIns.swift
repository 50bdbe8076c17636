import Driftless

/// What stands in for values that the model here does not hold, that are parked, or whose files are gone: a zone that began anew is offered none
/// of it, since who has the values themselves may come later.
struct OfferedStandIns {
  /// Properties of which the log said nothing that the model has.
  private let unsaid: [ObjectKey: PropertyMask]
  private let parkedValues: ParkedValues
  private let transaction: ReadTransaction
  private let mayLackFiles: Bool

  init(_ unsaid: [ObjectKey: PropertyMask], _ transaction: ReadTransaction) throws {
    self.unsaid = unsaid
    self.transaction = transaction
    parkedValues = try ParkedValues(transaction.connection)
    mayLackFiles = transaction.schema.mayHaveExternalData
  }

  func leaveOut(
    of object: inout PendingObject, _ key: ObjectKey, _ entity: SyncSchema.Entity
  ) throws {
    let unsaid = unsaid[key] ?? PropertyMask()
    guard
      parkedValues.mayHaveAny || !unsaid.isEmpty || mayLackFiles,
      let row = try transaction.knownRow(key)
    else { return }
    let values = row.values
    for property in entity.properties {
      let slot = property.slot
      // What was edited here is an edit, whatever it says.
      guard let edit = object.transaction(of: slot), EditStamp.time(edit) != nil,
        try row.lost.contains(slot)
          || isStandIn(property, values[slot], of: key, isUnsaid: unsaid.contains(slot))
      else { continue }
      object.clear(PropertyMask([slot]))
    }
  }

  private func isStandIn(
    _ property: SyncSchema.Property, _ value: PropertyValue, of key: ObjectKey, isUnsaid: Bool
  ) throws -> Bool {
    switch property.kind {
    case .attribute:
      guard let standIn = property.standIn else { return false }
      if let parked = try parkedValues.value(of: key, property.name) {
        // One that crosses is offered itself.
        return !standIn.crosses(parked)
      }
      return isUnsaid && !value.isNull && value == standIn.value
    case .elements(let relationship):
      return try isUnsaid && transaction.toManyKeys(of: key, relationship).isEmpty
    case .toOne: return isUnsaid && value.isNull
    case .place: return false
    }
  }
}
