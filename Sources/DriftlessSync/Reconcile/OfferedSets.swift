import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Sets that are offered to a zone that began anew: what is offered of one that was edited since is the set without the
/// edits, which is kept for that (`ZDL_BASE`, under a name of its own). The edits go after it.
enum OfferedSets {
  static func name(_ property: String) -> String { OfferName.of(property) }

  /// What is kept of a property's offer.
  static func names(of object: PendingObject, _ entity: SyncSchema.Entity) -> [String] {
    entity.properties.compactMap { property in
      guard case .elements = property.kind, object.offer(of: property.slot) != nil else {
        return nil
      }
      return name(property.name)
    }
  }

  /// The set as it is offered, when it was edited since.
  static func elements(
    of key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws -> [ObjectKey]? {
    try BaseValues.keys(of: key, name(property), on: connection)
  }

  static func replace(
    _ key: ObjectKey, _ property: String, with elements: [ObjectKey],
    on connection: SQLiteConnection
  ) throws {
    try BaseValues.replace(key, name(property), with: elements, on: connection)
  }

  static func drop(
    _ key: ObjectKey, _ property: String, on connection: SQLiteConnection
  ) throws {
    try BaseValues.drop(key, name(property), on: connection)
  }

  /// The zone begins anew: it has nothing of the sets of an object.
  ///
  /// - Parameter former: what was pending of the object before.
  static func begin(
    _ object: PendingObject, after former: PendingObject?, of key: ObjectKey,
    _ entity: SyncSchema.Entity, _ transaction: WriteTransaction
  ) throws {
    let connection = transaction.connection
    for property in entity.properties {
      guard case .elements(let relationship) = property.kind,
        let offer = object.offer(of: property.slot)
      else { continue }
      var elements: [ObjectKey]?
      if object.transaction(of: property.slot) != offer {
        elements =
          former?.offer(of: property.slot) == nil
          ? try BaseValues.keys(of: key, property.name, on: connection)
          : try self.elements(of: key, property.name, on: connection)
      }
      try replace(
        key, property.name,
        with: elements ?? transaction.toManyKeys(of: key, relationship), on: connection)
      try BaseValues.replace(key, property.name, with: [ObjectKey](), on: connection)
    }
  }
}

extension PageApplier {
  /// What a row of the log says of a set that is offered here, with what it says of how it came to be.
  func noteSet(
    _ value: inout ZoneStates.Value, of key: ObjectKey, _ property: SyncSchema.Property,
    after before: ZoneStates.Value?, isOffer: Bool
  ) throws {
    guard let before, let offered = before.offered else {
      // Where something was settled before, the zone's set of then was lifted to the one here, or taken.
      value.offered = isOffer ? value.side.time : HybridTime(rawValue: 0)
      value.offeredElements =
        isOffer
        ? value.elements
        : try BaseValues.keys(of: key, property.name, on: transaction.connection)?.map(rooted) ?? []
      return
    }
    value.offered = offered
    value.offeredElements = before.offeredElements
    guard isOffer else { return }
    // A later set is that one with what was changed in the zone since the earlier one.
    value.offered = max(value.side.time, offered)
    let (was, now) = (Set(before.elements), Set(value.elements))
    value.offeredElements.removeAll { was.contains($0) && !now.contains($0) }
    value.offeredElements = value.offeredElements.united(
      with: value.elements.filter { !was.contains($0) })
    guard property.relationship?.isOrdered == true else { return }
    value.offeredElements = value.offeredElements.inOrder(of: value.elements)
  }

