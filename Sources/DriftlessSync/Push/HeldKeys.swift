import Driftless

/// Unique keys and partners that objects in quarantine gave up here, and hold in the zone still. Whatever took one of them
/// here waits with it: the zone would refuse the claim for as long as the edit that lets go of it is refused.
struct HeldKeys {
  private let pending: PendingSet
  private let transaction: ReadTransaction
  private let schema: SyncSchema
  private var directory: ObjectDirectory
  /// New objects that wait.
  private(set) var objects: Set<ObjectKey> = []
  /// What waits of objects that the zone knows.
  private(set) var properties: [ObjectKey: PropertyMask] = [:]
  /// What is left out, and may hold keys in the zone.
  private var left: [(key: ObjectKey, slots: PropertyMask)] = []

  init(
    of held: Set<ObjectKey>, _ pending: PendingSet, _ transaction: ReadTransaction,
    schema: SyncSchema
  ) throws {
    self.pending = pending
    self.transaction = transaction
    self.schema = schema
    directory = ObjectDirectory(transaction.connection)
    left = held.map { ($0, transaction.schema.keyMask(numbered: $0.entity)) }
    while let (key, slots) = left.popLast() {
      for (taker, slots) in try takers(of: key, slots) where !held.contains(taker) {
        wait(taker, slots)
      }
    }
  }

  /// The objects that have here what an object holds in the zone, with the properties that say so.
  private mutating func takers(
    of key: ObjectKey, _ slots: PropertyMask
  ) throws -> [(ObjectKey, [Int])] {
    guard let object = pending[key], let entity = schema.entity(numbered: key.entity),
      try directory.number(root: entity.rootNumber, key: key.key) != nil,
      var former = try transaction.knownRow(key)?.values ?? transaction.grave(of: key)
    else { return [] }
    var given = PropertyMask()
    for slot in transaction.schema.keyMask(numbered: key.entity).indexes {
      guard slots.contains(slot), let property = entity.property(at: slot) else { continue }
      if object.whole == .delete { given.insert(slot) }
      guard object.transaction(of: slot) != nil,
        let base = try BaseValues.value(of: key, property.name, on: transaction.connection)
      else { continue }
      given.insert(slot)
      former[slot] = base
    }
    var takers = try transaction.keyHolders(of: key, former, touching: given)
      .map { ($0.holder, $0.slots) }
    for slot in transaction.schema.ownedEnds(numbered: key.entity).indexes {
      guard given.contains(slot),
        let relationship = entity.description.layout.slots[slot].relationship,
        case .reference(let partner) = former[slot],
        let living = try transaction.concreteKey(root: partner)
      else { continue }
      takers += try transaction.keys(referring: relationship, to: living)
        .filter { $0 != key }.map { ($0, [slot]) }
    }
    return takers
  }

  private mutating func wait(_ taker: ObjectKey, _ slots: [Int]) {
    guard let object = pending[taker], !objects.contains(taker) else { return }
    if object.whole == .insert || object.whole == .revive {
      objects.insert(taker)
      left.append((taker, transaction.schema.keyMask(numbered: taker.entity)))
      return
    }
    var mask = PropertyMask(slots.filter { object.transaction(of: $0) != nil })
    mask.subtract(properties[taker] ?? PropertyMask())
    guard !mask.isEmpty else { return }
    properties[taker, default: PropertyMask()].formUnion(mask)
    left.append((taker, mask))
  }
}
