import Driftless
import DriftlessProtocol
import Foundation

/// Takes in what is parked of logs that are gone, object by object and property by property, and offers it to the zone with
/// the times of the edits: the zone has lost it. What was edited later stands.
struct FormerReplay {
  private let applier: PageApplier
  /// When what is here was edited.
  private let history: EditHistory
  /// Objects that these entries made, and deleted in the end.
  private let deleted: Set<UUID>
  /// What was taken in since the last `finish`.
  private var written: Set<ObjectKey> = []
  private var made: Set<ObjectKey> = []

  init(_ applier: PageApplier, _ entries: [FormerParking.Entry]) throws {
    self.applier = applier
    var history = try EditHistory(
      applier.transaction, schema: applier.schema, acknowledged: .max)
    history.follow(
      try LostEdits(after: 0, applier.transaction, schema: applier.schema))
    self.history = history
    var deleted: Set<UUID> = []
    for entry in entries {
      let frame = try FormerParking.frame(of: entry.id, on: applier.transaction.connection)
      guard let (_, index) = try? ChangeSetDecoder().decodeIndex(frame) else { continue }
      let identities = Self.identities(index, entry)
      for group in index.groups where group.kind != .update {
        for case let identity? in group.objects.map({ identities[$0] }) {
          if group.kind == .delete { deleted.insert(identity) } else { deleted.remove(identity) }
        }
      }
    }
    self.deleted = deleted
  }

  private static func identities(
    _ index: ChangeSetIndex, _ entry: FormerParking.Entry
  ) -> [UUID?] {
    let new = index.newObjects.flatMap { run in
      (0..<run.count).map { Optional(run.identities[$0]) }
    }
    let known = index.knownNumbers.indices.map {
      entry.objects.indices.contains($0) ? entry.objects[$0] : nil
    }
    return new + known
  }

  /// Takes in an entry. It waits while something of its objects is pending.
  mutating func takeIn(_ entry: FormerParking.Entry) throws {
    let connection = applier.transaction.connection
    let changeSet: ChangeSet
    do {
      changeSet = try ChangeSetDecoder().decode(
        try FormerParking.frame(of: entry.id, on: connection))
    } catch let error as ProtocolError {
      return try FormerParking.note("\(error)", of: entry.id, on: connection)
    }
    let index = changeSet.index
    let names = entry.parked.code.isWhole ? nil : Set(entry.parked.unknown.map(\.name))
    var frame = FrameContext(
      changeSet, sequence: entry.parked.sequence, firstNumber: 0, schema: applier.schema)
    guard try !waits(index, frame, entry) else { return }
    try makeTable(&frame, names, entry)
    var columns = changeSet.columns[...]
    for group in index.groups {
      let own = columns.prefix(group.properties.count)
      columns = columns.dropFirst(group.properties.count)
      guard let entity = frame.entity(group.entity) else {
        frame.noteUnknownEntity(group.entity)
        continue
      }
      let name = index.entities[group.entity].name
      let readers = try frame.readers(
        group, entity: entity, columns: own, by: applier.opener
      ).filter {
        names?.contains(name) ?? true || names?.contains("\(name).\($0.name)") ?? true
      }
      guard group.kind != .delete else { continue }
      frame.keepOtherEnds(of: group, entity) {
        names?.contains(name) ?? true || names?.contains("\(name).\($0)") ?? true
      }
      try apply(group, entity, readers, &frame)
    }
    let others = frame.saidFromOtherEnds
    frame.saidFromOtherEnds = []
    for said in others {
      for turned in try applier.turn(said, &frame) {
        try apply(turned.group, turned.entity, [turned.reader], &frame)
      }
    }
    try applier.finishKeys()
    let unknown = frame.unknown.filter { unknown in
      names.map { names in
        names.contains(unknown.name) || names.contains { unknown.name.hasPrefix("\($0).") }
      } ?? true
    }
    try FormerParking.settle(entry, unknown, on: connection)
  }

