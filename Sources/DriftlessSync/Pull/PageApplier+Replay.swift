import Driftless
import DriftlessProtocol
import Foundation

extension PageApplier {
  /// Takes in an entry of which nothing was applied when it came. What was set since then stays.
  func applyLate(_ changeSet: ChangeSet, _ entry: Parking.Entry) throws -> FrameContext {
    parked.removeAll { $0.sequence == entry.sequence }
    isLate = true
    defer { isLate = false }
    let frame = try apply(changeSet, sequence: entry.sequence, firstNumber: entry.firstNumber)
    try ModelMeaning.Notes.add(frame, transaction)
    return frame
  }

  /// Sets a parked value that the model holds by now. It stays parked while an edit of the property
  /// is pending here: the zone has not said yet that it takes it. Where that edit went back to the very value, the row gets its bytes,
  /// and the edit waits on.
  func takeIn(_ row: ParkedValues.Row) throws {
    guard let entity = schema.entity(numbered: row.key.entity),
      let property = entity.property(named: row.property)
    else { return }
    guard pending[row.key]?.transaction(of: property.slot) == nil else {
      return try fill(row, property, of: entity)
    }
    var value = row.value
    var named: LargeValue?
    if let large = LargeCell.value(in: value) {
      if !LargeCell.isSealed(value), property.standIn?.showsNames == true { named = large }
      guard let bytes = try ValuePieces.bytes(of: large, on: transaction.connection) else { return }
      value = LargeCell.isSealed(value) ? SealedValue.value(ofCell: bytes) : .data(bytes)
      try MissedValues.forget(large.digest, on: transaction.connection)
    }
    if let cell = SealedValue.cell(in: value) {
      let opened = try opener.value(ofCell: cell, property, of: entity, row.key)
      // What came just now may be a cell that nobody here opens.
      guard opened != nil || value != row.value else { return }
      value = opened ?? value
    }
    try parkedValues.strike(row.key, row.property)
    if let named { try parkedValues.named.note(named, of: row.key, property.name) }
    if var values = try transaction.knownOwnRow(row.key)?.values {
      // What was opened may be what the model here does not hold.
      values[property.slot] = try held(
        value, property, of: row.key,
        RemoteSide(
          value: value, time: HybridTime(rawValue: 0), origin: row.sender, sequence: row.sequence))
      try transaction.update(
        row.key, PropertyMask([property.slot]), values: values, expectedVersion: nil)
      report.updated += 1
    }
    try finishKeys()
  }

  /// Puts the bytes of a large value in the place of its name, under an edit that has set that name.
  private func fill(
    _ row: ParkedValues.Row, _ property: SyncSchema.Property, of entity: SyncSchema.Entity
  ) throws {
    guard let large = LargeCell.value(in: row.value),
      var values = try transaction.knownOwnRow(row.key)?.values,
      LargeCell.value(in: values[property.slot]) == large,
      let bytes = try ValuePieces.bytes(of: large, on: transaction.connection)
    else { return }
    var value = PropertyValue.data(bytes)
    if LargeCell.isSealed(row.value) {
      guard let cell = SealedValue.cell(in: SealedValue.value(ofCell: bytes)),
        let opened = try opener.value(ofCell: cell, property, of: entity, row.key)
      else { return }
      value = opened
    }
    values[property.slot] = value
    try transaction.update(
      row.key, PropertyMask([property.slot]), values: values, expectedVersion: nil)
    try MissedValues.forget(large.digest, on: transaction.connection)
    report.updated += 1
  }

  /// Gives the objects of an entry that cannot be applied their identities and numbers, so that
  /// others can refer to them.
  func noteObjects(_ index: ChangeSetIndex, header: ChangeSetHeader, _ entry: PullPage.Entry) throws
  {
    var frame = FrameContext(
      ChangeSet(header: header, index: index, columns: []), sequence: entry.sequence,
      firstNumber: entry.firstObjectNumber, schema: schema)
    try makeTable(&frame, firstNumber: entry.firstObjectNumber)
  }

  /// Applies those rows of an entry that are about objects that parked entries made in the meantime, or brought back: of
  /// these, what was set after the entry stays.
  func replay(
    _ changeSet: ChangeSet, sequence: UInt64, firstNumber: UInt64, about taken: [Parking.Taken]
  ) throws {
    try replay(changeSet, sequence, firstNumber) { number in
      taken.contains { $0.entry.mayMake(number) }
    }
    isLate = true
    defer { isLate = false }
    if taken.contains(where: { !$0.revived.isEmpty }) {
      try replay(changeSet, sequence, firstNumber) { number in
        taken.contains { !$0.entry.mayMake(number) && $0.revived.contains(number) }
      }
    }
    var frame = try knownFrame(changeSet, sequence, firstNumber)
    try replayReferences(&frame) { number in taken.contains { $0.entry.mayMake(number) } }
  }

