import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Gives a store what its zone has, where it has something else without an edit of its own.
///
/// What the store had goes to the journal, so that it can be put back. History has it as it has what a pull brings.
extension PageApplier {
  /// The change sets of a part, as this store knows what they name.
  func frames(
    of part: SnapshotReader.Part, at sequence: UInt64
  ) throws -> [FrameContext] {
    try Self.frames(of: part, at: sequence, schema, directory)
  }

  static func frames(
    of part: SnapshotReader.Part, at sequence: UInt64, _ schema: SyncSchema,
    _ directory: ObjectDirectory
  ) throws -> [FrameContext] {
    var directory = directory
    return try (0..<part.count).map { number in
      let changeSet = try part.changeSet(number)
      var frame = FrameContext(changeSet, sequence: sequence, firstNumber: 0, schema: schema)
      frame.isOfSnapshot = true
      frame.pushed = try part.pushed(number)
      let own = number == 0 ? part.numbers : []
      frame.numbers = own + changeSet.index.knownNumbers
      for number in frame.numbers {
        frame.table.append(
          try directory.key(ofNumber: number).map {
            ObjectTable.Entry(key: $0, life: .unknown, existed: true, isNew: false)
          })
      }
      return frame
    }
  }

  /// How the objects of a part came into the zone.
  static func births(_ part: SnapshotReader.Part, _ frames: [FrameContext]) -> Births {
    part.births(frames.first?.changeSet.index ?? ChangeSetIndex())
  }

  /// What history says last of an object.
  struct LastChange {
    var key: ObjectKey
    var type: ChangeType
  }

  /// What history says last of the objects that are missing, or here though they are deleted, by their root entity.
  func lastChanges(of found: [ZoneComparison.Found]) throws -> [ObjectKey: LastChange] {
    var keys: Set<ObjectKey> = []
    for found in found {
      switch found {
      case .missing(let number, _):
        if let key = try directory.key(ofNumber: number) { keys.insert(rooted(key)) }
      case .deleted(let key, _, _): keys.insert(rooted(key))
      case .otherEntity, .value, .unsaid: continue
      }
    }
    var last: [ObjectKey: LastChange] = [:]
    guard !keys.isEmpty else { return last }
    try transaction.forEachChange(after: 0) { _, type, key, _ in
      let root = rooted(key)
      if keys.contains(root) { last[root] = LastChange(key: key, type: type) }
    }
    return last
  }

  /// Whether the objects of a part that the zone has deleted go: all of them, or, where they are too many with those before,
  /// none.
  func takesOut(_ found: [ZoneComparison.Found]) throws -> Bool {
    let deletes = found.count { if case .deleted = $0 { true } else { false } }
    return try allowsMassDelete || brake.admits(deletes)
  }

  /// Mends what was found.
  ///
  /// - Parameters:
  ///   - last: what history says last of its objects.
  ///   - takesOut: whether objects that the zone has deleted go.
  /// - Returns: whether it is mended.
  func repair(
    _ found: ZoneComparison.Found, _ births: Births, _ frames: inout [FrameContext],
    _ last: [ObjectKey: LastChange], takesOut: Bool
  ) throws -> Bool {
    switch found {
    case .missing(let number, let rows):
      // It went without a word: history tells that before it tells that it is back.
      if let key = try directory.key(ofNumber: number), let change = last[rooted(key)],
        change.type != .delete
      {
        try transaction.recordDelete(change.key)
      }
      return try repairMissing(number, rows, births, &frames)
    case .deleted(let key, let entity, let side):
      guard takesOut else { return false }
      try journal.addWhole(
        entity: entity, key: key, outcome: .remote, localTime: HybridTime(now), side: side,
        policy: JournalEntry.repairPolicy, row: transaction.knownOwnRow(key)?.values,
        explanation: "The zone has the object deleted, and it was here all the same, without an "
          + "edit: taken out by a repair.")
      try times.note(side.time, by: nil)
      if last[rooted(key)]?.type == .delete { try tellComing(key, entity) }
      try deleteHere(entity, key)
      report.deleted += 1
      return true
    case .otherEntity: return false
    case .value(let key, let entity, let reader, let place, let zone):
      return try repairValue(key, entity, reader, place, zone, &frames)
    case .unsaid(let key, let entity, let property):
      try repairUnsaid(key, entity, property)
      return true
    }
  }

