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
      try rebasePlace(property, of: key, remote.value)
    // CONFLICT: the local reference stands against another one.
    // RESOLUTION: the local place goes with it; the zone's meant another list.
    case .local:
      if pending[key]?.transaction(of: property.slot) == nil {
        try transaction.setPlace(remote.value.place, of: key, in: relationship)
      }
      try rebasePlace(property, of: key, remote.value)
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
      if pending[key]?.transaction(of: property.slot) == nil,
        let reference = entity.property(at: property.slot)
      {
        try dropBase(of: key, reference)
      }
    }
  }

  /// What is pending of a place is on this one of the zone's from now on, as its reference is.
  private func rebasePlace(
    _ property: SyncSchema.Property, of key: ObjectKey, _ place: PropertyValue
  ) throws {
    if pending[key]?.transaction(of: property.slot) == nil {
      try dropBase(of: key, property)
    } else {
      try replaceBase(of: key, property, with: place)
    }
  }

  /// Whether nothing is pending of a reference but the place beside it: the object was moved within its list.
  ///
  /// - Parameter shown: the reference as it is here.
  func isPlaceAlone(
    _ property: SyncSchema.Property, of key: ObjectKey, _ shown: PropertyValue
  ) throws -> Bool {
    guard case .toOne(let relationship) = property.kind,
      relationship.inverseRelationship?.isOrdered == true,
      pending[key]?.whole == PendingObject.Whole.none, case .reference(let target) = shown,
      case .reference(let base)? = try BaseValues.value(
        of: key, property.name, on: transaction.connection)
    else { return false }
    return rooted(base) == rooted(target)
  }

  /// A reference goes back to what the zone has, and its place with it.
  func takeBackPlace(beside property: SyncSchema.Property, of key: ObjectKey) throws {
    guard case .toOne(let relationship) = property.kind,
      relationship.inverseRelationship?.isOrdered == true
    else { return }
    let name = PlaceName.of(property.name)
    guard let place = try BaseValues.value(of: key, name, on: transaction.connection)
    else { return }
    try transaction.setPlace(place.place, of: key, in: relationship)
    try BaseValues.drop(key, name, on: transaction.connection)
  }

  /// Gives an object that is an object again the place that it had, or the last one.
  ///
  /// - Parameter known: the place that it was given since.
  func placeAgain(
    _ key: ObjectKey, _ name: String, _ relationship: RelationshipDescription, _ known: Int64?
  ) throws {
    let kept = try BaseValues.value(of: key, name, on: transaction.connection)?.place
    try BaseValues.drop(key, name, on: transaction.connection)
    guard let place = known ?? kept else {
      return try transaction.setLastPlace(of: key, in: relationship)
    }
    try transaction.setPlace(place, of: key, in: relationship)
  }

  /// Gives an object that stands for another one a place close behind that one's. The other may live on elsewhere, or again:
  /// two objects of one place would have an order of their own in each store.
  ///
  /// - Parameter reference: what both refer to.
  func setPlace(
    of key: ObjectKey, after place: Int64, in relationship: RelationshipDescription,
    _ reference: PropertyValue
  ) throws {
    var next: Int64?
    if case .reference(let list) = reference {
      for other in try transaction.keys(referring: relationship, to: list) where other != key {
        guard let taken = try transaction.place(of: other, in: relationship), taken > place
        else { continue }
        next = min(next ?? taken, taken)
      }
    }
    let current = [place, nil] + (next.map { [$0] } ?? [])
    let changes = OrderPlaces.changes(current)
    // Without room between the two it has the place itself.
    let own = changes.count == 1 ? changes[1] ?? place : place
    try transaction.setPlace(own, of: key, in: relationship)
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
