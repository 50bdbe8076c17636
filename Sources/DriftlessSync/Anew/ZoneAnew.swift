import Driftless
import DriftlessProtocol
import Foundation

/// Takes what has changed with the model from a store that joined the zone with the model of now, and stands at the same
/// place of the log. What is pending here stays, and meets what it has not met.
struct ZoneAnew {
  /// Objects of which the differences are put together at once.
  private static let batch: UInt64 = 4096

  private let applier: PageApplier
  private let schema: SyncSchema
  private let change: ModelMeaning.Change
  private let other: ReadTransaction
  private let otherSchema: SyncSchema
  private let otherParked: ParkedValues
  private let otherDangling: DanglingReferences
  private var otherDirectory: ObjectDirectory
  private var directory: ObjectDirectory
  /// By object numbers, less one.
  private var table = ObjectTable(capacity: 0)
  private let next: UInt64
  private let state: ReplicaState
  private var drafts = Drafts()

  /// What is to be said of objects, as groups of change sets.
  private struct Drafts {
    var inserts: [Int32: ChangeDraft] = [:]
    var updates: [Int32: [String: ChangeDraft]] = [:]
  }

  init(
    _ applier: PageApplier, _ state: ReplicaState, _ change: ModelMeaning.Change,
    from other: ReadTransaction, _ otherSchema: SyncSchema, upTo next: UInt64
  ) throws {
    self.applier = applier
    self.state = state
    self.change = change
    self.other = other
    self.otherSchema = otherSchema
    self.next = next
    schema = applier.schema
    otherParked = try ParkedValues(other.connection)
    otherDangling = try DanglingReferences(other.connection)
    otherDirectory = ObjectDirectory(other.connection)
    directory = ObjectDirectory(applier.transaction.connection)
  }

  mutating func take() throws {
    try makeKeys()
    var first: UInt64 = 1
    while first < next {
      for number in first..<min(next, first + Self.batch) { try look(at: number) }
      try write()
      first += Self.batch
    }
    try applier.finishKeys()
  }

  /// Gives what came back with its entity keys: what refers to it may stand before it.
  private mutating func makeKeys() throws {
    var missing: [(number: UInt64, entity: SyncSchema.Entity, identity: UUID)] = []
    if !change.entities.isEmpty {
      for number in 1..<max(1, next) {
        guard let (entity, key, _) = try object(number), change.entities.contains(entity.name),
          try directory.key(ofNumber: number) == nil
        else { continue }
        missing.append((number, entity, try other.identity(of: key)))
      }
    }
    for (number, entity, identity) in missing {
      var frame = self.frame(ChangeSetIndex(entities: [.init(name: entity.name, properties: [])]))
      try applier.addNewObjects(
        .init(entity: 0, identities: .listed([identity]), isGiven: !identity.isMinted),
        firstNumber: number, to: &frame)
    }
    applier.directory.refresh()
    directory.refresh()
    for number in 1..<max(1, next) {
      table.append(
        try directory.key(ofNumber: number).map {
          ObjectTable.Entry(key: $0, life: .unknown, existed: true)
        })
    }
  }

  /// An object that lives there, with its row.
  private mutating func object(
    _ number: UInt64
  ) throws -> (entity: SyncSchema.Entity, key: ObjectKey, values: [PropertyValue])? {
    guard let root = try otherDirectory.key(ofNumber: number), let row = try other.row(root),
      let name = otherSchema.entity(numbered: row.key.entity)?.name,
      let entity = schema.entity(named: name)
    else { return nil }
    return (entity, row.key, row.values)
  }

