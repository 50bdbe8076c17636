import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension PageApplier {
  /// Finds the transactions of a change set whose deletes meet something that is pending here: an
  /// edit of an object, or a reference to one. What such a transaction deleted stays until the pull
  /// has reached its head, since a rule may bring back all that it took.
  func noteDeferredDeletes(_ frame: inout FrameContext) throws {
    if let pushIsBraked {
      frame.isBraked = pushIsBraked
    } else if !allowsMassDelete, !frame.changeSet.header.massDeleteIsMeant,
      frame.changeSet.index.hasDeletes
    {
      frame.isBraked = try !brake.admits(try heldDeletes(of: frame.changeSet.index))
    }
    // The part of a push that deletes an object need not be the one that cuts what referred to it.
    frame.mayCut =
      (frame.changeSet.index.hasDeletes || pushIsBraked != nil)
      && (frame.isBraked || !pending.isEmpty || !zone.keys.isEmpty)
    guard !frame.isBraked, !pending.isEmpty || !zone.keys.isEmpty else { return }
    if let deferredOfPush {
      let index = frame.changeSet.index
      frame.deferredTransactions = Set(
        index.transactions.indices.filter { deferredOfPush.have(index.transactions[$0]) })
      frame.cutTargets = deferredOfPush.targets
      return
    }
    try forEachDelete(in: &frame) { place, key, isAlive, entity, frame in
      guard !frame.deferredTransactions.contains(place) else { return }
      let meets = try isHeld(key) || (isAlive && isReferredToHere(key, entity))
      if meets { frame.deferredTransactions.insert(place) }
    }
    guard !frame.deferredTransactions.isEmpty else { return }
    try forEachDelete(in: &frame) { place, key, _, _, frame in
      if frame.deferredTransactions.contains(place) { frame.cutTargets.insert(rooted(key)) }
    }
  }

  /// Hands over what a change set deletes, with the place of the transaction that did.
  private func forEachDelete(
    in frame: inout FrameContext,
    _ body: (Int, ObjectKey, _ isAlive: Bool, SyncSchema.Entity, inout FrameContext) throws -> Void
  ) throws {
    for group in frame.changeSet.index.groups where group.kind == .delete {
      guard let entity = frame.entity(group.entity) else { continue }
      var row = 0
      for index in group.objects {
        defer { row += 1 }
        guard let place = frame.transaction(group, row: row),
          let (key, isAlive) = try target(index, entity, in: &frame)
        else { continue }
        try body(place, key, isAlive, entity, &frame)
      }
    }
  }

  /// Whether deletes are so many that a person is asked about them.
  var brake: MassDeleteBrake {
    MassDeleteBrake(transaction, schema: schema, limit: options.massDelete)
  }

  /// How many objects that this store showed before the entries came a change set deletes. What it has not read far enough to
  /// have had, it is not asked about.
  func heldDeletes(of index: ChangeSetIndex) throws -> Int {
    let held = try brake.held()
    func counts(_ root: ObjectKey?) throws -> Bool {
      guard let root, let key = try transaction.concreteKey(root: root) else { return false }
      return held.has(key.key, root: schema.root(of: key))
    }
    var count = 0
    let made = index.newObjectCount
    for group in index.groups where group.kind == .delete {
      for object in group.objects where try counts(key(of: object, in: index, made: made)) {
        count += 1
      }
    }
    for tombstone in index.tombstones
    where try counts(transaction.key(ofOwn: tombstone.identity)) {
      count += 1
    }
    return count
  }

  /// The key that an object of a change set has here before the change set is applied; nil for one that is not known.
  ///
  /// - Parameter made: how many new objects the change set has.
  func key(of object: Int, in index: ChangeSetIndex, made: Int) throws -> ObjectKey? {
    guard object >= made else {
      return try index.identity(ofNew: object).flatMap { try transaction.key(ofOwn: $0) }
    }
    guard index.knownNumbers.indices.contains(object - made) else { return nil }
    return try directory.key(ofNumber: index.knownNumbers[object - made])
  }

  /// Whether a pending edit refers to an object.
  func isReferredToHere(_ target: ObjectKey, _ entity: SyncSchema.Entity) throws -> Bool {
    for referrer in schema.referrers(of: entity) {
      for source in try transaction.keys(referring: referrer.relationship, to: target)
      where source != target && pending[source]?.transaction(of: referrer.property.slot) != nil {
        return true
      }
    }
    for holder in schema.holders(of: entity) {
      for source in try transaction.sources(holding: target, in: holder.relationship)
      where pending[source]?.transaction(of: holder.property.slot) != nil { return true }
    }
    return false
  }

  func applyDeletes(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ frame: inout FrameContext
  ) throws {
    try changingSets { try applyEachDelete(group, entity, &frame) }
  }

  private func applyEachDelete(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ frame: inout FrameContext
  ) throws {
    var row = 0
    for index in group.objects {
      defer { row += 1 }
      guard let (key, isAlive) = try target(index, entity, in: &frame),
        try !isStruck(index, frame)
      else { continue }
      if remembered.haveCome { try remembered.forget(key) }
      if let own = pending[key], own.whole == .delete, own.wholeTransaction > 0,
        try frame.tells(transaction.transactionName(own.wholeTransaction))
      {
        // The very delete that is pending here: another copy of this store sent it, or this one did before it was put back.
        setPending(key) { $0 = PendingObject() }
        try BaseValues.drop(key, on: transaction.connection)
        try transaction.dropDeltas(of: key)
        try parkedValues.strike(key)
        try zone.remove(key)
        continue
      }
      let isDeferred =
        frame.transaction(group, row: row).map(frame.deferredTransactions.contains) ?? false
      if isDeferred || frame.isBraked || isHeld(key) {
        if isAlive || pending[key] != nil {
          let isBraked = frame.isBraked && isAlive
          let side = frame.side(group, row: row)
          try zone.set(
            isBraked ? .braked : .dead, of: key, side,
            cuts: deleteCuts.ofSave(side, of: rooted(key)))
        }
        continue
      }
      guard isAlive else { continue }
      try journalLateDelete(entity, key, index, frame, frame.side(group, row: row))
      try deleteHere(entity, key)
      frame.table.setLife(.dead, key: key, at: index)
      report.deleted += 1
    }
  }

  func applyRevivals(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    _ frame: inout FrameContext
  ) throws {
    try changingSets { try applyEachRevival(group, entity, readers, &frame) }
  }

  private func applyEachRevival(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    _ frame: inout FrameContext
  ) throws {
    var row = 0
    for index in group.objects {
      defer { row += 1 }
      guard let (key, isAlive) = try target(index, entity, in: &frame),
        try !isStruck(index, frame)
      else { continue }
      try finishSets(of: key)
      let readers = try current(readers, of: index, frame)
      if isHeld(key) {
        try zone.set(.revived, of: key, frame.side(group, row: row))
        try applyHeld(entity, key, readers, group, row: row, isWhole: true, &frame)
        // Dead and alive again between two pulls, with nothing pending: it always lived.
        if pending[key] == nil { try zone.removeMark(key) }
      } else if !isAlive {
        try insertAgain(entity, key, readers, group, row: row, index: index, &frame)
      } else {
        // Alive here although the zone had deleted it: this replica made or kept it as well.
        try applyRow(key, readers, group, row: row, isWhole: true, &frame)
      }
    }
  }

  /// Deletes a row because the log says so. What refers to it reads as null from now on, and is not
  /// pending by that.
  func deleteHere(_ entity: SyncSchema.Entity, _ key: ObjectKey) throws {
    try finishSets(of: key)
    try journal.keepForWaiting(entity, key)
    try cutReferences(to: key, entity)
    if pending[key] != nil { setPending(key) { $0 = PendingObject() } }
    try BaseValues.drop(key, on: transaction.connection)
    try transaction.dropDeltas(of: key)
    try parkedValues.strike(key)
    try transaction.delete(key, expectedVersion: nil)
  }

  /// Sets every reference to the object to null and remembers it as dangling.
  func cutReferences(to target: ObjectKey, _ entity: SyncSchema.Entity) throws {
    let root = schema.root(of: target)
    for referrer in schema.referrers(of: entity) {
      for source in try transaction.keys(referring: referrer.relationship, to: target)
      where source != target {
        let slot = referrer.property.slot
        // A pending edit goes on referring to it, though it reads as null: should the object come
        // back, the edit is not lost.
        let edit = try pending[source]?.transaction(of: slot).map { try transaction.editTime($0) }
        let reference = DanglingReferences.Source(key: source, property: referrer.property.name)
        if edit != nil { try dangling.removeAll(of: reference) }
        try dangling.add(reference, root: root, target: target.key, edit: edit)
        var values = try currentValues(of: source)
        values[slot] = .null
        try transaction.update(
          source, PropertyMask([slot]), values: values, expectedVersion: nil)
      }
    }
    for holder in schema.holders(of: entity) {
      for source in try transaction.sources(holding: target, in: holder.relationship) {
        try cutElement(target, from: source, holder)
      }
    }
    for property in entity.properties {
      guard case .elements(let relationship) = property.kind else { continue }
      let elements = try transaction.toManyKeys(of: target, relationship)
      try transaction.removePairs(relationship, target, elements)
    }
  }

  /// What an object was when it was deleted here, or what the zone says of one whose row is kept no more: a server lost the
  /// delete that it had acknowledged, and was offered the object anew.
  func buried(_ entity: SyncSchema.Entity, _ key: ObjectKey) throws -> [PropertyValue]? {
    if let grave = try transaction.grave(of: key) { return grave }
    let object = try zone.object(key)
    guard let life = object.mark?.life, life == .inserted || life == .revived else { return nil }
    var values = [PropertyValue](repeating: .null, count: entity.description.layout.slots.count)
    for property in entity.properties {
      switch property.kind {
      case .attribute, .toOne:
        values[property.slot] = object.values[property.name]?.side.value ?? .null
      case .place, .elements: continue
      }
      if let standIn = property.standIn, standIn.refusal(of: values[property.slot]) != nil {
        values[property.slot] = standIn.shown(for: values[property.slot])
      }
    }
    return values
  }

  /// Brings back an object that was deleted here: an edit of another replica wins.
  func bringBack(_ entity: SyncSchema.Entity, _ key: ObjectKey) throws {
    guard let buried = try buried(entity, key) else {
      throw SyncError.damaged("the deleted object \(key.key) of \(entity.name)")
    }
    // What waited for its key when the object was deleted, waits again or is written.
    var values = keptKeys.claimed(key, buried)
    try keptKeys.forget(key, nil)
    entity.echoes.forEach { values[$0] = .null }
    for property in entity.properties {
      guard case .toOne = property.kind, case .reference(let target) = values[property.slot],
        try transaction.concreteKey(root: target) == nil
      else { continue }
      values[property.slot] = .null
      // An edit that was made before the delete is pending again, though it reads as null.
      let edit = try pending[key]?.transaction(of: property.slot).map(transaction.editTime)
      try dangling.add(
        DanglingReferences.Source(key: key, property: property.name),
        root: schema.root(of: target), target: target.key, edit: edit)
    }
    let deletion = pending[key]?.wholeTransaction
    setPending(key) { object in
      object.whole = .none
      object.wholeTransaction = 0
    }
    try transaction.insert(entity.description, key.key, values: values)
    try bringBackPlaces(of: entity, key)
    try bringBackPairs(of: entity, key)
    report.inserted += 1
    try restoreReferences(to: key)
    try restoreElements(of: key, entity)
    try restoreOwnCuts(to: key, entity, deletion: deletion)
  }

  /// Puts an object that is back into the sets that the zone's log has it in, and fills its own.
  private func bringBackPairs(of entity: SyncSchema.Entity, _ key: ObjectKey) throws {
    let connection = transaction.connection
    for property in entity.properties {
      guard case .elements(let relationship) = property.kind,
        let base = try BaseValues.keys(of: key, property.name, on: connection)
      else { continue }
      let isPending = pending[key]?.transaction(of: property.slot) != nil
      // What was sent before the delete the zone may have by now, or will have: the set is as that says.
      let sent = isPending ? try unansweredSets.get().word(of: key, property.name) : nil
      let source = DanglingReferences.Source(key: key, property: property.name)
      let sequence =
        relationship.isOrdered && !isPending ? try settledSequence(of: source, property) : []
      var alive: [ObjectKey] = []
      for element in sent?.elements(over: base) ?? base {
        if try transaction.concreteKey(root: element) != nil {
          alive.append(element)
        } else if !isPending {
          // Deleted here as well: it comes back into the set, should it come back.
          try dangling.add(source, root: schema.root(of: element), target: element.key)
        }
      }
      try note(sequence, of: source)
      try changePairs(
        ElementChange(relationship: relationship, adds: alive, removes: []), of: key)
      if !isPending { try BaseValues.drop(key, property.name, on: connection) }
    }
    for holder in schema.holders(of: entity) {
      for source in try baseHolders.owners(named: holder.property.name, of: key) {
        guard let owner = schema.entity(numbered: source.entity),
          owner.description.isKindOf(entity: holder.owner),
          try transaction.concreteKey(root: source) != nil
        else { continue }
        // A set that is pending here says for itself that the object left it, where it does not say that it came.
        if pending[source]?.transaction(of: holder.property.slot) != nil,
          try BaseValues.set(of: source, holder.property.name, on: connection)?
            .asserted.contains(key) != true
        {
          continue
        }
        try putBack(
          key, into: .init(key: source, property: holder.property.name), holder.property,
          holder.relationship, isInZone: false)
      }
    }
  }
}