  /// A row came back without a word, and history has the object deleted: it tells that it came, before it goes.
  private func tellComing(_ key: ObjectKey, _ entity: SyncSchema.Entity) throws {
    let values = try currentValues(of: key)
    let table = transaction.schema.table(for: entity.description).name
    try transaction.connection.perform(
      "DELETE FROM \"\(table)\" WHERE Z_PK = ?", [.integer(key.key)])
    try transaction.insert(entity.description, key.key, values: values)
  }

  private func repairMissing(
    _ number: UInt64, _ rows: [ZoneComparison.Place], _ births: Births,
    _ frames: inout [FrameContext]
  ) throws -> Bool {
    guard let first = rows.first, first.layer == 0, let index = births.place(of: number),
      let entry = frames[0].table.entry(index)
    else { return false }
    var isMade = false
    for place in rows {
      let changeSet = frames[place.layer].changeSet
      let group = changeSet.index.groups[place.group]
      guard let entity = frames[place.layer].entity(group.entity),
        schema.root(of: entry.key) == entity.rootNumber
      else { return false }
      let key = ObjectKey(entity: entity.number, key: entry.key.key)
      let readers = try columnReaders(of: place, entity, &frames[place.layer])
      try note(group, place, &frames[place.layer])
      if !isMade {
        guard group.kind == .insert else { return false }
        try insertAgain(
          entity, key, readers, group, row: place.row, index: index, &frames[place.layer])
        isMade = true
      } else {
        try applyRow(key, readers, group, row: place.row, isWhole: true, &frames[place.layer])
      }
    }
    return true
  }

  /// Gives the objects that are missing, and whose numbers are not known here, their keys, and completes the tables with them.
  func makeKeys(
    of found: [ZoneComparison.Found], _ births: Births, _ frames: inout [FrameContext]
  ) throws {
    guard var made = frames.first else { return }
    made.table = ObjectTable(capacity: 1)
    var isMade = false
    for case .missing(let number, let rows) in found where rows.first?.layer == 0 {
      guard let place = births.place(of: number), frames[0].table.entry(place) == nil,
        let (run, offset) = births.object(at: place)
      else { continue }
      try addNewObjects(
        .init(
          entity: run.entity, identities: .listed([run.identities[offset]]),
          isGiven: run.isGiven), firstNumber: number, to: &made)
      isMade = true
    }
    guard isMade else { return }
    directory.refresh()
    for layer in frames.indices {
      var table = ObjectTable(capacity: frames[layer].numbers.count)
      for (index, number) in frames[layer].numbers.enumerated() {
        // What is known of the others stays.
        let known = frames[layer].table.entry(index)
        table.append(
          try known
            ?? directory.key(ofNumber: number).map {
              ObjectTable.Entry(key: $0, life: .unknown, existed: true, isNew: false)
            })
      }
      frames[layer].table = table
    }
  }

  private func columnReaders(
    of place: ZoneComparison.Place, _ entity: SyncSchema.Entity, _ frame: inout FrameContext
  ) throws -> [PropertyReader] {
    let changeSet = frame.changeSet
    let groups = changeSet.index.groups
    let first = groups[..<place.group].reduce(0) { $0 + $1.properties.count }
    let columns = changeSet.columns.dropFirst(first).prefix(groups[place.group].properties.count)
    return try frame.readers(
      groups[place.group], entity: entity, columns: columns, by: opener)
  }

  /// What is written from here on is of the change that a row is of.
  private func note(
    _ group: ChangeSetIndex.Group, _ place: ZoneComparison.Place, _ frame: inout FrameContext
  ) throws {
    keptKeys.side = frame.side(group, row: place.row)
    var first = 0
    for run in group.transactionRuns {
      first += run.count
      if place.row < first {
        return try times.note(frame.time(of: run), by: frame.origin(of: run))
      }
    }
  }