  private mutating func look(at number: UInt64) throws {
    guard let (entity, theirs, values) = try object(number),
      let root = try directory.key(ofNumber: number)
    else { return }
    let transaction = applier.transaction
    let key = ObjectKey(entity: entity.number, key: root.key)
    let living = try transaction.concreteKey(root: root)
    guard living != nil else {
      guard change.entities.contains(entity.name), !applier.isHeld(key) else { return }
      var draft =
        drafts.inserts[entity.number] ?? ChangeDraft(.insert, entity, entity.properties)
      for (place, property) in entity.properties.enumerated() {
        draft.columns[place].append(
          try cell(property, theirs, values) ?? Self.none(property))
      }
      draft.append(key, transaction: 0)
      drafts.inserts[entity.number] = draft
      return
    }
    // An entry that was set aside may have made it, or somebody here: what it has of before that is the zone's.
    let isAll = change.entities.contains(entity.name)
    let names = change.properties[entity.name] ?? []
    guard living == key, isAll || !names.isEmpty,
      let own = try transaction.knownOwnRow(key)?.values
    else { return }
    for property in entity.properties {
      let name = PlaceName.property(ofPlace: property.name) ?? property.name
      guard isAll || names.contains(name), try isTaken(property, of: key, name, entity),
        let cell = try differing(property, (theirs, values), (key, own))
      else { continue }
      var draft =
        drafts.updates[entity.number]?[property.name] ?? ChangeDraft(.update, entity, [property])
      draft.columns[0].append(cell)
      draft.append(key, transaction: 0)
      drafts.updates[entity.number, default: [:]][property.name] = draft
    }
  }

  /// Whether a cell is the zone's, or met nothing when it was edited. What waits for a unique key is the zone's already.
  private func isTaken(
    _ property: SyncSchema.Property, of key: ObjectKey, _ name: String,
    _ entity: SyncSchema.Entity
  ) throws -> Bool {
    guard applier.keptKeys.values[key]?[property.slot] == nil else { return false }
    guard let object = applier.pending[key] else { return true }
    guard object.whole == .none else { return false }
    return object.transaction(of: property.slot) == nil
      || change.returned[entity.name]?.contains(name) == true
  }

  private static func none(_ property: SyncSchema.Property) -> ColumnDraft.Cell {
    if case .elements = property.kind { return .elements(adds: [], removes: []) }
    return .value(.null)
  }

  /// What is there, in the keys of here; nil for what does not cross.
  private mutating func cell(
    _ property: SyncSchema.Property, _ key: ObjectKey, _ values: [PropertyValue]
  ) throws -> ColumnDraft.Cell? {
    switch property.kind {
    case .attribute:
      guard let parked = try otherParked.value(of: key, property.name) else {
        return .value(values[property.slot])
      }
      return property.standIn?.crosses(parked) == true ? .value(parked) : nil
    case .toOne:
      if case .reference(let target) = values[property.slot] {
        return .value(try own(target).map { .reference($0) } ?? .null)
      }
      let source = DanglingReferences.Source(key: key, property: property.name)
      let target = try otherDangling.targets(of: source).first
      return .value(try target.flatMap { try own($0) }.map { .reference($0) } ?? .null)
    case .place(let relationship):
      return .value(try other.place(of: key, in: relationship).map { .integer($0) } ?? .null)
    case .elements(let relationship):
      return .elements(
        adds: try other.toManyKeys(of: key, relationship).compactMap { try own($0) }, removes: [])
    }
  }

  /// An object of there as it is known here: the key under its root.
  private mutating func own(_ key: ObjectKey) throws -> ObjectKey? {
    guard
      let number = try otherDirectory.number(root: otherSchema.root(of: key), key: key.key)
    else { return nil }
    return try directory.key(ofNumber: number)
  }

  /// Of what is not here yet the row has the name, which is the same as the value.
  private static func setAside(_ value: PropertyValue?) -> PropertyValue {
    value.map { $0.isInZone ? .null : $0 } ?? .null
  }

