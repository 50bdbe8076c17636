import Driftless
import DriftlessProtocol
import Foundation

/// A property of an object whose large value is not here and belongs there: what was set over it since has no need of it.
struct NamedPlace: Hashable {
  let key: ObjectKey
  let property: String
  let slot: Int
  let named: PropertyValue
  let value: LargeValue
  /// The entry that said it, and who sent that, where it is set aside.
  var sequence: UInt64 = 0
  var sender: UUID?

  init?(_ row: ParkedValues.Row, _ schema: SyncSchema) {
    guard let value = LargeCell.value(in: row.value),
      let property = schema.entity(numbered: row.key.entity)?.property(named: row.property)
    else { return nil }
    self.init(
      key: row.key, property: property.name, slot: property.slot, named: row.value, value: value)
    (sequence, sender) = (row.sequence, row.sender)
  }

  private init(
    key: ObjectKey, property: String, slot: Int, named: PropertyValue, value: LargeValue
  ) {
    self.key = key
    self.property = property
    self.slot = slot
    self.named = named
    self.value = value
  }

  /// Those of an object.
  ///
  /// - Parameters:
  ///   - name: of one property; nil for all.
  ///   - pending: what was edited here.
  static func all(
    of key: ObjectKey, _ name: String?, _ pending: PendingSet, _ transaction: ReadTransaction,
    _ schema: SyncSchema
  ) throws -> [NamedPlace] {
    guard let row = try transaction.knownRow(key),
      let entity = schema.entity(numbered: row.key.entity)
    else { return [] }
    if let name, entity.property(named: name) == nil {
      throw SyncError(
        .unknownElement, "\(entity.name) has no property \(name) that syncs.",
        suggestion: "Its properties: \(entity.properties.map(\.name).joined(separator: ", ")).")
    }
    let parked = try ParkedValues(transaction.connection)
    return try entity.properties.compactMap { property in
      guard name ?? property.name == property.name, case .attribute = property.kind else {
        return nil
      }
      let shown = row.values[property.slot]
      let isEdited = pending[row.key]?.transaction(of: property.slot) != nil
      let named =
        shown.isInZone ? shown : isEdited ? nil : try parked.value(of: row.key, property.name)
      guard let named, let value = LargeCell.value(in: named) else { return nil }
      return NamedPlace(
        key: row.key, property: property.name, slot: property.slot, named: named, value: value)
    }
  }

  /// Those of all objects, in the order of the log, and behind them what an undo went back to.
  static func all(
    _ pending: PendingSet, _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> [NamedPlace] {
    try all(
      ParkedValues.nameRows(on: transaction.connection), undone(pending, transaction, schema),
      pending, transaction, schema)
  }

  /// Those of some values.
  ///
  /// - Parameter undone: what undos went back to.
  static func all(
    of values: Set<LargeValue>, _ undone: UndonePlaces, _ pending: PendingSet,
    _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> [NamedPlace] {
    try all(
      ParkedValues.nameRows(of: values.sorted(), on: transaction.connection),
      values.sorted().flatMap { undone[$0] }.filter {
        try $0.isAwaited(pending, transaction, schema)
      }, pending, transaction, schema)
  }

  private static func all(
    _ rows: [ParkedValues.Row], _ undone: [NamedPlace], _ pending: PendingSet,
    _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> [NamedPlace] {
    let ids = Set(undone.map(\.id))
    let parked = try rows.compactMap { NamedPlace($0, schema) }
      .filter { try !ids.contains($0.id) && !$0.isEdited(pending, transaction) }
    return parked + undone
  }

  /// What an undo that the zone has not taken yet went back to.
  fileprivate static func undone(
    _ pending: PendingSet, _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> [NamedPlace] {
    var places: [NamedPlace] = []
    for (key, object) in pending.objects where object.whole != .delete {
      guard let entity = schema.entity(numbered: key.entity), entity.showsNames,
        let values = try transaction.knownRow(key)?.values
      else { continue }
      for property in entity.properties {
        guard case .attribute = property.kind, object.transaction(of: property.slot) != nil,
          let value = LargeCell.value(in: values[property.slot])
        else { continue }
        places.append(
          NamedPlace(
            key: key, property: property.name, slot: property.slot, named: values[property.slot],
            value: value))
      }
    }
    return places
  }

  /// Where it is.
  var id: String { "\(key.entity) \(key.key) \(property)" }

  /// Whether something else was set here, which the zone has not taken yet.
  func isEdited(_ pending: PendingSet, _ transaction: ReadTransaction) throws -> Bool {
    guard pending[key]?.transaction(of: slot) != nil else { return false }
    return try transaction.knownRow(key).map { LargeCell.value(in: $0.values[slot]) != value }
      ?? true
  }

  func isAwaited(
    _ pending: PendingSet, _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> Bool {
    try Self.all(of: key, property, pending, transaction, schema).contains { $0.value == value }
  }

  /// Whether the object has what may be the value: somebody else brought it.
  func isFilled(_ transaction: ReadTransaction) throws -> Bool {
    guard let shown = try transaction.knownRow(key)?.values[slot], !shown.isInZone else {
      return false
    }
    guard case .data(let data) = shown, !LargeCell.isSealed(named) else { return !shown.isNull }
    return data.count == Int(clamping: value.length)
  }

  func row(by applier: PageApplier) -> ParkedValues.Row {
    ParkedValues.Row(
      key: key, property: property, value: named, sequence: sequence,
      sender: sender ?? applier.replica, reason: "", since: applier.now, bytes: 0)
  }
}

/// What undos that the zone has not taken yet went back to, by value: all that is pending is looked through for it, once for as long
/// as nothing is edited or merged.
struct UndonePlaces {
  private let acknowledged: Int64
  private let cursor: UInt64
  private let generation: UUID
  private var through: Int64
  private let places: [LargeValue: [NamedPlace]]

  init(
    _ pending: PendingSet, _ state: ReplicaState, _ transaction: ReadTransaction,
    _ schema: SyncSchema
  ) throws {
    (acknowledged, cursor, generation) = (state.acknowledged, state.cursor, state.generation)
    through = pending.through
    places = Dictionary(
      grouping: try NamedPlace.undone(pending, transaction, schema), by: \.value)
  }

  /// Those of a value; some may have been settled since.
  subscript(value: LargeValue) -> [NamedPlace] { places[value] ?? [] }

  /// Whether nothing was edited or settled since that could have brought more of them.
  mutating func areAll(_ state: ReplicaState, _ transaction: ReadTransaction) throws -> Bool {
    guard acknowledged == state.acknowledged, cursor == state.cursor,
      generation == state.generation
    else { return false }
    var isEdited = false
    through = try transaction.forEachLocalChange(after: through) { _, _, _ in isEdited = true }
    return !isEdited
  }
}

extension SyncEngine {
  /// What undos went back to, as of now.
  func undonePlaces(
    _ pending: PendingSet, _ state: ReplicaState, _ transaction: ReadTransaction
  ) throws -> UndonePlaces {
    if var known = undoneCache, try known.areAll(state, transaction) {
      undoneCache = known
      return known
    }
    let places = try UndonePlaces(pending, state, transaction, schema)
    undoneCache = places
    return places
  }

  /// Where some values belong that are not here.
  func namedPlaces(
    of values: Set<LargeValue>, _ transaction: ReadTransaction
  ) throws -> [NamedPlace] {
    let state = try Self.state(on: transaction.connection, of: store)
    let pending = try pendingSet(transaction, state: state)
    return try NamedPlace.all(
      of: values, undonePlaces(pending, state, transaction), pending, transaction, schema)
  }
}
