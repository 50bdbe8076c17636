package import Driftless

/// Everything that this replica changed and the zone has not acknowledged, by object.
///
/// It is a function of the store: local history after the acknowledged transaction, and for an
/// object that an import touched while it was pending, the state that the import left
/// (`ZDL_PENDING`) plus local history after that.
package struct PendingSet: Sendable {
  package var objects = PendingObjects()
  /// What is offered is told by its time, in numbers below zero (`EditStamp`).
  static let lastOffer: Int64 = -1

  /// History is taken in up to here.
  package var through: Int64

  package init(through: Int64 = 0) {
    self.through = through
  }

  package var isEmpty: Bool { objects.isEmpty }

  package subscript(key: ObjectKey) -> PendingObject? { objects[key] }

  /// Replaces the state of an object; an empty one is forgotten.
  package mutating func update(_ key: ObjectKey, _ change: (inout PendingObject) -> Void) {
    var object = objects[key] ?? PendingObject()
    change(&object)
    objects[key] = object.isEmpty ? nil : object
  }

  mutating func acknowledge(through transaction: Int64, omitting omitted: OmittedParts) {
    objects.changeStates(except: omitted.keys) { $1.acknowledge(through: transaction) }
    for (key, kept) in omitted.properties where !omitted.objects.contains(key) {
      update(key) { $0.acknowledge(through: transaction, keeping: kept) }
    }
  }

  /// What `acknowledge` forgets.
  func taken(through transaction: Int64, omitting omitted: OmittedParts) -> PendingSet {
    var taken = PendingSet(through: through)
    taken.objects = objects
    taken.objects.changeStates { _, object in
      if object.isOfLater(than: transaction) { return object = PendingObject() }
      object.edits.removeAll { $0.transaction > transaction }
    }
    for key in omitted.objects { taken.objects[key] = nil }
    for (key, kept) in omitted.properties where taken.objects[key] != nil {
      taken.update(key) { $0.clear(kept) }
    }
    return taken
  }

  /// Objects that a push up to a transaction leaves out, with edits of before that.
  func heldBack(by transaction: Int64) -> [ObjectKey] {
    objects.compactMap { key, object in
      object.isOfLater(than: transaction)
        && object.edits.contains { $0.transaction <= transaction } ? key : nil
    }
  }

  /// What a push of history up to `transaction` carries.
  package func window(through transaction: Int64) -> PendingObjects {
    if transaction < 0 { return offers(through: transaction) }
    guard objects.containsState(where: { $0.lastTransaction > transaction }) else {
      return objects
    }
    var window = objects
    window.changeStates { _, object in
      object.edits.removeAll { $0.transaction > transaction }
      // The whole object belongs to a later push, and its properties with it.
      if object.isOfLater(than: transaction) { object = PendingObject() }
    }
    return window
  }

  /// What a push of what is offered up to a time carries: also what was edited since is told as it was offered.
  private func offers(through stamp: Int64) -> PendingObjects {
    var window = objects
    window.changeStates { _, object in
      let edits = object.edits
      object.edits.removeAll { $0.transaction > stamp }
      object.offers.removeAll { $0.transaction > stamp }
      if object.isOfLater(than: stamp) { object = PendingObject() }
      for offer in object.offers {
        object.set(offer.properties, by: offer.transaction)
        for edit in edits where edit.transaction > 0 {
          var edited = edit.properties
          edited.formIntersection(offer.properties)
          object.editedOffers.formUnion(edited)
        }
      }
    }
    return window
  }

  /// Whether something is offered.
  var hasOffers: Bool {
    objects.containsState { !$0.offers.isEmpty && !$0.isOfLater(than: Self.lastOffer) }
  }

  /// Whether something that is offered was edited since, so that the offer goes before the edit.
  var hasEditedOffers: Bool {
    objects.containsState { object in
      guard object.whole != .delete else { return false }
      return object.offers.contains { offer in
        object.edits.contains {
          $0.transaction > 0 && offer.properties.intersects($0.properties)
        }
      }
    }
  }

  /// The last transaction of the longest stretch of history that has at most `objectsMax` objects;
  /// at least one transaction.
  package func cut(objectsMax: Int) -> Int64 {
    guard objects.count > objectsMax else { return through }
    var counts: [Int64: Int] = [:]
    objects.forEachState { _, object, count in
      let first = object.whole == .none ? object.edits.first?.transaction : object.wholeTransaction
      counts[first ?? 0, default: 0] += count
    }
    var total = 0
    var last: Int64 = 0
    for (transaction, count) in counts.sorted(by: { $0.key < $1.key }) {
      if total > 0, total + count > objectsMax { break }
      total += count
      last = transaction
    }
    return last
  }
}
