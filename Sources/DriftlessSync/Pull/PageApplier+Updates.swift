import Driftless
import DriftlessProtocol
import Foundation

extension PageApplier {
  func applyUpdates(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    _ frame: inout FrameContext
  ) throws {
    var values = [PropertyValue](repeating: .null, count: entity.description.layout.slots.count)
    let (single, elements, places) = PropertyReader.split(readers)
    var mask = PropertyMask()
    for reader in single { mask.insert(reader.property.slot) }
    var row = 0
    // Each run of rows is of one transaction.
    var runs = group.transactionRuns[...]
    var runEnd = 0
    for index in group.objects {
      if row == runEnd, let run = runs.popFirst() {
        try times.note(frame.time(of: run), by: frame.origin(of: run))
        runEnd += run.count
      }
      defer { row += 1 }
      guard let (key, isAlive) = try target(index, entity, isUpdate: true, in: &frame) else {
        continue
      }
      if isLate || isHeld(key) {
        let readers = try current(readers, of: index, frame)
        if isHeld(key) {
          try applyHeld(entity, key, readers, group, row: row, &frame)
        } else if isAlive {
          try applyRow(key, readers, group, row: row, &frame)
        }
        continue
      }
      // Without a row and without a pending delete there is nothing to update: the object is gone
      // for good.
      guard isAlive else { continue }
      if frame.mayCut { try noteCuts(single, of: key, group, row: row, frame) }
      if !mask.isEmpty {
        var former = FormerRow()
        for reader in single {
          values[reader.property.slot] = try read(
            reader, group, row: row, of: key, beside: &former, &frame)
        }
        try transaction.update(key, mask, values: values, expectedVersion: nil)
      } else if !places.isEmpty {
        try transaction.recordUpdate(
          key, PropertyMask(places.map(\.property.slot)))
      }
      try applyPlaces(places, row: row, of: key)
      for reader in elements {
        let change = try elementChange(reader, row: row, of: key, &frame)
        if frame.mayCut {
          try noteCuts(change.removes, from: key, reader.property, group, row: row, frame)
        }
        try apply(change, to: key)
      }
      report.updated += 1
    }
  }

  /// Whether something of the object is pending here, or waits to be settled.
  func isHeld(_ key: ObjectKey) -> Bool {
    (!pending.isEmpty && pending[key] != nil) || zone.contains(key)
  }

  /// What a row of a change set says of an object that is held: what is pending is kept beside it,
  /// the rest applies.
  ///
  /// - Parameters:
  ///   - isInsert: the change set makes the object, so its values may be nobody's edits.
  ///   - isWhole: the change set says the whole object: its sets are whole sets, not additions.
  func applyHeld(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ readers: [PropertyReader],
    _ group: ChangeSetIndex.Group, row: Int, isInsert: Bool = false, isWhole: Bool = false,
    _ frame: inout FrameContext
  ) throws {
    let object = pending[key]
    let isAlive = try transaction.concreteKey(root: key) == key
    let known = try zone.object(key)
    let isOffer = frame.isOffer(group, row: row)
    let side = frame.side(group, row: row)
    // Of a total and a set the time alone tells which of two is the later one.
    let isEarlierWord = isOffer || isOfFormerLog(side)
    // What was offered or made may have been known to who deleted the object here.
    let mayBeKnown = object?.whole == .delete && (isOffer || isInsert)
    let isSettled = object?.whole == .delete && isOfKnownLog(side)
    var free: [PropertyReader] = []
    for reader in readers {
      if isAlive, object?.transaction(of: reader.property.slot) == nil,
        known.values[reader.property.name] == nil
      {
        free.append(reader)
        continue
      }
      if try keepLeftOut(reader, among: readers, of: key, group, row: row, frame) { continue }
      let before = known.values[reader.property.name]
      var value = ZoneStates.Value(side: side, isFromInsert: isInsert)
      if isEarlierWord, !addsUp(reader.property) { value.offered = side.time }
      if let object, isSettled || mayBeKnown, before?.isKnown ?? true {
        value.isKnown =
          try isSettled || wasKnown(reader, row: row, at: side.time, of: key, object)
      }
      switch reader.property.kind {
      case .elements:
        value.isUntold = before?.isUntold ?? false
        let former =
          frame.mayCut && isAlive
          ? try before?.elements
            ?? knownElements(
              reader.property, of: key, .init(key: key, property: reader.property.name)) : []
        value.elements = try zoneElements(
          reader, row: row, of: key, had: before?.elements,
          isWhole: isInsert || isWhole || reader.saysWhole, &frame)
        if !former.isEmpty {
          let rest = Set(value.elements.map(rooted))
          let gone = try former.filter { !rest.contains(rooted($0)) }
            .compactMap { try transaction.concreteKey(root: $0) }
          try noteCuts(gone, from: key, reader.property, group, row: row, frame)
        }
        if !isInsert, !isWhole, !reader.saysWhole {
          try noteElementsByName(&value, reader, row: row, after: before, &frame)
        }
        try noteSharedElements(reader, group, row: row, of: key, &frame)
        if object?.offer(of: reader.property.slot) != nil {
          try noteSet(
            &value, of: key, reader.property, after: before, isOffer: isEarlierWord)
        }
      case .toOne:
        guard let index = reader.reference(row) else { break }
        if let target = try life(of: index, in: &frame) {
          let isAdmitted = schema.admits(
            target.key, isAlive: target.life == .alive, in: reader.property.relationship)
          if isAdmitted { value.side.value = .reference(target.key) }
        } else {
          noteUnmade(index, "\(entity.name).\(reader.property.name)", &frame)
        }
      case .place: value.side.value = reader.value(row)
      case .attribute:
        value.side.value = reader.value(row)
        if object?.offer(of: reader.property.slot) != nil, reader.property.policy == .counter {
          try noteCount(
            &value, of: key, reader.property, after: before, isOffer: isEarlierWord,
            count: try knownCount(group, row: row, frame))
        }
      }
      if !isOffer, try isKnownBelow(entity, reader.property, object, group, row: row, frame) {
        try replaceBase(of: key, reader.property, with: value.side.value)
        try zone.removeValue(of: key, reader.property.name)
        continue
      }
      try zone.set(value, of: key, reader.property.name)
      if try isLess(value.elements, of: reader.property, of: key, frame) { continue }
      try acknowledge(reader.property, of: key, offer: isOffer ? side.time : nil, frame)
    }
    if let object, object.whole == .delete {
      let deleted = try transaction.editTime(object.wholeTransaction)
      try noteStrangers(
        of: key, side, isKnown: isSettled || mayBeKnown && side.time <= deleted, row: row, frame)
    }
    if isAlive { try applyRow(key, free, group, row: row, isWhole: isWhole, &frame) }
  }

