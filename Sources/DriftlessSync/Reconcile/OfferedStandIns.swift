import Driftless

/// What stands in for values that the model here does not hold, that are parked, or whose files are gone: a zone that began anew is offered none
/// of it, since who has the values themselves may come later. A large value that is not here is offered by its name: the server may
/// have its bytes still, and lets go of them where nothing names them.
struct OfferedStandIns {
  /// Properties of which the log said nothing that the model has.
  private let unsaid: [ObjectKey: PropertyMask]
  /// By entity, properties that a model between had not: nothing of them is here until it was taken from the zone.
  private let returned: [String: Set<String>]
  /// What models of before had as defaults.
  private let formers: [ModelMeaning]
  private let parkedValues: ParkedValues
  private let transaction: ReadTransaction
  private let mayLackFiles: Bool

  init(
    _ unsaid: [ObjectKey: PropertyMask], _ transaction: ReadTransaction, schema: SyncSchema
  ) throws {
    self.unsaid = unsaid
    formers = try ModelMeaning.formers(transaction)
    returned =
      ModelMeaning.of(schema, transaction.schema)
      .change(of: schema, since: formers, try ModelMeaning.Notes(transaction)).returned
    self.transaction = transaction
    parkedValues = try ParkedValues(transaction.connection)
    mayLackFiles = transaction.schema.mayHaveExternalData
  }

  func leaveOut(
    of object: inout PendingObject, _ key: ObjectKey, _ entity: SyncSchema.Entity
  ) throws {
    let unsaid = unsaid[key] ?? PropertyMask()
    guard
      parkedValues.mayHaveAny || !unsaid.isEmpty || mayLackFiles || returned[entity.name] != nil
        || entity.properties.contains(where: { $0.standIn?.showsNames == true }),
      let row = try transaction.knownRow(key)
    else { return }
    let values = row.values
    for property in entity.properties {
      let slot = property.slot
      // What was edited here is an edit, whatever it says.
      guard let edit = object.transaction(of: slot), EditStamp.time(edit) != nil,
        try row.lost.contains(slot)
          || isStandIn(
            property, values[slot], of: key, entity, isUnsaid: unsaid.contains(slot),
            isReturned: returned[entity.name]?.contains(
              PlaceName.property(ofPlace: property.name) ?? property.name) == true)
      else { continue }
      object.clear(PropertyMask([slot]))
    }
  }

  private func isStandIn(
    _ property: SyncSchema.Property, _ value: PropertyValue, of key: ObjectKey,
    _ entity: SyncSchema.Entity, isUnsaid: Bool, isReturned: Bool
  ) throws -> Bool {
    switch property.kind {
    case .attribute:
      guard let standIn = property.standIn else { return false }
      if value.isInZone { return !standIn.names(value) }
      if let parked = try parkedValues.value(of: key, property.name) {
        // One that crosses is offered itself.
        return !standIn.crosses(parked) && !standIn.names(parked)
      }
      // A model of before may have had another default.
      return (isReturned || isUnsaid && !value.isNull)
        && (value == standIn.value
          || formers.contains { $0.names["\(entity.name).\(property.name)"] == "\(value)" })
    case .elements(let relationship):
      return try (isUnsaid || isReturned) && transaction.toManyKeys(of: key, relationship).isEmpty
    case .toOne: return (isUnsaid || isReturned) && value.isNull
    case .place: return isReturned
    }
  }
}
