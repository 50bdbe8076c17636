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
        try times.note(frame.time(of: run))
        runEnd += run.count
      }
      defer { row += 1 }
      guard let entry = try life(of: index, in: &frame) else { continue }
      if entry.life == .dead || (!pending.isEmpty && pending[entry.key] != nil) {
        try applyUpdate(entity, entry, readers, group, row: row, index: index, &frame)
        continue
      }
      if !mask.isEmpty {
        for reader in single {
          values[reader.property.slot] = try read(reader, row: row, of: entry.key, &frame)
        }
        try transaction.update(entry.key, mask, values: values, expectedVersion: nil)
      } else if !places.isEmpty {
        try transaction.recordUpdate(
          entry.key, PropertyMask(places.map(\.property.slot)))
      }
      try applyPlaces(places, row: row, of: entry.key)
      for reader in elements {
        let change = try elementChange(reader, row: row, of: entry.key, &frame)
        try apply(change, to: entry.key)
      }
      report.updated += 1
    }
  }

  /// An update of an object that is pending, or deleted here.
  private func applyUpdate(
    _ entity: SyncSchema.Entity, _ entry: ObjectTable.Entry, _ readers: [PropertyReader],
    _ group: ChangeSetIndex.Group, row: Int, index: Int, _ frame: inout FrameContext
  ) throws {
    let key = ObjectKey(entity: entity.number, key: entry.key.key)
    let local = pendingSide(of: key)
    let policy = entity.description.deletePolicy
    switch DeleteTable.settle(local: local, remote: .edit, policy: policy) {
    case .apply:
      // Without a row and without a pending delete there is nothing to update: the object is gone
      // for good.
      guard entry.life == .alive else { return }
      try mergeUpdate(entity, key, readers, group, row: row, isInsert: false, &frame)
    case .keepDeleted:
      try journalKeptDelete(entity, key, readers, group, row: row, &frame)
    case .bringBack:
      try bringBack(entity, key, index: index, &frame)
      try mergeUpdate(entity, key, readers, group, row: row, isInsert: false, &frame)
    case .deleteHere, .keepAndRevive, .bothDeleted:
      // The table gives these for a remote delete only.
      return
    }
  }

  /// What this replica did to an object and has not pushed.
  func pendingSide(of key: ObjectKey) -> DeleteTable.Local {
    guard let object = pending[key] else { return .nothing }
    switch object.whole {
    case .none, .insert: return .edit
    case .delete: return .delete
    case .revive: return .remade
    }
  }

  /// Merges the remote values of one row, property by property.
  ///
  /// - Parameters:
  ///   - isInsert: the change set makes the object, so the sides share no base.
  ///   - isWhole: the change set says the whole object: its sets are whole sets, not additions.
  func mergeUpdate(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ readers: [PropertyReader],
    _ group: ChangeSetIndex.Group, row: Int, isInsert: Bool, isWhole: Bool = false,
    _ frame: inout FrameContext
  ) throws {
    var values = try currentValues(of: key)
    var written = PropertyMask()
    let placed = PropertyMask(PropertyReader.split(readers).places.map(\.property.slot))
    var outcomes: [Int: ReferenceOutcome] = [:]
    for reader in readers {
      let slot = reader.property.slot
      if case .place = reader.property.kind {
        try mergePlace(
          reader, entity, of: key, row: row, reference: outcomes[slot],
          time: frame.time(group, row: row), frame)
        continue
      }
      if case .elements = reader.property.kind {
        var change = try elementChange(
          reader, row: row, of: key, isWhole: isWhole, &frame)
        if isWhole { try makeWhole(&change, reader.property, of: key) }
        try merge(change, reader.property, of: key)
        continue
      }
      let remote = try read(reader, row: row, of: key, &frame)
      guard let localTransaction = pending[key]?.transaction(of: slot) else {
        values[slot] = remote
        written.insert(slot)
        continue
      }
      if placed.contains(slot), remote == values[slot] {
        // The same list on both sides: the places beside the references are what may differ.
        outcomes[slot] = .same(localTransaction: localTransaction)
        written.insert(slot)
        continue
      }
      let side = RemoteSide(
        value: remote, time: frame.time(group, row: row), origin: frame.origin,
        sequence: frame.sequence)
      if let value = try settle(
        entity, reader.property, of: key, local: values[slot],
        localTransaction: localTransaction, remote: side, isInsert: isInsert)
      {
        values[slot] = value
        written.insert(slot)
        outcomes[slot] = .remote
      } else {
        outcomes[slot] = .local
      }
    }
    if !written.isEmpty {
      try transaction.update(key, written, values: values, expectedVersion: nil)
      report.updated += 1
    }
  }
}