  /// Whether what is offered of a property goes beside what was changed of it: it is noted by itself (`noteCount`, `noteSet`).
  private func addsUp(_ property: SyncSchema.Property) -> Bool {
    switch property.kind {
    case .elements: true
    case .attribute: property.policy == .counter
    case .toOne, .place: false
    }
  }

  /// An edit of what the model has no name for is one all the same: it may win over a delete, and is named when it does not.
  private func noteStrangers(
    of key: ObjectKey, _ side: RemoteSide, isKnown: Bool, row: Int, _ frame: FrameContext
  ) throws {
    for (name, column) in frame.strangers {
      var value = ZoneStates.Value(side: side)
      value.isKnown = isKnown
      value.side.value = column.value(at: row)
      try zone.set(value, of: key, name)
    }
  }

  /// Whether whoever deleted an object here knew what is offered of a property.
  ///
  /// What had to wait for a key when all else of its save was sent comes later with the same time: of that the object had
  /// nothing here.
  private func wasKnown(
    _ reader: PropertyReader, row: Int, at time: HybridTime, of key: ObjectKey,
    _ object: PendingObject
  ) throws -> Bool {
    let property = reader.property
    let last = try lastKnown(property, of: key, object)
    guard time == last, property.isSealed, !reader.value(row).isNull,
      // Who cleared it, or holds it without the key, had it.
      object.transaction(of: property.slot) == nil,
      try parkedValues.value(of: key, property.name) == nil
    else { return time <= last }
    return try transaction.grave(of: key)?[property.slot].isNull != true
  }

  /// Up to when whoever deleted an object here knew the edits of a property: up to the last one that history has. Where
  /// history does not go that far back, up to the delete.
  private func lastKnown(
    _ property: SyncSchema.Property, of key: ObjectKey, _ object: PendingObject
  ) throws -> HybridTime {
    if let edited = try knownEdits().time(of: key, property.slot) { return edited }
    return try transaction.editTime(object.wholeTransaction)
  }