  /// Whether something is pending of an object that is here.
  private func waits(
    _ index: ChangeSetIndex, _ frame: FrameContext, _ entry: FormerParking.Entry
  ) throws -> Bool {
    let identities = Self.identities(index, entry)
    for group in index.groups {
      guard let entity = frame.entity(group.entity) else { continue }
      for case let identity? in group.objects.map({ identities[$0] }) {
        guard let key = try object(identity, entity.rootNumber), !written.contains(key) else {
          continue
        }
        if applier.isHeld(key) { return true }
      }
    }
    return false
  }

  private func object(_ identity: UUID, _ root: Int32?) throws -> ObjectKey? {
    guard let key = try applier.transaction.key(of: identity) else { return nil }
    let known = try applier.transaction.concreteKey(root: key) ?? key
    return root.map { applier.schema.root(of: known) == $0 } ?? true ? known : nil
  }

  /// Finds the objects of an entry, and gives those keys that it makes.
  private mutating func makeTable(
    _ frame: inout FrameContext, _ names: Set<String>?, _ entry: FormerParking.Entry
  ) throws {
    let transaction = applier.transaction
    let index = frame.changeSet.index
    for run in index.newObjects {
      let entity = frame.entity(run.entity)
      let makes = names?.contains(index.entities[run.entity].name) ?? true
      for offset in 0..<run.count {
        let identity = run.identities[offset]
        if let key = try object(identity, entity?.rootNumber) {
          frame.table.append(ObjectTable.Entry(key: key, life: .unknown, existed: true))
          continue
        }
        guard let entity, makes, !deleted.contains(identity),
          try transaction.key(ofOwn: identity) == nil
        else {
          frame.table.append(nil)
          continue
        }
        if try transaction.willMint(identity) { try transaction.renewMintPrefix() }
        let key = try transaction.allocateKeys(entity.description, count: 1).lowerBound
        try transaction.assignIdentities(
          root: entity.rootNumber, firstKey: key, count: 1, firstIdentity: identity,
          firstNumber: nil)
        applier.directory.refresh()
        frame.table.append(
          ObjectTable.Entry(
            key: ObjectKey(entity: entity.number, key: key), life: .alive, existed: false))
      }
    }
    for place in index.knownNumbers.indices {
      let identity = entry.objects.indices.contains(place) ? entry.objects[place] : nil
      frame.table.append(
        try identity.flatMap { try object($0, nil) }.map {
          ObjectTable.Entry(key: $0, life: .unknown, existed: true)
        })
    }
  }

  private mutating func apply(
    _ group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    _ frame: inout FrameContext
  ) throws {
    for (row, index) in group.objects.enumerated() {
      guard let entry = try applier.life(of: index, in: &frame),
        applier.schema.root(of: entry.key) == entity.rootNumber, entry.life == .alive
      else { continue }
      let side = frame.side(group, row: row)
      let origin = group.transactionRuns.isEmpty ? nil : frame.newestOrigin(of: group)
      try applier.times.note(side.time, by: origin)
      try StampOrigins.note(
        origin, of: EditStamp.number(side.time), on: applier.transaction.connection)
      applier.keptKeys.side = side
      if !entry.existed, !made.contains(entry.key) {
        try insert(entry.key, entity, readers, group, row: row, index, &frame)
      } else if entry.key.entity == entity.number {
        try update(entry.key, readers, group, row: row, &frame)
      }
    }
  }

  private mutating func insert(
    _ key: ObjectKey, _ entity: SyncSchema.Entity, _ readers: [PropertyReader],
    _ group: ChangeSetIndex.Group, row: Int, _ index: Int, _ frame: inout FrameContext
  ) throws {
    try applier.insertAgain(
      entity, key, readers, group, row: row, index: index, &frame)
    let stamp = EditStamp.number(frame.time(group, row: row))
    var object = PendingObject()
    object.whole = .insert
    object.wholeTransaction = stamp
    object.maker = maker(of: index, group, row: row, frame)
    object.wasInZone = true
    object.set(entity.all, by: stamp)
    applier.setPending(key) { $0 = object }
    made.insert(key)
    written.insert(key)
  }

