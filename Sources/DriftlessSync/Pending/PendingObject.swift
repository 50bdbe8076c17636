package import Driftless

/// What this replica did to one object and the zone has not acknowledged.
package struct PendingObject: Hashable, Sendable {
  /// What is pending about the object as a whole.
  package enum Whole: String, Hashable, Sendable, Codable {
    case none, insert, delete
    /// Another replica deleted it and an edit here won: it is pushed whole, under its old number.
    case revive
  }

  /// Properties that one transaction set last.
  package struct Edit: Hashable, Sendable {
    package var transaction: Int64
    package var properties: PropertyMask
  }

  package var whole: Whole = .none
  /// The transaction of `whole`.
  package var wholeTransaction: Int64 = 0
  /// Of an object that is offered anew: the name of the save that made it; 0 where that is not known.
  package var maker: UInt64 = 0
  /// The zone had the object, under a number that went with what the zone lost.
  package var wasInZone = false
  /// Of a revival: the zone has the object deleted. One that was only deleted and made again here is alive there.
  package var isDeadInZone = false
  /// Disjoint sets of properties, by the transaction that set each last, oldest first.
  package var edits: [Edit] = []
  /// What is offered to a zone that began anew (`Offers`), by the times of the edits. Beside an edit that the zone never
  /// acknowledged it is what that edit was made on.
  package var offers: [Edit] = []

  /// Properties whose edit goes by its time, as what is offered does, though the zone never acknowledged it: it was held back.
  package var heldBack = PropertyMask()

  /// Of a window of what is offered: what was edited since.
  var editedOffers = PropertyMask()

  package init() {}

  package var isEmpty: Bool { whole == .none && edits.isEmpty }

  /// Every property that is pending by itself.
  package var properties: PropertyMask {
    var mask = PropertyMask()
    for edit in edits { mask.formUnion(edit.properties) }
    return mask
  }

  /// The transaction that set the property last, when it is pending.
  package func transaction(of slot: Int) -> Int64? {
    edits.last { $0.properties.contains(slot) }?.transaction
  }

  package var lastTransaction: Int64 {
    guard whole != .none else { return edits.last?.transaction ?? 0 }
    return max(wholeTransaction, edits.last?.transaction ?? wholeTransaction)
  }

  /// Marks properties as set by `transaction`, the newest so far or an older one that a merge
  /// keeps.
  package mutating func set(_ properties: PropertyMask, by transaction: Int64) {
    guard !properties.isEmpty else { return }
    clearEdits(properties)
    heldBack.subtract(properties)
    if let index = edits.firstIndex(where: { $0.transaction == transaction }) {
      edits[index].properties.formUnion(properties)
      return
    }
    let index = edits.firstIndex { $0.transaction > transaction } ?? edits.count
    edits.insert(Edit(transaction: transaction, properties: properties), at: index)
    assert(
      index == 0 || edits[index - 1].transaction <= transaction,
      "edits are in the order of their making")
  }

  /// Marks properties as not pending any more.
  package mutating func clear(_ properties: PropertyMask) {
    clearEdits(properties)
    heldBack.subtract(properties)
    for index in offers.indices { offers[index].properties.subtract(properties) }
    offers.removeAll { $0.properties.isEmpty }
  }

  private mutating func clearEdits(_ properties: PropertyMask) {
    for index in edits.indices { edits[index].properties.subtract(properties) }
    edits.removeAll { $0.properties.isEmpty }
  }

  /// Forgets what the zone acknowledged: everything up to `transaction`, except for properties that
  /// the push left out.
  package mutating func acknowledge(
    through transaction: Int64, keeping omitted: PropertyMask = PropertyMask()
  ) {
    // What was edited before a delete was not sent: an edit of another replica may bring the object back, and then it is.
    guard !isOfLater(than: transaction) else { return }
    whole = .none
    wholeTransaction = 0
    isDeadInZone = false
    for index in edits.indices where edits[index].transaction <= transaction {
      edits[index].properties.formIntersection(omitted)
    }
    edits.removeAll { $0.properties.isEmpty }
    heldBack.formIntersection(properties)
    offers.removeAll { $0.transaction <= transaction }
    assert(
      edits.reduce(0) { $0 + $1.properties.count } == properties.count,
      "a property is pending by one edit")
  }

  /// Whether a push up to a transaction leaves the object out: what is pending of it as a whole comes after that.
  func isOfLater(than transaction: Int64) -> Bool {
    whole != .none && wholeTransaction > transaction
  }

  /// Takes in one local change of history, in order.
  ///
  /// - Parameter all: every property of the entity that syncs; an insert sets them all.
  package mutating func record(_ change: LocalChange, by transaction: Int64, all: PropertyMask) {
    switch change {
    case .insert:
      // An insert over a pending delete is the same key brought back: the whole object is offered
      // again.
      wasInZone = wasInZone && whole == .delete
      whole = whole == .delete ? .revive : .insert
      wholeTransaction = transaction
      edits = [Edit(transaction: transaction, properties: all)]
      heldBack = PropertyMask()
      offers = []
    case .update(let properties):
      guard whole != .delete else { return }
      set(PropertyMask(properties.indexes.filter(all.contains)), by: transaction)
    case .delete:
      // The edits stay noted: when an edit of another replica brings the object back, they are
      // pending again.
      whole = .delete
      wholeTransaction = transaction
    }
  }
}

/// A change of local history, as far as the pending set cares.
package enum LocalChange: Hashable, Sendable {
  case insert
  case update(PropertyMask)
  case delete
}