  /// The zone's set after a row of an element column, with the elements that are deleted here: they may be back when it is
  /// settled.
  private func zoneElements(
    _ reader: PropertyReader, row: Int, of key: ObjectKey, had: [ObjectKey]?, isWhole: Bool,
    _ frame: inout FrameContext
  ) throws -> [ObjectKey] {
    let source = DanglingReferences.Source(key: key, property: reader.property.name)
    let isOrdered = reader.property.relationship?.isOrdered == true
    let former = isOrdered ? try zoneSequence(of: source, reader.property) : []
    // What is deleted is remembered as well.
    let change = try elementChange(reader, row: row, of: key, isWhole: isWhole, &frame)
    let (added, removed) = reader.elements(row)
    let adds = try rooted(admitted(added, change.relationship, &frame), &frame)
    if isWhole, reader.laterElements.isEmpty { return adds }
    let removes = try rooted(removed, &frame)
    if isOrdered, !isWhole {
      return ElementSequence.after(former, adding: adds, removing: removes)
    }
    // The base is of what the zone had before: of an object that it has anew since, it had nothing.
    let isAnew = try zone.object(key).mark?.life == .inserted
    let base =
      try had ?? (isAnew ? [] : knownElements(reader.property, of: key, source))
    if isWhole {
      return try adds + base.map(rooted).filter { try isNamedLater($0, reader) }
    }
    let gone = Set(removes)
    let kept = base.map(rooted).filter { !gone.contains($0) }
    let known = Set(kept)
    return kept + adds.filter { !known.contains($0) }
  }

  /// The zone's set as the base has it. What the zone has in the set of an object that is deleted here, and was deleted when
  /// that was, is in no base: it may be back by now, or come back later.
  private func knownElements(
    _ property: SyncSchema.Property, of key: ObjectKey, _ source: DanglingReferences.Source
  ) throws -> [ObjectKey] {
    let base = try BaseValues.keys(of: key, property.name, on: transaction.connection) ?? []
    guard pending[key]?.whole == .delete else { return base.map(rooted) }
    let all = base.map(rooted)
    let known = Set(all)
    return try all + dangling.targets(of: source).filter { !known.contains($0) }
  }

  /// Elements that rows put in or took out by name, with the time: also where the zone had them, since who removed one and put
  /// it in again says so.
  private func noteElementsByName(
    _ value: inout ZoneStates.Value, _ reader: PropertyReader, row: Int,
    after before: ZoneStates.Value?, _ frame: inout FrameContext
  ) throws {
    guard case .elements(let relationship) = reader.property.kind else { return }
    let time = value.side.time
    let (added, removed) = reader.elements(row)
    value.told = before?.told ?? [:]
    value.taken = before?.taken ?? [:]
    for element in try rooted(removed, &frame) {
      value.told[element] = nil
      value.taken[element] = max(time, value.taken[element] ?? time)
    }
    for element in try rooted(added, &frame) {
      value.taken[element] = nil
      // An ordered one names its whole sequence.
      guard !relationship.isOrdered else { continue }
      value.told[element] = max(time, value.told[element] ?? time)
    }
  }

  func admitted(
    _ indexes: [Int], _ relationship: RelationshipDescription, _ frame: inout FrameContext
  ) throws -> [Int] {
    try indexes.filter { index in
      guard let entry = try life(of: index, in: &frame) else { return false }
      return schema.admits(entry.key, isAlive: entry.life == .alive, in: relationship)
    }
  }

  func rooted(_ indexes: [Int], _ frame: inout FrameContext) throws -> [ObjectKey] {
    try indexes.compactMap { try life(of: $0, in: &frame).map { rooted($0.key) } }
  }

  func rooted(_ key: ObjectKey) -> ObjectKey { schema.rooted(key) }

  /// Writes one row of a change set over what is here.
  func applyRow(
    _ key: ObjectKey, _ readers: [PropertyReader], _ group: ChangeSetIndex.Group, row: Int,
    isWhole: Bool = false, _ frame: inout FrameContext
  ) throws {
    let (single, elements, places) = PropertyReader.split(readers)
    if frame.mayCut { try noteCuts(single, of: key, group, row: row, frame) }
    if !single.isEmpty {
      // Nothing but what is written is taken of it.
      guard var values = try transaction.knownOwnRow(key)?.values else {
        throw SyncError.damaged("object \(key.key) of entity number \(key.entity)")
      }
      var written = PropertyMask()
      var former = FormerRow()
      for reader in single {
        values[reader.property.slot] = try read(
          reader, group, row: row, of: key, beside: &former, &frame)
        written.insert(reader.property.slot)
      }
      try transaction.update(key, written, values: values, expectedVersion: nil)
      report.updated += 1
    } else if !places.isEmpty {
      try transaction.recordUpdate(key, PropertyMask(places.map(\.property.slot)))
    }
    try applyPlaces(places, row: row, of: key)
    for reader in elements {
      let change = try elementChange(reader, row: row, of: key, isWhole: isWhole, &frame)
      if frame.mayCut {
        try noteCuts(change.removes, from: key, reader.property, group, row: row, frame)
      }
      try apply(change, to: key)
    }
  }
}
