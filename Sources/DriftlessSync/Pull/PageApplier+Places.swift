import Driftless
import DriftlessProtocol

/// Places in ordered relationships. An object's place goes with its reference: whose reference
/// stands, his place stands.
extension PageApplier {
  /// Writes the places of one row.
  func applyPlaces(_ readers: [PropertyReader], row: Int, of key: ObjectKey) throws {
    for reader in readers {
      guard case .place(let relationship) = reader.property.kind else { continue }
      try transaction.setPlace(reader.place(row), of: key, in: relationship)
    }
  }

  /// Settles the place of an object whose reference may be pending here.
  ///
  /// - Parameter reference: how the reference beside it was settled.
  func settlePlace(
    _ property: SyncSchema.Property, _ relationship: RelationshipDescription,
    _ entity: SyncSchema.Entity, of key: ObjectKey, _ remote: RemoteSide,
    reference: ReferenceOutcome?
  ) throws {
    switch reference {
    // CONFLICT: none, or the zone's reference stands.
    // RESOLUTION: the zone's place goes with it.
    case nil, .remote:
      try transaction.setPlace(remote.value.place, of: key, in: relationship)
    // CONFLICT: the local reference stands against another one.
    // RESOLUTION: the local place goes with it; the zone's meant another list.
    case .local: return
    // CONFLICT: both replicas moved the object within one list.
    // RESOLUTION: the reference's policy decides between the places.
    case .same(let localTransaction):
      let local = try transaction.place(of: key, in: relationship)
      if case .integer(let place)? = try settle(
        entity, property, of: key, local: local.map { .integer($0) } ?? .null,
        localTransaction: localTransaction, remote: remote, isInsert: false)
      {
        try transaction.setPlace(place, of: key, in: relationship)
      }
    }
  }

  /// How a reference that has a place beside it was settled.
  enum ReferenceOutcome {
    case local, remote
    /// Both sides refer to the same object; the local edit was made by this transaction.
    case same(localTransaction: Int64)
  }

  /// Gives an object that is back from its grave the place that it had.
  func bringBackPlaces(of entity: SyncSchema.Entity, _ key: ObjectKey) throws {
    for property in entity.properties {
      guard case .place(let relationship) = property.kind,
        case .integer(let place)? = try BaseValues.value(
          of: key, property.name, on: transaction.connection)
      else { continue }
      try transaction.setPlace(place, of: key, in: relationship)
      try BaseValues.drop(key, property.name, on: transaction.connection)
    }
  }
}

extension PropertyValue {
  /// A place in an ordered relationship; nil when there is none.
  fileprivate var place: Int64? {
    if case .integer(let place) = self { return place }
    return nil
  }
}