  private func repairValue(
    _ key: ObjectKey, _ entity: SyncSchema.Entity, _ reader: PropertyReader,
    _ place: ZoneComparison.Place, _ zone: ZoneComparison.ZoneValue,
    _ frames: inout [FrameContext]
  ) throws -> Bool {
    let group = frames[place.layer].changeSet.index.groups[place.group]
    let side = frames[place.layer].side(group, row: place.row)
    try journalRepair(key, entity, reader.property, zone: zone, side)
    try note(group, place, &frames[place.layer])
    try applyRow(key, [reader], group, row: place.row, isWhole: true, &frames[place.layer])
    if case .elements(let relationship) = reader.property.kind, relationship.isOrdered,
      case .elements(let elements) = zone
    {
      try transaction.setOrder(relationship, key, elements)
      try record(relationship, of: key)
    }
    return true
  }

  private func repairUnsaid(
    _ key: ObjectKey, _ entity: SyncSchema.Entity, _ property: SyncSchema.Property
  ) throws {
    switch property.kind {
    case .place: return
    case .elements(let relationship):
      try journalRepair(key, entity, property, zone: .elements([]), .unknown)
      try apply(
        ElementChange(
          relationship: relationship, adds: [],
          removes: try transaction.toManyKeys(of: key, relationship)), to: key)
    case .attribute, .toOne:
      try journalRepair(key, entity, property, zone: .value(.null), .unknown)
      var values = try currentValues(of: key)
      values[property.slot] = property.standIn?.value ?? .null
      try transaction.update(
        key, PropertyMask([property.slot]), values: values, expectedVersion: nil)
      report.updated += 1
    }
  }

  private func journalRepair(
    _ key: ObjectKey, _ entity: SyncSchema.Entity, _ property: SyncSchema.Property,
    zone: ZoneComparison.ZoneValue, _ side: RemoteSide
  ) throws {
    let row = try currentValues(of: key)
    let isLost = try transaction.knownOwnRow(key)?.lost.contains(property.slot) ?? false
    let local: ZoneComparison.ZoneValue
    switch (property.kind, zone) {
    case (.elements(let relationship), .elements):
      local = .elements(try transaction.toManyKeys(of: key, relationship))
    case (.place(let relationship), _):
      local = .value(
        try transaction.place(of: key, in: relationship).map { .integer($0) } ?? .null)
    default: local = .value(row[property.slot])
    }
    try journal.addRepair(
      entity: entity, property: property, key: key, local: isLost ? nil : local, zone: zone,
      side: side, at: HybridTime(now))
  }
}

extension JournalDraft {
  /// A value that was not the zone's, though nothing of it was edited here.
  ///
  /// - Parameters:
  ///   - local: nil for one whose file was gone: nobody knows what it was, and nothing of it can be put back.
  ///   - time: when it was repaired.
  mutating func addRepair(
    entity: SyncSchema.Entity, property: SyncSchema.Property, key: ObjectKey,
    local: ZoneComparison.ZoneValue?, zone: ZoneComparison.ZoneValue, side: RemoteSide,
    at time: HybridTime
  ) throws {
    let there = try text(zone, of: property)
    let explanation =
      local == nil
      ? "\(property.name) was lost here, with the file that it lay in: the zone's value was put back "
        + "by a repair."
      : "\(property.name) was not what the zone has, though nothing here had changed "
        + "it: the zone's value was put back by a repair."
    let entry = JournalEntry(
      number: 0, object: try identity(of: key), entity: entity.name,
      property: property.name, policy: JournalEntry.repairPolicy, base: nil,
      local: try local.map { try text($0, of: property) } ?? Self.lostText, remote: there,
      kept: there, outcome: .remote,
      origin: side.origin, localTime: time, remoteTime: side.time, transaction: 0,
      sequence: side.sequence, explanation: explanation)
    var values = Journal.Values()
    if case .value(let value)? = local { values.local = value }
    if case .value(let value) = zone { values.remote = value }
    try add(entry, values)
  }
}
