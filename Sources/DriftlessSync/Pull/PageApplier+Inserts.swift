import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension PageApplier {
  /// Inserts the group's objects; one whose identity is here already merges as an update.
  func applyInserts(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    _ frame: inout FrameContext
  ) throws {
    let kinds = PropertyReader.split(readers)
    let batch = InsertBatch(entity)
    var nothings: PropertyMask?
    var row = 0
    var runs = group.transactionRuns[...]
    var runEnd = 0
    for index in group.objects {
      if frame.isOfSnapshot, row == runEnd, let run = runs.popFirst() {
        try write(batch, kinds, of: group, &frame)
        try times.note(frame.time(of: run), by: frame.origin(of: run))
        runEnd += run.count
      }
      defer { row += 1 }
      guard let entry = frame.table.entry(index), !entry.isLeftOut,
        schema.root(of: entry.key) == entity.rootNumber
      else { continue }
      if entry.existed {
        if nothings == nil {
          nothings = PropertyMask(readers.lazy.filter(\.saysNothing).map(\.property.slot))
        }
        let nothings = frame.isOffer(group, row: row) ? nil : nothings
        try mergeInsert(
          group, entity, readers, row: row, index: index, without: nothings ?? PropertyMask(),
          &frame)
        continue
      }
      if batch.isFull { try write(batch, kinds, of: group, &frame) }
      batch.add(key: entry.key.key, source: row)
    }
    try write(batch, kinds, of: group, &frame)
  }

  /// Writes the rows of a batch, and then their places and their elements of many-to-many
  /// relationships.
  private func write(
    _ batch: InsertBatch, _ readers: PropertyReader.Kinds, of group: ChangeSetIndex.Group,
    _ frame: inout FrameContext
  ) throws {
    guard batch.rows.count > 0 else { return }
    for reader in readers.single {
      if case .toOne = reader.property.kind {
        try batch.fill(reader.property.slot) { key, row in
          var none = FormerRow.none
          return try read(reader, group, row: row, of: key, isNew: true, beside: &none, &frame)
        }
      } else {
        batch.fill(from: reader)
        if reader.namesValues {
          try batch.forEach { key, row in
            if reader.hasBytes(row) { try noteNamedCell(reader, row: row, of: key) }
          }
        }
        try batch.replace(reader) { key, row, value in
          try held(value, reader.property, of: key, frame.side(group, row: row))
        }
      }
    }
    try standIn(for: batch, readers)
    try transaction.insert(batch.entity, batch.rows)
    report.inserted += batch.rows.count
    if !readers.places.isEmpty {
      try batch.forEach { key, row in try applyPlaces(readers.places, row: row, of: key) }
    }
    for reader in readers.elements {
      guard case .elements(let relationship) = reader.property.kind else { continue }
      let isAtOnce = transaction.canAddPairsAtOnce(relationship)
      var pairs: [WriteTransaction.Pair] = []
      var elements: Set<ObjectKey> = []
      try batch.forEach { key, row in
        let change = try elementChange(reader, row: row, of: key, &frame)
        elements.formUnion(change.adds)
        if isAtOnce {
          for element in change.adds { pairs.append(WriteTransaction.Pair(key, element)) }
        } else {
          try transaction.addPairs(relationship, key, change.adds)
        }
      }
      try transaction.addPairs(relationship, pairs)
      // The other ends come with the snapshot as well.
      guard !frame.isOfNewcomer, let inverse = relationship.inverseRelationship else { continue }
      for element in elements.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) {
        try record(inverse, of: element)
      }
    }
    batch.removeAll()
  }

  /// What an insert does not name, the model that it was made with did not have.
  private func standIn(for batch: InsertBatch, _ readers: PropertyReader.Kinds) throws {
    let named = Set(readers.single.map(\.property.slot))
    for property in batch.syncEntity.properties {
      guard let standIn = property.standIn, !standIn.value.isNull, !named.contains(property.slot)
      else { continue }
      batch.fill(property.slot) { _, _ in standIn.value }
    }
  }

  /// A value of the zone as this model holds it: one that it cannot hold is set aside.
  ///
  /// - Parameter side: the zone's change that said it; looked for only where the value is set aside.
  func held(
    _ value: PropertyValue, _ property: SyncSchema.Property, of key: ObjectKey,
    _ side: @autoclosure () throws -> RemoteSide
  ) throws -> PropertyValue {
    guard let standIn = property.standIn, var refusal = standIn.refusal(of: value) else {
      return value
    }
    if !value.isNull {
      if let cell = SealedValue.cell(in: value) {
        refusal = SealedValue.reason(cell, schema.keys)
      } else if let large = LargeCell.value(in: value) {
        if try fetchesValues(of: property) {
          refusal = LargeCell.reason(large)
          try transaction.setSetting(SyncEngine.missingSetting, .integer(1))
        } else {
          refusal = LargeCell.reasonInZone(large)
          try MissedValues.noteInLog(large.digest, on: transaction.connection)
        }
      }
      let side = try side()
      try parkedValues.add(
        value, of: key, property.name, reason: refusal, sequence: side.sequence,
        sender: side.origin, at: now)
    }
    return standIn.shown(for: value)
  }

  /// Whether large values of a property are fetched before what names them is applied.
  private func fetchesValues(of property: SyncSchema.Property) throws -> Bool {
    let timing = try valueTiming ?? ValueTiming(options, transaction)
    valueTiming = timing
    return !timing.waits(property)
  }

  /// One value of a column; references become keys of this store, in place of what they referred
  /// to.
  ///
  /// - Parameter former: what the object has until it is written.
  func read(
    _ reader: PropertyReader, _ group: ChangeSetIndex.Group, row: Int, of key: ObjectKey,
    isNew: Bool = false, beside former: inout FormerRow, _ frame: inout FrameContext
  ) throws -> PropertyValue {
    guard case .toOne = reader.property.kind else {
      var value = reader.value(row)
      if !isNew {
        try parkedValues.strike(key, reader.property.name)
        if value.isInZone || mayDisplaceNamed(reader.property) {
          let local = try former.value(at: reader.property.slot, of: key, transaction)
          value = present(value, beside: local)
          if value != local { try keepDisplaced(local) }
        }
        if !value.isInZone { try noteNamedCell(reader, row: row, of: key) }
      }
      return try held(value, reader.property, of: key, frame.side(group, row: row))
    }
    let source = DanglingReferences.Source(key: key, property: reader.property.name)
    if !isNew { try dangling.removeAll(of: source) }
    return try value(
      ofReference: reader.reference(row), from: source, reader.property, in: &frame)
  }

  /// An insert of an identity that is here already: two replicas imported one external key, or a
  /// zone offers anew.
  ///
  /// - Parameter nothings: attributes of which no object of the group has a value.
  private func mergeInsert(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    row: Int, index: Int, without nothings: PropertyMask, _ frame: inout FrameContext
  ) throws {
    guard let (key, isAlive) = try target(index, entity, in: &frame) else { return }
    if !isAlive, isDeletedHere(key) {
      // The delete goes out by the number that the object has now.
      try zone.set(.inserted, of: key, frame.side(group, row: row))
      return try applyHeld(entity, key, readers, group, row: row, isInsert: true, &frame)
    }
    if !isAlive {
      // Made and deleted here before the zone ever heard of it: the other replica's object is
      // another one.
      if pending[key] != nil { setPending(key) { $0 = PendingObject() } }
      try noteOfFormerZone(key, frame.side(group, row: row))
      try insertAgain(entity, key, readers, group, row: row, index: index, &frame)
      return
    }
    guard isHeld(key) else { return try applyRow(key, readers, group, row: row, &frame) }
    // That an attribute of a new object has no value is nobody's edit.
    let readers = readers.filter {
      !nothings.contains($0.property.slot) || pending[key]?.transaction(of: $0.property.slot) == nil
    }
    if try isSameInsert(key, frame) {
      return try applySameInsert(entity, key, readers, group, row: row, &frame)
    }
    let isOneAgain = isOffered(key) && frame.tells(pending[key]?.maker ?? 0)
    if !isOneAgain { try LostCounts.forget(of: key, transaction, schema: schema) }
    try zone.set(.inserted, of: key, frame.side(group, row: row), isOneAgain: isOneAgain)
    try applyHeld(entity, key, readers, group, row: row, isInsert: true, &frame)
  }

  /// Whether the zone had the object, lost it, and is offered it.
  func isOffered(_ key: ObjectKey) -> Bool {
    pending[key]?.isOffered ?? false
  }

  /// Gives a dead key its row again, with the values of the wire, and the references to it.
  func insertAgain(
    _ entity: SyncSchema.Entity, _ key: ObjectKey, _ readers: [PropertyReader],
    _ group: ChangeSetIndex.Group, row: Int, index: Int, _ frame: inout FrameContext
  ) throws {
    var values = [PropertyValue](repeating: .null, count: entity.description.layout.slots.count)
    let (single, elements, places) = PropertyReader.split(readers)
    var former = FormerRow.none
    for reader in single {
      values[reader.property.slot] = try read(
        reader, group, row: row, of: key, beside: &former, &frame)
    }
    let named = Set(single.map(\.property.slot))
    for property in entity.properties where !named.contains(property.slot) {
      if let standIn = property.standIn { values[property.slot] = standIn.value }
    }
    // What its sets were before it was deleted here is nobody's word any more: the zone says them whole.
    try BaseValues.drop(key, on: transaction.connection)
    try transaction.insert(entity.description, key.key, values: values)
    try applyPlaces(places, row: row, of: key)
    frame.table.setLife(.alive, key: key, at: index)
    report.inserted += 1
    for reader in elements {
      let change = try elementChange(reader, row: row, of: key, isWhole: true, &frame)
      try changePairs(change, of: key)
    }
    try restoreReferences(to: key)
  }

  /// Points what referred to the object at it again, unless it has another value by now. What is deleted itself keeps its
  /// reference for when it comes back.
  func restoreReferences(to target: ObjectKey) throws {
    let root = schema.root(of: target)
    for source in try dangling.all(root: root, target: target.key) {
      guard let entity = schema.entity(numbered: source.key.entity),
        let property = entity.property(named: source.property)
      else { continue }
      guard try transaction.concreteKey(root: source.key) != nil else {
        try restoreReference(of: source.key, property, to: target)
        continue
      }
      if case .elements(let relationship) = property.kind {
        try restore(target, in: relationship, of: source, property)
        continue
      }
      try dangling.remove(source, root: root, target: target.key)
      let edited = pending[source.key]?.transaction(of: property.slot)
      var values = try currentValues(of: source.key)
      let isOurs = try edited.map { try transaction.editTime($0) } == source.edit
      guard isOurs || edited == nil, values[property.slot].isNull else { continue }
      values[property.slot] = .reference(target)
      try transaction.update(
        source.key, PropertyMask([property.slot]), values: values, expectedVersion: nil)
      report.updated += 1
    }
  }

  /// Fills the sets of an object that is back with what is back before it.
  func restoreElements(of key: ObjectKey, _ entity: SyncSchema.Entity) throws {
    for property in entity.properties {
      guard case .elements(let relationship) = property.kind else { continue }
      let source = DanglingReferences.Source(key: key, property: property.name)
      try changingSets {
        for target in try dangling.targets(of: source) {
          guard let living = try transaction.concreteKey(root: target) else { continue }
          try restore(living, in: relationship, of: source, property)
        }
      }
    }
  }

  private func restore(
    _ element: ObjectKey, in relationship: RelationshipDescription,
    of source: DanglingReferences.Source, _ property: SyncSchema.Property
  ) throws {
    try putBack(element, into: source, property, relationship, isInZone: true)
    try dangling.remove(source, root: schema.root(of: element), target: element.key)
    report.updated += 1
  }

  /// As an object that is deleted here referred to another: it may come back with what is kept of it. Its sets are filled
  /// when it does.
  private func restoreReference(
    of key: ObjectKey, _ property: SyncSchema.Property, to target: ObjectKey
  ) throws {
    guard case .toOne = property.kind, var values = try transaction.grave(of: key),
      values[property.slot].isNull
    else { return }
    values[property.slot] = .reference(target)
    try transaction.bury(key, values)
  }

  func setPending(_ key: ObjectKey, _ change: (inout PendingObject) -> Void) {
    pending.update(key, change)
    touched.insert(key)
  }
}
