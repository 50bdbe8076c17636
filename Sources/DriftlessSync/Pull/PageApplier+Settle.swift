import Driftless
import DriftlessSQLite
import Foundation

/// Settling: what was pulled meets what is pending, once, when the pull has reached its head.
extension PageApplier {
  /// Settles everything that the zone says of what is pending here.
  ///
  /// Values come first, so that it is known which references stand; then which deletes stand
  /// (`DeleteFates`), and the values of what comes back; then who holds which key (`KeySettlement`).
  ///
  /// - Parameters:
  ///   - allowsMassDelete: deletes that the brake set aside are meant.
  ///   - kept: those up to this place of the log are not: the objects live on.
  func settle(allowsMassDelete: Bool, keepingDeletedUpTo kept: UInt64?) throws {
    let uniqueness = try KeySettlement(self)
    if !zone.keys.isEmpty || pending.objects.containsState(where: { $0.whole == .delete }) {
      if let kept { try keepBraked(upTo: kept) }
      try settleObjects(allowsMassDelete: allowsMassDelete)
    }
    if remembered.haveCome { try repeatDeletes() }
    // With every delete decided. A ring may close where nothing of both sides is the same property.
    try uniqueness.run()
    // What comes back with a reference may have a key, or a partner.
    if try TreeSettlement(self).run() { try uniqueness.run() }
    for key in standingDeletes { try zone.remove(key) }
    standingDeletes = []
    takenAlong = [:]
    partnerWords = [:]
    // With every place of every list decided.
    try placeConflicts.journal(by: self)
    placeConflicts = PlaceConflicts()
  }

  private func settleObjects(allowsMassDelete: Bool) throws {
    let keys = zone.keys.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    var fates = DeleteFates(self)
    var cut: [(target: ObjectKey, mark: ZoneStates.Mark)] = []
    for key in keys {
      guard let entity = schema.entity(numbered: key.entity) else {
        try zone.remove(key)
        continue
      }
      let object = try zone.object(key)
      if object.mark?.life.isBraked == true, !allowsMassDelete { continue }
      if let mark = object.mark, mark.isDead, !mark.cuts.isEmpty { cut.append((key, mark)) }
      if let side = object.newestSide { keptKeys.side = side }
      let isAlive = try transaction.concreteKey(root: key) == key
      switch DeleteTable.settle(
        local: pendingSide(of: key, against: object.mark), remote: object.change,
        policy: entity.description.deletePolicy)
      {
      case .apply:
        if isAlive { try settleValues(entity, key, object) }
        try zone.remove(key)
      case .deleteHere:
        if isAlive { try Unions(self).undo(before: key, entity) }
        fates.add(key, object, .zone)
      case .keepAndRevive:
        switch pending[key]?.whole {
        case .insert:
          // Another replica's object of this identity came and went: this one takes its number, where it has one.
          if let mark = object.mark, mark.isBuried {
            try journal.addWhole(
              entity: entity, key: key, outcome: .local,
              localTime: try transaction.editTime(pending[key]?.wholeTransaction ?? 0),
              side: mark.side,
              explanation: mark.isOneAgain
                ? Self.editWins
                : "Deleted by another replica that had an object of this identity; the one "
                  + "that was made here stays.")
            report.conflicts += 1
          } else {
            setPending(key) {
              $0.whole = .revive; $0.isDeadInZone = true
            }
          }
          try zone.remove(key)
        case .revive: try revive(entity, key, object, because: Self.editWins)
        default: fates.add(key, object, .zone)
        }
      case .bothDeleted:
        setPending(key) { $0 = PendingObject() }
        try parkedValues.strike(key)
        try zone.remove(key)
      case .keepDeleted, .bringBack: fates.add(key, object, .here)
      }
    }
    try settleDeletes(&fates)
    // With all decided that stays.
    try restoreCuts(cut)
  }

  static let editWins = "Edited here, deleted by another replica: the edit wins, the object stays."

  /// What this replica did to an object and has not pushed.
  ///
  /// What is only offered anew had been the zone's, and is no edit against a delete that came after it.
  func pendingSide(of key: ObjectKey, against mark: ZoneStates.Mark?) -> DeleteTable.Local {
    guard let object = pending[key] else { return .nothing }
    // What is offered is no edit against a delete; what was edited on it and never acknowledged is.
    if !object.offers.isEmpty, object.whole != .delete {
      return object.isOfferAlone ? .nothing : .edit
    }
    switch object.whole {
    case .none: return .edit
    case .delete: return .delete
    case .revive: return .remade
    case .insert:
      // A copy of this store sent it, and it was deleted there.
      if let mark, mark.isBuried, mark.isOneAgain {
        return object.lastTransaction > object.wholeTransaction ? .edit : .nothing
      }
      guard let mark, mark.isDead, let made = EditStamp.time(object.wholeTransaction),
        made <= mark.side.time
      else { return .remade }
      guard let edited = EditStamp.time(object.lastTransaction) else { return .edit }
      return edited > mark.side.time ? .edit : .nothing
    }
  }