  private mutating func differing(
    _ property: SyncSchema.Property, _ theirs: (key: ObjectKey, values: [PropertyValue]),
    _ ours: (key: ObjectKey, values: [PropertyValue])
  ) throws -> ColumnDraft.Cell? {
    guard let cell = try cell(property, theirs.key, theirs.values) else { return nil }
    let transaction = applier.transaction
    switch (property.kind, cell) {
    case (.attribute, .value):
      let parked = try applier.parkedValues.value(of: ours.key, property.name)
      let there = try otherParked.value(of: theirs.key, property.name)
      let areSame =
        CellBytes.areSame(ours.values[property.slot], theirs.values[property.slot])
        && CellBytes.areSame(Self.setAside(parked), Self.setAside(there))
      return areSame ? nil : cell
    case (.toOne, .value(let value)):
      var local = ours.values[property.slot]
      if case .reference(let target) = local { local = .reference(schema.rooted(target)) }
      return local == value ? nil : cell
    case (.place(let relationship), .value(let value)):
      let local = try transaction.place(of: ours.key, in: relationship)
      return local.map { .integer($0) } ?? .null == value ? nil : cell
    case (.elements(let relationship), .elements(let adds, _)):
      let local = try transaction.toManyKeys(of: ours.key, relationship).map(schema.rooted)
      let removes = local.without(adds)
      guard removes.isEmpty, relationship.isOrdered ? local == adds : local.count == adds.count
      else { return .elements(adds: adds, removes: removes) }
      return nil
    default: return nil
    }
  }

  // MARK: Writing

  private func frame(_ index: ChangeSetIndex) -> FrameContext {
    let header = ChangeSetHeader(
      replica: state.replica, pushNumber: 1, cursor: state.position)
    return FrameContext(
      ChangeSet(header: header, index: index, columns: []), sequence: state.cursor, firstNumber: 0,
      schema: schema)
  }

  private mutating func write() throws {
    let all =
      drafts.inserts.values.map { $0 }
      + drafts.updates.values.flatMap(\.values)
    drafts = Drafts()
    guard !all.isEmpty else { return }
    let order = all.sorted {
      ($0.kind == .insert ? 0 : 1, $0.entity.name, $0.columns.first?.property.name ?? "")
        < ($1.kind == .insert ? 0 : 1, $1.entity.name, $1.columns.first?.property.name ?? "")
    }
    var index = ChangeSetIndex(
      entities: schema.entities.map {
        .init(name: $0.name, properties: $0.properties.map(\.name))
      })
    index.knownNumbers = Array(1..<next)
    index.transactions = [
      .init(name: 0, hybridTime: 0, author: nil, contextName: nil)
    ]
    var frame = frame(index)
    frame.table = table
    for draft in order {
      guard let entity = schema.entities.firstIndex(where: { $0 === draft.entity }) else {
        continue
      }
      let group = ChangeSetIndex.Group(
        kind: draft.kind, entity: entity, properties: Array(draft.entity.properties.indices),
        objects: ObjectIndexes(try draft.keys.compactMap { try place(of: $0) }),
        transactionRuns: [.init(transaction: 0, count: draft.keys.count)])
      var places: [ObjectKey: Int32] = [:]
      for column in draft.columns {
        for target in column.targets { places[target] = try place(of: target) }
      }
      let columns = draft.columns.map { column in
        column.column {
          places[$0]
        } seal: {
          CellOpener.row(of: $1)
        }
      }
      let readers = zip(draft.columns, columns).compactMap {
        PropertyReader(property: $0.property, column: $1)
      }
      applier.noteSide(of: group, frame)
      if draft.kind == .insert {
        try applier.applyInserts(group, draft.entity, readers, &frame)
      } else {
        try applier.applyUpdates(group, draft.entity, readers, &frame)
      }
    }
    table = frame.table
  }

  /// The index of an object in the table.
  private mutating func place(of key: ObjectKey) throws -> Int32? {
    try directory.number(root: schema.root(of: key), key: key.key).map {
      Int32(clamping: $0 - 1)
    }
  }
}
