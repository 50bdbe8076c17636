import Driftless
import DriftlessProtocol
import Foundation

extension PageApplier {
  /// Inserts the group's objects; one whose identity is here already merges as an update.
  func applyInserts(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    _ frame: inout FrameContext
  ) throws {
    let kinds = PropertyReader.split(readers)
    let batch = InsertBatch(entity)
    var row = 0
    for index in group.objects {
      defer { row += 1 }
      guard let entry = frame.table.entry(index) else { continue }
      if entry.existed {
        try mergeInsert(group, entity, readers, row: row, index: index, &frame)
        continue
      }
      if batch.isFull { try write(batch, kinds, &frame) }
      batch.add(key: entry.key.key, source: row)
    }
    try write(batch, kinds, &frame)
  }

  /// Writes the rows of a batch, and then their places and their elements of many-to-many
  /// relationships.
  private func write(
    _ batch: InsertBatch, _ readers: PropertyReader.Kinds, _ frame: inout FrameContext
  ) throws {
    for reader in readers.single {
      if case .toOne = reader.property.kind {
        try batch.fill(reader.property.slot) { key, row in
          try read(reader, row: row, of: key, isNew: true, &frame)
        }
      } else {
        batch.fill(from: reader)
      }
    }
    try transaction.insert(batch.entity, batch.rows)
    report.inserted += batch.rows.count
    if !readers.places.isEmpty {
      try batch.forEach { key, row in try applyPlaces(readers.places, row: row, of: key) }
    }
    for reader in readers.elements {
      try batch.forEach { key, row in
        let change = try elementChange(reader, row: row, of: key, &frame)
        try transaction.addPairs(change.relationship, key, change.adds)
      }
    }
    batch.removeAll()
  }

  /// One value of a column; references become keys of this store, in place of what they referred
  /// to.
  func read(
    _ reader: PropertyReader, row: Int, of key: ObjectKey, isNew: Bool = false,
    _ frame: inout FrameContext
  ) throws -> PropertyValue {
    guard case .toOne = reader.property.kind else { return reader.value(row) }
    let source = DanglingReferences.Source(key: key, property: reader.property.name)
    if !isNew { try dangling.removeAll(of: source) }
    return try value(ofReference: reader.reference(row), from: source, in: &frame)
  }

  /// An insert of an identity that is here already: two replicas imported one external key, or a
  /// zone offers anew.
  private func mergeInsert(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    row: Int, index: Int, _ frame: inout FrameContext
  ) throws {
    guard let entry = try life(of: index, in: &frame) else { return }
    let key = ObjectKey(entity: entity.number, key: entry.key.key)
    if entry.life == .dead {
      // Made and deleted here before the zone ever heard of it: the other replica's object is
      // another one.
      if pending[key] != nil { setPending(key) { $0 = PendingObject() } }
      try insertAgain(entity, key, readers, row: row, index: index, &frame)
      return
    }
    guard entry.key == key else { return }
    guard isHeld(key) else { return try applyRow(key, readers, row: row, &frame) }
    try zone.set(.inserted, of: key, frame.side(group, row: row))
    try applyHeld(entity, key, readers, group, row: row, isInsert: true, &frame)
  }

  /// Gives a dead key its row again, with the values of the wire, and the references to it.
  func insertAgain(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ readers: [PropertyReader], row: Int,
    index: Int, _ frame: inout FrameContext
  ) throws {
    var values = [PropertyValue](repeating: .null, count: entity.description.layout.slots.count)
    let (single, elements, places) = PropertyReader.split(readers)
    for reader in single {
      values[reader.property.slot] = try read(reader, row: row, of: key, &frame)
    }
    try transaction.insert(entity.description, key.key, values: values)
    try applyPlaces(places, row: row, of: key)
    frame.table.setLife(.alive, key: key, at: index)
    report.inserted += 1
    for reader in elements {
      let change = try elementChange(reader, row: row, of: key, isWhole: true, &frame)
      try transaction.addPairs(change.relationship, key, change.adds)
    }
    try restoreReferences(to: key)
  }

  /// Points what referred to the object at it again, unless it has another value by now.
  func restoreReferences(to target: ObjectKey) throws {
    for source in try dangling.take(root: schema.root(of: target), target: target.key) {
      guard let entity = schema.entity(numbered: source.key.entity),
        let property = entity.property(named: source.property),
        try transaction.concreteKey(root: source.key) != nil
      else { continue }
      let isPending = pending[source.key]?.transaction(of: property.slot) != nil
      if case .elements(let relationship) = property.kind {
        try transaction.addPairs(relationship, source.key, [target])
        if isPending {
          let base = try BaseValues.keys(of: source.key, property.name, on: transaction.connection)
          try BaseValues.replace(
            source.key, property.name, with: (base ?? []) + [target], on: transaction.connection)
        }
      } else {
        var values = try currentValues(of: source.key)
        guard !isPending, values[property.slot].isNull else { continue }
        values[property.slot] = .reference(target)
        try transaction.update(
          source.key, PropertyMask([property.slot]), values: values, expectedVersion: nil)
      }
      report.updated += 1
    }
  }

  func setPending(_ key: ObjectKey, _ change: (inout PendingObject) -> Void) {
    pending.update(key, change)
    touched.insert(key)
  }
}