  /// Settles what the zone says of the properties of an object that lives.
  func settleValues(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ object: ZoneStates.Object
  ) throws {
    try finishSets(of: key)
    // What is offered is no insert of another object: all that it says, it says with its time.
    let isOffered = pending[key]?.offers.isEmpty == false
    // The zone had lost the object, and has it again from another replica.
    let isOneAgain = self.isOffered(key)
    let wasTold = self.wasTold(pending[key])
    if object.mark?.life == .inserted {
      if isOffered {
        setPending(key) {
          $0.whole = .none; $0.wholeTransaction = 0
        }
      } else {
        try settleInsert(entity, key, object)
      }
    }
    if object.mark?.life == .revived, pending[key]?.whole == .revive {
      setPending(key) {
        $0.whole = .none; $0.wholeTransaction = 0; $0.isDeadInZone = false
      }
    }
    let isInsert = object.mark?.life == .inserted && !isOffered
    var values = try currentValues(of: key)
    var written = PropertyMask()
    var outcomes: [Int: ReferenceOutcome] = [:]
    for property in entity.properties {
      guard let remote = object.values[property.name] else {
        if object.mark?.life == .inserted {
          try noteUnnamed(property, of: key, isOffered: isOffered)
        }
        continue
      }
      let slot = property.slot
      switch property.kind {
      case .place(let relationship):
        try settlePlace(
          property, relationship, entity, of: key, remote.side, reference: outcomes[slot])
      case .elements(let relationship):
        try settleElements(property, relationship, of: key, remote)
      case .attribute, .toOne:
        // What was counted on the lost object counts on the one that is there again.
        let isCountedAgain =
          isOneAgain && property.policy == .counter
          && (object.mark?.isOneAgain == true || (pending[key]?.transaction(of: slot) ?? 0) > 0)
        let isCounted = try isCountedAgain || wasTold && isCountedSinceLeft(property, of: key)
        let (before, edited) = (values[slot], pending[key]?.transaction(of: slot))
        let outcome = try settleValue(
          entity, property, of: key, &values, object, isInsert: isInsert && !isCounted)
        outcomes[slot] = outcome
        if case .local = outcome { continue }
        // Two made the object alike, as copies of one file have it: nothing is written, nobody told.
        if isInsert || edited != nil, values[slot] == before, try isAsOld(edited, remote.side) {
          continue
        }
        written.insert(slot)
      }
    }
    guard !written.isEmpty else { return }
    let sides = entity.properties.filter { written.contains($0.slot) }
      .compactMap { object.values[$0.name]?.side }
    if let newest = sides.max(by: { $0.time < $1.time }) {
      try times.note(newest.time, by: origin(of: newest))
    }
    try transaction.update(key, written, values: values, expectedVersion: nil)
    report.updated += 1
  }

  /// The zone has nothing of a property of an object that it was told whole.
  private func noteUnnamed(
    _ property: SyncSchema.Property, of key: ObjectKey, isOffered: Bool
  ) throws {
    let connection = transaction.connection
    let isPending = pending[key]?.transaction(of: property.slot) != nil
    if case .elements(let relationship) = property.kind {
      guard isOffered || isPending else { return }
      // All that are here are to be sent, and what was taken out here stays out, should another replica put it in.
      let local = Set(try transaction.toManyKeys(of: key, relationship))
      let gone = try BaseValues.keys(of: key, property.name, on: connection) ?? []
      try BaseValues.replace(
        key, property.name, with: [],
        asserting: isOffered ? [] : gone.filter { !local.contains($0) }, on: connection)
    } else if property.mayGoBack, isPending {
      try BaseValues.replace(key, property.name, with: .null, on: connection)
    }
  }