  /// The name of the save that made an object; 0 where that is not known.
  private func maker(
    of index: Int, _ group: ChangeSetIndex.Group, row: Int, _ frame: FrameContext
  ) -> UInt64 {
    let changes = frame.changeSet.index
    let makers = changes.newObjects.flatMap { run in
      run.makers.isEmpty ? Array(repeating: 0, count: run.count) : run.makers
    }
    if makers.indices.contains(index), makers[index] != 0 { return makers[index] }
    guard let place = frame.transaction(group, row: row),
      changes.transactions.indices.contains(place)
    else { return 0 }
    let transaction = changes.transactions[place]
    return transaction.name == transaction.hybridTime ? 0 : transaction.name
  }

  private mutating func update(
    _ key: ObjectKey, _ readers: [PropertyReader], _ group: ChangeSetIndex.Group, row: Int,
    _ frame: inout FrameContext
  ) throws {
    let transaction = applier.transaction
    let time = frame.time(group, row: row)
    let values = try applier.currentValues(of: key)
    let readers = try readers.filter { try isLatest(time, $0.property, of: key, values) }
    guard !readers.isEmpty else { return }
    let fresh = readers.map(\.property).filter {
      applier.pending[key]?.transaction(of: $0.slot) == nil
    }
    var sets: [String: [ObjectKey]] = [:]
    for property in fresh {
      guard case .elements(let relationship) = property.kind else { continue }
      sets[property.name] = try transaction.toManyKeys(of: key, relationship)
    }
    try applier.applyRow(key, readers, group, row: row, &frame)
    // What it is an edit of, once that followed nothing any more.
    for property in fresh {
      switch property.kind {
      case .elements:
        try BaseValues.replace(
          key, property.name, with: sets[property.name] ?? [], on: transaction.connection)
      case .attribute, .toOne:
        try applier.replaceBase(of: key, property, with: values[property.slot])
      case .place: break
      }
    }
    applier.setPending(key) { object in
      for property in readers.map(\.property) {
        let former = object.transaction(of: property.slot)
        let stamp = max(EditStamp.number(time), former.map { $0 &+ 1 } ?? Int64.min)
        object.set(PropertyMask([property.slot]), by: stamp)
        if case .elements = property.kind { continue }
        object.setOffer(of: property.slot, by: stamp)
      }
    }
    written.insert(key)
  }

  /// Whether a property was edited last at a time: what is shown of the same time was made by the same save, or stands in for
  /// what that set.
  private func isLatest(
    _ time: HybridTime, _ property: SyncSchema.Property, of key: ObjectKey,
    _ values: [PropertyValue]
  ) throws -> Bool {
    // Among these entries the later one stands.
    if made.contains(key) || applier.pending[key]?.transaction(of: property.slot) != nil {
      return true
    }
    guard let known = history.time(of: key, property.slot), known >= time else { return true }
    guard known == time else { return false }
    switch property.kind {
    case .elements(let relationship):
      return try applier.transaction.toManyKeys(of: key, relationship).isEmpty
    case .place: return true
    case .attribute, .toOne:
      let value = values[property.slot]
      return value.isNull || property.standIn?.value == value
    }
  }

  /// What was made is offered whole.
  func finish() throws {
    for key in made.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) {
      guard let entity = applier.schema.entity(numbered: key.entity) else { continue }
      applier.setPending(key) { $0.offers = $0.edits }
      guard let object = applier.pending[key] else { continue }
      try OfferedSets.begin(object, after: nil, of: key, entity, applier.transaction)
    }
  }
}
