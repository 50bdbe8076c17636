import Driftless
import DriftlessSQLite

/// An object that a delete of here took along when it met the zone: it is back with the one that was deleted, should something
/// turn out to need that.
struct TakenAlong {
  private let key: ObjectKey
  private let values: [PropertyValue]
  /// What was pending of it.
  private let object: PendingObject?
  /// Whether its row is kept: the zone has the object.
  private let isKnown: Bool
  /// Of an object that the zone does not have, what the row does not say.
  private var sets: [(name: String, elements: [ObjectKey])] = []
  private var places: [(name: String, place: Int64)] = []

  init(_ key: ObjectKey, _ entity: SyncSchema.Entity, _ applier: PageApplier) throws {
    self.key = key
    values = try applier.currentValues(of: key)
    object = applier.pending[key]
    isKnown = try applier.directory.number(root: entity.rootNumber, key: key.key) != nil
    guard !isKnown else { return }
    for property in entity.properties {
      switch property.kind {
      case .attribute, .toOne: continue
      case .elements(let relationship):
        sets.append(
          (property.name, try applier.transaction.toManyKeys(of: key, relationship)))
      case .place(let relationship):
        if let place = try applier.transaction.place(of: key, in: relationship) {
          places.append((property.name, place))
        }
      }
    }
  }

  func bringBack(_ applier: PageApplier) throws {
    let transaction = applier.transaction
    guard let entity = applier.schema.entity(numbered: key.entity),
      try transaction.concreteKey(root: key) == nil,
      !isKnown || applier.pending[key]?.whole == .delete
    else { return }
    if !isKnown {
      try transaction.bury(key, values)
      for set in sets {
        try BaseValues.replace(key, set.name, with: set.elements, on: transaction.connection)
      }
      for place in places {
        try BaseValues.replace(
          key, place.name, with: .integer(place.place), on: transaction.connection)
      }
    }
    let cause = applier.pending[key]?.wholeTransaction ?? 0
    try applier.bringBack(entity, key)
    applier.setPending(key) { $0 = object ?? PendingObject() }
    try applier.journal.addWhole(
      entity: entity, key: key, outcome: .remote, localTime: try transaction.editTime(cause),
      side: .unknown,
      explanation:
        "It had gone with an object that was deleted here, which is back: so is this one.")
    applier.report.conflicts += 1
  }
}