  /// Settles one value, which `values` has afterwards, and says whose it is.
  private func settleValue(
    _ entity: SyncSchema.Entity, _ property: SyncSchema.Property, of key: ObjectKey,
    _ values: inout [PropertyValue], _ object: ZoneStates.Object, isInsert: Bool
  ) throws -> ReferenceOutcome {
    guard var remote = object.values[property.name]?.side else { return .local }
    var target: ObjectKey?
    if case .reference(let key) = remote.value {
      target = key
      if let living = try transaction.concreteKey(root: key) { remote.value = .reference(living) }
    }
    let slot = property.slot
    remote.value = present(remote.value, beside: values[slot])
    guard let localTransaction = pending[key]?.transaction(of: slot) else {
      values[slot] = try stored(remote, target, property, of: key)
      return .remote
    }
    if !isInsert, try isCountedSinceLeft(property, of: key),
      try baseValue(of: key, property) == remote.value
    {
      // What the zone had when the store left it: it needs no offer of that.
      setPending(key) { object in
        if object.offer(of: slot) != localTransaction { object.withdrawOffer(of: slot) }
      }
      return .local
    }
    // What is not here may have come with the zone's word.
    var local = present(try known(property, of: key, values[slot]), beside: remote.value)
    if let zone = object.values[property.name], pending[key]?.offer(of: slot) != nil {
      var zone = zone
      zone.side.value = remote.value
      if let value = try settleOffer(entity, property, of: key, local: local, zone) {
        guard pending[key]?.transaction(of: slot) == nil || value != local else {
          return .local
        }
        remote.value = value
        let isTheirs = pending[key]?.transaction(of: slot) == nil
        values[slot] = try stored(remote, isTheirs ? target : nil, property, of: key)
        return .remote
      }
    }
    if object.values[property.name]?.isFromInsert == true, isInsert,
      remote.value.isNull || remote.value == entity.description.layout.slots[slot].defaultValue
    {
      // The other replica's insert says what its model begins with: no edit.
      return .local
    }
    if case .toOne = property.kind, remote.value == values[slot],
      object.values[PlaceName.of(property.name)] != nil
    {
      // The same list on both sides: the places beside the references are what may differ.
      try replaceBase(of: key, property, with: remote.value)
      return .same(localTransaction: localTransaction)
    }
    let source = DanglingReferences.Source(key: key, property: property.name)
    if case .toOne = property.kind, local.isNull,
      let lost = try dangling.target(
        of: source, editedAt: try transaction.editTime(localTransaction))
    {
      local = .reference(lost)
      if target?.key == lost.key, schema.root(of: target ?? lost) == lost.entity {
        remote.value = local
      }
    }
    guard
      let value = try settle(
        entity, property, of: key, local: local, localTransaction: localTransaction,
        remote: remote, isInsert: isInsert)
    else {
      if pending[key]?.transaction(of: slot) == nil { try dangling.acknowledge(source) }
      return .local
    }
    remote.value = value
    values[slot] = try stored(remote, target, property, of: key)
    return .remote
  }

  /// A value of the zone as the row has it: a reference to what is deleted here is null, and
  /// remembered.
  private func stored(
    _ remote: RemoteSide, _ target: ObjectKey?, _ property: SyncSchema.Property, of key: ObjectKey
  ) throws -> PropertyValue {
    let value = remote.value
    guard case .toOne = property.kind else {
      try parkedValues.strike(key, property.name)
      return try held(value, property, of: key, remote)
    }
    let source = DanglingReferences.Source(key: key, property: property.name)
    try dangling.removeAll(of: source)
    guard let target, try transaction.concreteKey(root: target) == nil else { return value }
    try dangling.add(source, root: schema.root(of: target), target: target.key)
    return .null
  }

  private func settleElements(
    _ property: SyncSchema.Property, _ relationship: RelationshipDescription, of key: ObjectKey,
    _ remote: ZoneStates.Value
  ) throws {
    guard pending[key]?.transaction(of: property.slot) == nil else {
      return try settle(property, relationship, of: key, remote)
    }
    let current = try transaction.toManyKeys(of: key, relationship)
    let source = DanglingReferences.Source(key: key, property: property.name)
    for former in try dangling.targets(of: source).without(remote.elements.map(rooted)) {
      try dangling.remove(source, root: former.entity, target: former.key)
    }
    var theirs: [ObjectKey] = []
    for (place, element) in remote.elements.enumerated() {
      if let living = try transaction.concreteKey(root: element) {
        theirs.append(living)
      } else {
        try dangling.add(source, root: schema.root(of: element), target: element.key)
        if relationship.isOrdered {
          try dangling.note(place: place, of: rooted(element), in: source)
        }
      }
    }
    try apply(ElementChange(relationship, from: current, to: theirs), to: key)
    guard relationship.isOrdered else { return }
    try transaction.setOrder(relationship, key, theirs)
    if let base = try BaseValues.keys(of: key, property.name, on: transaction.connection) {
      try BaseValues.replace(
        key, property.name, with: base.inSequence(remote.elements, by: rooted),
        on: transaction.connection)
    }
  }

  /// Two replicas made one object: what either does not name, or left as its model begins it, is no
  /// edit of it.
  private func settleInsert(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ object: ZoneStates.Object
  ) throws {
    guard let local = pending[key] else { return }
    let values = try currentValues(of: key)
    let slots = entity.description.layout.slots
    var unsaid = PropertyMask()
    for property in entity.properties {
      let slot = property.slot
      let isUntouched =
        local.whole == .insert && local.transaction(of: slot) == local.wholeTransaction
      let isNamed = object.values[property.name] != nil
      guard isUntouched || !isNamed else { continue }
      switch property.kind {
      case .place: continue
      case .elements(let relationship):
        if try transaction.toManyKeys(of: key, relationship).isEmpty { unsaid.insert(slot) }
      case .attribute, .toOne:
        let value = values[slot]
        if value.isNull || (isNamed && value == slots[slot].defaultValue) { unsaid.insert(slot) }
      }
    }
    setPending(key) { state in
      if state.whole == .insert {
        state.whole = .none
        state.wholeTransaction = 0
      }
      state.clear(unsaid)
    }
    for property in entity.properties where unsaid.contains(property.slot) {
      try dropBase(of: key, property)
    }
  }
}

extension ZoneStates.Object {
  /// What the log did to the object, in the end.
  var change: DeleteTable.Remote {
    switch mark?.life {
    case .dead, .braked, .buried, .buriedBraked: .delete
    case .revived: .revive
    case .inserted, nil: .edit
    }
  }
}