  /// Settles the zone's set against one that is offered here, and with the edits of that one.
  ///
  /// - Parameters:
  ///   - offer: when the set was edited last that is offered (`EditStamp`).
  ///   - edit: when the set was edited last; `offer` when nothing of that is pending.
  func settleOffer(
    _ property: SyncSchema.Property, _ relationship: RelationshipDescription, of key: ObjectKey,
    _ remote: ZoneStates.Value, offer: Int64, edit: Int64
  ) throws {
    let connection = transaction.connection
    let local = try transaction.toManyKeys(of: key, relationship)
    let theirs = try living(remote.elements)
    let isEdited = edit != offer
    let own =
      isEdited
      ? try OfferedSets.elements(of: key, property.name, on: connection).map(living) ?? local
      : local
    let isOrdered = relationship.isOrdered
    var offered = theirs
    if let time = EditStamp.time(offer), let last = remote.offered, last < time {
      // CONFLICT: the zone was offered an earlier set. RESOLUTION: this one stands, with what was changed there since.
      let former = try living(remote.offeredElements)
      let merge = SetMerge(
        base: Set(former), local: Set(own), remote: Set(theirs), isLocalLater: false)
      let order = ElementOrder(
        base: former, local: own, remote: theirs,
        isLocalLater: remote.side.isEarlier(than: time, of: replica))
      offered = order.sequence(of: merge.merged)
    }
    let isLifted = Set(offered) != Set(theirs) || isOrdered && offered != theirs
    var (settled, base, isPending) = (offered, theirs, isLifted)
    var asserted: [ObjectKey] = []
    var lostOrder = false
    if isEdited {
      let isLater = remote.side.isEarlier(than: try transaction.editTime(edit), of: replica)
      let removed = Set(own).subtracting(local)
      let zone = Set(offered).union(try deletedHere(removed, in: remote))
      let merge = SetMerge(
        base: Set(own), local: Set(local), remote: zone, isLocalLater: isLater)
      // The edits may have moved what is offered as well.
      let order = ElementOrder(base: own, local: local, remote: offered, isLocalLater: isLater)
      settled = order.sequence(of: merge.merged)
      lostOrder = isOrdered && order.isConflict && !order.isLocal
      if !isLifted {
        setPending(key) { $0.withdrawOffer(of: property.slot) }
        base = zone.sorted { $0.key < $1.key }
        asserted = merge.asserted.sorted { $0.key < $1.key }
        isPending = merge.isPending || isOrdered && settled != theirs
      }
    }
    try journalOffer(
      property, of: key, own, theirs, kept: settled,
      time: try EditStamp.time(offer) ?? transaction.editTime(edit), remote.side)
    if lostOrder {
      try journalOrder(
        property, of: key, local, theirs, kept: settled, transaction.editTime(edit), remote.side)
    }
    try apply(ElementChange(relationship, from: local, to: settled), to: key)
    if isOrdered { try transaction.setOrder(relationship, key, settled) }
    if isLifted {
      try OfferedSets.replace(key, property.name, with: offered, on: connection)
    } else {
      try OfferedSets.drop(key, property.name, on: connection)
    }
    guard isPending else {
      setPending(key) { $0.clear(PropertyMask([property.slot])) }
      return try BaseValues.drop(key, property.name, on: connection)
    }
    touched.insert(key)
    try BaseValues.replace(
      key, property.name, with: base, asserting: asserted, on: connection)
  }

  /// CONFLICT: the zone was offered two sets. RESOLUTION: see `settleOffer`. What stands in one alone may have been removed
  /// from the other or never been in it, so both are named.
  private func journalOffer(
    _ property: SyncSchema.Property, of key: ObjectKey, _ own: [ObjectKey], _ theirs: [ObjectKey],
    kept: [ObjectKey], time: HybridTime, _ side: RemoteSide
  ) throws {
    let isOrdered = property.relationship?.isOrdered ?? false
    func isSame(_ one: [ObjectKey], _ other: [ObjectKey]) -> Bool {
      isOrdered ? one == other : Set(one) == Set(other)
    }
    guard !isSame(own, theirs), let entity = schema.entity(numbered: key.entity) else { return }
    let outcome: JournalEntry.Outcome =
      isSame(kept, theirs) ? .remote : isSame(kept, own) ? .local : .combined
    let standing =
      switch outcome {
      case .local: "this one stands"
      case .remote: "the other one stands"
      default: "what stands is made of both"
      }
    try journal.addSets(
      entity: entity, property: property, key: key, local: own, remote: theirs, kept: kept,
      outcome: outcome, localTime: time, side: side,
      explanation: "\(property.name) was another set at another replica when the zone began anew: "
        + standing + ".")
    report.conflicts += 1
  }

  /// CONFLICT: an edit that was never sent moved what is offered, and it was moved elsewhere, later. RESOLUTION: the later order
  /// stands.
  private func journalOrder(
    _ property: SyncSchema.Property, of key: ObjectKey, _ local: [ObjectKey],
    _ theirs: [ObjectKey], kept: [ObjectKey], _ time: HybridTime, _ side: RemoteSide
  ) throws {
    guard let entity = schema.entity(numbered: key.entity) else { return }
    try journal.addSets(
      entity: entity, property: property, key: key, local: local, remote: theirs, kept: kept,
      outcome: kept == theirs ? .remote : .combined, localTime: time, side: side,
      explanation: "\(property.name) was put into another order at another replica: the later "
        + "order stands.")
    report.conflicts += 1
  }

  private func living(_ elements: [ObjectKey]) throws -> [ObjectKey] {
    try elements.compactMap { try transaction.concreteKey(root: $0) }
  }
}
