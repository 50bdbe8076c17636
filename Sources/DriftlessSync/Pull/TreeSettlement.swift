import Driftless
import Foundation

/// Keeps relationships that the model declares trees (`driftless.tree`) free of rings.
///
/// The log never has one: a push is stale when an ancestor that it relies on has moved. So in a ring
/// there is a pending edit, and the latest one gives way: its reference goes back to what the zone
/// has, and to its place there. A move within a list closes no ring. Where a parent is required, an edit gives way that has one
/// to go back to.
struct TreeSettlement {
  private let applier: PageApplier

  init(_ applier: PageApplier) { self.applier = applier }

  /// - Returns: whether anything gave way.
  func run() throws -> Bool {
    var isChanged = false
    let moved = applier.pending.objects.keys.filter { key in
      guard let object = applier.pending[key], object.whole != .delete,
        let entity = applier.schema.entity(numbered: key.entity)
      else { return false }
      return entity.trees.contains { object.transaction(of: $0.slot) != nil }
    }
    for key in moved.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) {
      guard let entity = applier.schema.entity(numbered: key.entity) else { continue }
      for property in entity.trees {
        while let ring = try ring(from: key, property) {
          guard try giveWay(ring, property) else { break }
          isChanged = true
        }
      }
    }
    return isChanged
  }

  /// The objects of the ring that an object's ancestors close, if they do.
  private func ring(
    from start: ObjectKey, _ property: SyncSchema.Property
  ) throws -> [ObjectKey]? {
    var path: [ObjectKey] = []
    var seen: Set<ObjectKey> = []
    var current: ObjectKey? = start
    while let key = current {
      guard seen.insert(key).inserted else {
        return path.firstIndex(of: key).map { Array(path[$0...]) }
      }
      path.append(key)
      current = try parent(of: key, property)
    }
    return nil
  }

  private func parent(
    of key: ObjectKey, _ property: SyncSchema.Property
  ) throws -> ObjectKey? {
    guard let tree = parentProperty(property.name, of: key),
      case .reference(let parent)? = try applier.transaction.knownRow(key)?.values[tree.slot]
    else { return nil }
    return try applier.transaction.concreteKey(root: parent)
  }

  /// The relationship in an object's own entity: subentities may have it in another place.
  private func parentProperty(_ name: String, of key: ObjectKey) -> SyncSchema.Property? {
    applier.schema.entity(numbered: key.entity)?.trees.first { $0.name == name }
  }

  /// Takes back the latest pending reference of a ring.
  ///
  /// - Returns: false when none is pending: the ring is the log's, and stays.
  private func giveWay(_ ring: [ObjectKey], _ property: SyncSchema.Property) throws -> Bool {
    var latest: (key: ObjectKey, time: HybridTime, isFilled: Bool)?
    for key in ring {
      guard let tree = parentProperty(property.name, of: key),
        let edit = applier.pending[key]?.transaction(of: tree.slot),
        let shown = try applier.transaction.knownRow(key)?.values[tree.slot],
        try !applier.isPlaceAlone(tree, of: key, shown)
      else { continue }
      let time = try applier.transaction.editTime(edit)
      let isFilled = try staysFilled(key, tree)
      let isBetter = latest.map {
        $0.isFilled == isFilled ? $0.time <= time : isFilled
      }
      if isBetter ?? true { latest = (key, time, isFilled) }
    }
    guard let latest, let tree = parentProperty(property.name, of: latest.key) else { return false }
    try takeBack(latest.key, tree, time: latest.time)
    return true
  }

  /// Whether a reference may go back to what the zone has: there is something, or it need not have anything.
  private func staysFilled(_ key: ObjectKey, _ property: SyncSchema.Property) throws -> Bool {
    guard property.relationship?.isOptional == false else { return true }
    guard applier.pending[key]?.whole == PendingObject.Whole.none,
      case .reference(let parent) = try applier.zoneValue(of: key, property)
    else { return false }
    return try applier.transaction.concreteKey(root: parent) != nil
      || DeleteFates(applier).deleted(parent) != nil
  }

  private func takeBack(
    _ key: ObjectKey, _ property: SyncSchema.Property, time: HybridTime
  ) throws {
    guard let entity = applier.schema.entity(numbered: key.entity) else { return }
    let transaction = applier.transaction
    var values = try applier.currentValues(of: key)
    let local = values[property.slot]
    let zones = try applier.zoneValue(of: key, property)
    if property.relationship?.isOptional == false, case .reference(let parent) = zones {
      _ = try applier.isThere(parent, orBackFor: key)
    }
    let kept = try applier.living(zones, property, of: key)
    if kept.isNull, property.relationship?.isOptional == false {
      applier.lacks.note(key, property.slot, had: local, .unknown)
    }
    values[property.slot] = kept
    try transaction.update(
      key, PropertyMask([property.slot]), values: values, expectedVersion: nil)
    try applier.takeBackPlace(beside: property, of: key)
    // A new object is pushed whole, without the reference.
    if applier.pending[key]?.whole == PendingObject.Whole.none {
      applier.setPending(key) { $0.clear(PropertyMask([property.slot])) }
      try BaseValues.drop(key, property.name, on: transaction.connection)
    } else {
      applier.touched.insert(key)
    }
    try applier.journal.addRing(
      entity: entity, property: property, key: key, local: local, kept: kept, time: time)
    applier.report.conflicts += 1
  }
}