  /// Sets what other objects have as references to those that parked entries made in the meantime.
  private func replayReferences(
    _ frame: inout FrameContext, to isMade: (UInt64) -> Bool
  ) throws {
    let changeSet = frame.changeSet
    let made = Set(
      frame.table.entries.indices.filter { frame.number(of: $0).map(isMade) ?? false })
    guard !made.isEmpty else { return }
    let others = Set(frame.table.entries.indices).subtracting(made)
    var columns = changeSet.columns[...]
    for group in changeSet.index.groups {
      let own = columns.prefix(group.properties.count)
      columns = columns.dropFirst(group.properties.count)
      guard group.kind != .delete, let entity = frame.entity(group.entity) else { continue }
      let readers = try frame.readers(group, entity: entity, columns: own, by: opener)
      frame.keepOtherEnds(of: group, entity, elements: made)
      try times.note(frame.newestTime(of: group), by: frame.newestOrigin(of: group))
      noteSide(of: group, frame)
      for (row, index) in group.objects.enumerated() where !made.contains(index) {
        let meant = readers.compactMap { reader -> PropertyReader? in
          switch reader.property.kind {
          case .toOne: return reader.reference(row).map(made.contains) == true ? reader : nil
          case .elements(let relationship):
            var reader = reader
            guard !made.isDisjoint(with: reader.elements(row).adds) else { return nil }
            // An ordered one says its whole sequence.
            if !relationship.isOrdered { reader.leftOut = others }
            return reader
          case .attribute, .place: return nil
          }
        }
        guard !meant.isEmpty,
          let (key, isAlive) = try target(index, entity, isUpdate: true, in: &frame)
        else { continue }
        let left = try current(meant, of: index, frame)
        if left.isEmpty { continue }
        if isHeld(key) {
          try applyHeld(entity, key, left, group, row: row, &frame)
        } else if isAlive {
          try applyRow(key, left, group, row: row, &frame)
        }
      }
    }
    try applyOtherEnds(&frame)
    try finishKeys()
    try ModelMeaning.Notes.add(frame, transaction)
  }

  private func knownFrame(
    _ changeSet: ChangeSet, _ sequence: UInt64, _ firstNumber: UInt64
  ) throws -> FrameContext {
    var frame = FrameContext(
      changeSet, sequence: sequence, firstNumber: firstNumber, schema: schema)
    var number = firstNumber
    directory.refresh()
    for run in changeSet.index.newObjects {
      for offset in 0..<run.count { try addKnownObject(number &+ UInt64(offset), to: &frame) }
      number &+= UInt64(run.count)
    }
    for known in frame.changeSet.index.knownNumbers { try addKnownObject(known, to: &frame) }
    return frame
  }

  private func replay(
    _ changeSet: ChangeSet, _ sequence: UInt64, _ firstNumber: UInt64,
    where isMeant: (UInt64) -> Bool
  ) throws {
    var frame = try knownFrame(changeSet, sequence, firstNumber)
    for index in frame.table.entries.indices {
      guard let number = frame.number(of: index), isMeant(number) else {
        frame.table.leaveOut(index)
        continue
      }
    }
    try applyGroups(&frame)
    try ModelMeaning.Notes.add(frame, transaction)
  }

  /// Applies those parts of a parked change set that the model did not know when it came. What was
  /// set since then stays.
  ///
  /// Objects of entities that were known then have their numbers; only those of entities that are
  /// new are made now.
  ///
  /// - Returns: what of these names is still not known here.
  func replay(
    _ changeSet: ChangeSet, sequence: UInt64, firstNumber: UInt64, only names: Set<String>
  ) throws -> Set<ParkedName> {
    (isLate, isLateInPart) = (true, true)
    defer { (isLate, isLateInPart) = (false, false) }
    var frame = FrameContext(
      changeSet, sequence: sequence, firstNumber: firstNumber, schema: schema)
    var number = firstNumber
    for run in changeSet.index.newObjects {
      if frame.entity(run.entity) != nil,
        names.contains(changeSet.index.entities[run.entity].name)
      {
        try addNewObjects(run, firstNumber: number, to: &frame)
      } else {
        directory.refresh()
        for offset in 0..<run.count { try addKnownObject(number &+ UInt64(offset), to: &frame) }
      }
      number &+= UInt64(run.count)
    }
    directory.refresh()
    for known in frame.changeSet.index.knownNumbers { try addKnownObject(known, to: &frame) }
    var columns = changeSet.columns[...]
    for group in changeSet.index.groups {
      let own = columns.prefix(group.properties.count)
      columns = columns.dropFirst(group.properties.count)
      guard let entity = frame.entity(group.entity) else { continue }
      // As the entry has it, which is what it is parked for.
      let entityName = changeSet.index.entities[group.entity].name
      if names.contains(entityName) {
        try apply(group, columns: own, in: &frame)
        continue
      }
      let readers = try frame.readers(group, entity: entity, columns: own, by: opener).filter {
        names.contains("\(entityName).\($0.name)")
      }
      if group.kind != .delete {
        frame.keepOtherEnds(of: group, entity) { names.contains("\(entityName).\($0)") }
      }
      if group.kind != .delete, !readers.isEmpty {
        noteSide(of: group, frame)
        try applyUpdates(group, entity, readers, &frame)
      }
    }
    try applyOtherEnds(&frame)
    try finishKeys()
    try ModelMeaning.Notes.add(frame, transaction)
    return frame.unknown.filter { name in
      names.contains(name.name) || names.contains { name.name.hasPrefix("\($0).") }
    }
  }

  private func addKnownObject(_ number: UInt64, to frame: inout FrameContext) throws {
    frame.table.append(
      try directory.key(ofNumber: number).map {
        ObjectTable.Entry(key: $0, life: .unknown, existed: true)
      })
  }
}
