package import Driftless

/// Everything that this replica changed and the zone has not acknowledged, by object.
///
/// It is a function of the store: local history after the acknowledged transaction, and for an
/// object that an import touched while it was pending, the state that the import left
/// (`ZDL_PENDING`) plus local history after that.
package struct PendingSet: Sendable {
  package var objects: [ObjectKey: PendingObject] = [:]
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
    for key in Array(objects.keys) where !omitted.objects.contains(key) {
      let kept = omitted.properties[key] ?? PropertyMask()
      update(key) { $0.acknowledge(through: transaction, keeping: kept) }
    }
  }

  /// Objects that a push up to a transaction leaves out, with edits of before that.
  func heldBack(by transaction: Int64) -> [ObjectKey] {
    objects.compactMap { key, object in
      object.isOfLater(than: transaction)
        && object.edits.contains { $0.transaction <= transaction } ? key : nil
    }
  }

  /// What a push of history up to `transaction` carries.
  package func window(through transaction: Int64) -> [ObjectKey: PendingObject] {
    if transaction < 0 { return offers(through: transaction) }
    guard objects.values.contains(where: { $0.lastTransaction > transaction }) else {
      return objects
    }
    var window: [ObjectKey: PendingObject] = [:]
    for (key, object) in objects {
      var early = object
      early.edits.removeAll { $0.transaction > transaction }
      // The whole object belongs to a later push, and its properties with it.
      if early.isOfLater(than: transaction) { continue }
      if !early.isEmpty { window[key] = early }
    }
    return window
  }

  /// What a push of what is offered up to a time carries: also what was edited since is told as it was offered.
  private func offers(through stamp: Int64) -> [ObjectKey: PendingObject] {
    var window: [ObjectKey: PendingObject] = [:]
    for (key, object) in objects {
      var early = object
      early.edits.removeAll { $0.transaction > stamp }
      early.offers.removeAll { $0.transaction > stamp }
      if early.isOfLater(than: stamp) { continue }
      for offer in early.offers {
        early.set(offer.properties, by: offer.transaction)
        for edit in object.edits where edit.transaction > 0 {
          var edited = edit.properties
          edited.formIntersection(offer.properties)
          early.editedOffers.formUnion(edited)
        }
      }
      if !early.isEmpty { window[key] = early }
    }
    return window
  }

  /// Whether something that is offered was edited since, so that the offer goes before the edit.
  var hasEditedOffers: Bool {
    objects.values.contains { object in
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
    for object in objects.values {
      let first = object.whole == .none ? object.edits.first?.transaction : object.wholeTransaction
      counts[first ?? 0, default: 0] += 1
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
