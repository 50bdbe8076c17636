import Driftless
import DriftlessProtocol
import Foundation

/// Compares what a part of the zone's state says with what the store has, value by value.
///
/// What is pending here, or set aside, is no difference: it is passed over and counted.
struct ZoneComparison {
  /// A row of a change set of the part.
  struct Place: Hashable {
    var layer: Int
    var group: Int
    var row: Int
  }

  enum Found {
    /// The zone has the object: what its rows say is to be written. The first is its insert.
    case missing(number: UInt64, rows: [Place])
    /// The zone has it deleted.
    case deleted(ObjectKey, SyncSchema.Entity, RemoteSide)
    case otherEntity(ObjectKey, SyncSchema.Entity)
    case value(ObjectKey, SyncSchema.Entity, PropertyReader, Place, zone: ZoneValue)
    /// No entry says anything of the property.
    case unsaid(ObjectKey, SyncSchema.Entity, SyncSchema.Property)

    /// What a report calls it.
    var kind: VerifyReport.Difference.Kind {
      switch self {
      case .missing: .missing
      case .deleted: .deleted
      case .otherEntity: .entity
      case .value, .unsaid: .value
      }
    }
  }

  /// What the zone has of a property, as the store would hold it.
  enum ZoneValue {
    case value(PropertyValue)
    case elements([ObjectKey])
  }

  private enum Life {
    case living(ObjectKey, SyncSchema.Entity, [PropertyValue])
    case missing(SyncSchema.Entity)
    /// It is not compared.
    case passed
  }

  let transaction: ReadTransaction
  let schema: SyncSchema
  private let pending: PendingSet
  private let columns: ComparedColumns
  private let parkedEntries: [Parking.Entry]
  private let parkedSequences: Set<UInt64>
  private let parkedValues: ParkedValues
  /// Large values that were not to be had.
  private let missed: [Data: MissedValues.Reason]
  private let unsettled: ZoneStates
  private var kept: [ObjectKey: [Int: PropertyValue]] = [:]
  private var directory: ObjectDirectory
  private(set) var leftOut = VerifyReport.LeftOut()
  private(set) var found: [Found] = []

  // Of the part that is compared.
  private var lives: [UInt64: Life] = [:]
  private var missing: [UInt64: [Place]] = [:]
  private var said: [UInt64: Set<String>] = [:]
  /// Sets of which some entry says all in another way: as a reference, since the relationship was to-one then. Which came later,
  /// the log tells.
  private var otherwise: [ObjectKey: Set<String>] = [:]

  init(
    _ transaction: ReadTransaction, schema: SyncSchema, pending: PendingSet,
    columns: ComparedColumns
  ) throws {
    self.transaction = transaction
    self.schema = schema
    self.pending = pending
    self.columns = columns
    let connection = transaction.connection
    parkedEntries = try Parking.entries(on: connection)
    // Of the others all is here that the model knows.
    parkedSequences = Set(
      parkedEntries.lazy.filter { $0.code.isWhole || $0.code == .needsParked }.map(\.sequence))
    parkedValues = try ParkedValues(connection)
    missed = try MissedValues.digests(on: connection)
    unsettled = try ZoneStates(connection)
    directory = ObjectDirectory(connection)
    var kept: [ObjectKey: [Int: PropertyValue]] = [:]
    if try KeptKeys.exist(on: connection) {
      try KeptKeys.forEach(on: connection, schema) { key, property, side, _ in
        kept[key, default: [:]][property.slot] = side.value
      }
    }
    self.kept = kept
  }

  /// - Parameter frames: of the part's change sets, one each.
  mutating func compare(_ part: SnapshotReader.Part, _ frames: inout [FrameContext]) throws {
    (lives, missing, said, found, otherwise) = ([:], [:], [:], [], [:])
    guard let first = frames.first else { return }
    try lookAtLiving(part, first)
    try lookAtDead(part, first)
    for layer in frames.indices {
      try compare(&frames[layer], layer, frames[layer].numbers)
    }
    found.removeAll { found in
      guard case .value(let key, _, let reader, _, _) = found else { return false }
      return otherwise[key]?.contains(reader.property.name) ?? false
    }
    for number in part.numbers {
      if case .missing? = lives[number], let rows = missing[number] {
        found.append(.missing(number: number, rows: rows))
      }
      if case .living(let key, let entity, let values)? = lives[number] {
        try lookAtUnsaid(number, key, entity, values)
      }
    }
  }

  // MARK: Objects

  private mutating func lookAtLiving(_ part: SnapshotReader.Part, _ frame: FrameContext) throws {
    var place = 0
    let numbers = part.numbers
    for run in frame.changeSet.index.newObjects {
      let name = frame.changeSet.index.entities[run.entity].name
      let entity = columns.has(name, "") ? schema.entity(named: name) : nil
      for _ in 0..<run.count {
        guard numbers.indices.contains(place) else { return }
        lives[numbers[place]] = try life(of: numbers[place], entity)
        place += 1
      }
    }
  }

  private mutating func life(of number: UInt64, _ entity: SyncSchema.Entity?) throws -> Life {
    guard let entity else { return .passed }
    guard let root = try directory.key(ofNumber: number) else {
      return mayBeSetAside() ? .passed : .missing(entity)
    }
    let key = ObjectKey(entity: entity.number, key: root.key)
    guard let row = try transaction.knownRow(root) else {
      guard !isPassed(key), !isPassed(root) else {
        leftOut.pending += 1
        return .passed
      }
      return mayBeSetAside() ? .passed : .missing(entity)
    }
    guard !isPassed(row.key) else {
      leftOut.pending += 1
      return .passed
    }
    guard row.key.entity == entity.number else {
      if !mayBeSetAside() { found.append(.otherEntity(row.key, entity)) }
      return .passed
    }
    return .living(row.key, entity, row.values)
  }

  /// Whether all of an object waits to be pushed or settled.
  private func isPassed(_ key: ObjectKey) -> Bool {
    pending[key].map { $0.whole != .none } ?? false || unsettled.contains(key)
  }

  private mutating func mayBeSetAside() -> Bool {
    guard parkedEntries.contains(where: { $0.code.isWhole }) else { return false }
    leftOut.setAside += 1
    return true
  }

  private mutating func lookAtDead(_ part: SnapshotReader.Part, _ frame: FrameContext) throws {
    let transactions = frame.changeSet.index.transactions
    for dead in part.dead {
      for offset in 0..<dead.count {
        guard let root = try directory.key(ofNumber: dead.first + UInt64(offset)),
          let key = try transaction.concreteKey(root: root),
          let entity = schema.entity(numbered: key.entity)
        else { continue }
        guard pending[key] == nil, !unsettled.contains(key) else {
          leftOut.pending += 1
          continue
        }
        guard transactions.indices.contains(dead.transaction),
          frame.pushed.indices.contains(dead.transaction)
        else { continue }
        let pushed = frame.pushed[dead.transaction]
        guard columns.tellsDeletes, !parkedSequences.contains(pushed.sequence) else {
          leftOut.setAside += 1
          continue
        }
        found.append(
          .deleted(
            key, entity,
            RemoteSide(
              value: .null, time: HybridTime(rawValue: transactions[dead.transaction].hybridTime),
              origin: pushed.replica, sequence: pushed.sequence)))
      }
    }
  }

  // MARK: Values

  private mutating func compare(
    _ frame: inout FrameContext, _ layer: Int, _ numbers: [UInt64]
  ) throws {
    let changeSet = frame.changeSet
    var rest = changeSet.columns[...]
    for (place, group) in changeSet.index.groups.enumerated() {
      let own = rest.prefix(group.properties.count)
      rest = rest.dropFirst(group.properties.count)
      guard let entity = frame.entity(group.entity) else { continue }
      let readers = try frame.readers(
        group, entity: entity, columns: own, by: CellOpener(transaction, schema: schema))
      // Also what is said in a form that the model here cannot read.
      let properties = changeSet.index.entities[group.entity].properties
      let names = group.properties.compactMap {
        entity.property(namedNowOrBefore: properties[$0])?.name
      }
      for (row, object) in group.objects.enumerated() {
        guard numbers.indices.contains(object) else { continue }
        let number = numbers[object]
        let position = Place(layer: layer, group: place, row: row)
        switch lives[number] {
        case .missing: missing[number, default: []].append(position)
        case .living(let key, let entity, let values):
          // A value under the entity's other name.
          said[number, default: []].formUnion(names)
          let sequence = frame.side(group, row: row).sequence
          for reader in readers where columns.has(entity.name, reader.property.name) {
            guard !isLeftOut(key, reader.property) else { continue }
            if parkedSequences.contains(sequence) {
              leftOut.setAside += 1
              continue
            }
            // The store has it in another type since a migration.
            guard !reader.isOfOtherType else {
              leftOut.setAside += 1
              continue
            }
            guard !reader.saysWhole else {
              otherwise[key, default: []].insert(reader.property.name)
              leftOut.setAside += 1
              continue
            }
            let zone = try zoneValue(reader, row, key, numbers)
            guard let zone else { continue }
            if try isSame(zone, key, reader.property, values) {
              if isMissing(zone, values[reader.property.slot]) { leftOut.setAside += 1 }
              continue
            }
            guard try !isSetAside(key, reader.property) else {
              leftOut.setAside += 1
              continue
            }
            found.append(.value(key, entity, reader, position, zone: zone))
          }
        case .passed, nil: continue
        }
      }
    }
  }

  /// Whether the row shows something else in place of what the zone has. Of a large value that is not here it shows the name: where it
  /// does not, and nothing is pending, that was lost.
  private func isSetAside(_ key: ObjectKey, _ property: SyncSchema.Property) throws -> Bool {
    guard let value = try parkedValues.value(of: key, property.name) else { return false }
    return !(value.isInZone && property.standIn?.showsNames == true)
  }

  /// Whether both have the name of a large value that was not to be had: no bytes were compared, and none can be.
  private func isMissing(_ zone: ZoneValue, _ local: PropertyValue) -> Bool {
    guard !missed.isEmpty, case .value(let value) = zone, let large = LargeCell.value(in: value),
      local.isInZone, let reason = missed[large.digest]
    else { return false }
    return reason != .room
  }

  private mutating func isLeftOut(_ key: ObjectKey, _ property: SyncSchema.Property) -> Bool {
    guard pending[key]?.transaction(of: property.slot) != nil else { return false }
    leftOut.pending += 1
    return true
  }

  /// What the zone has, as the store would hold it; nil where that cannot be told.
  private mutating func zoneValue(
    _ reader: PropertyReader, _ row: Int, _ key: ObjectKey, _ numbers: [UInt64]
  ) throws -> ZoneValue? {
    switch reader.property.kind {
    case .attribute: return .value(reader.value(row))
    case .place: return .value(reader.place(row).map { .integer($0) } ?? .null)
    case .toOne(let relationship):
      guard let index = reader.reference(row) else { return .value(.null) }
      guard numbers.indices.contains(index),
        let target = try directory.key(ofNumber: numbers[index])
      else { return nil }
      guard let living = try transaction.concreteKey(root: target),
        schema.admits(living, isAlive: true, in: relationship)
      else { return .value(.null) }
      return .value(.reference(living))
    case .elements(let relationship):
      var elements: [ObjectKey] = []
      for index in reader.elements(row).adds {
        guard numbers.indices.contains(index),
          let target = try directory.key(ofNumber: numbers[index])
        else { return nil }
        guard let living = try transaction.concreteKey(root: target),
          schema.admits(living, isAlive: true, in: relationship)
        else { continue }
        elements.append(living)
      }
      return .elements(elements)
    }
  }

  private func isSame(
    _ zone: ZoneValue, _ key: ObjectKey, _ property: SyncSchema.Property,
    _ values: [PropertyValue]
  ) throws -> Bool {
    switch (property.kind, zone) {
    case (.attribute, .value(let value)):
      let local = kept[key]?[property.slot] ?? values[property.slot]
      // A zero stands in for what nobody named, and not for null.
      if value.isNull {
        return property.standIn?.hasDefault == true ? isNothing(local, property) : local.isNull
      }
      if let large = LargeCell.value(in: value) {
        if let named = LargeCell.value(in: local) { return named == large }
        guard case .data(let data) = local else { return false }
        return LargeValue(of: data) == large
      }
      return CellBytes.areSame(local, value)
    case (.toOne, .value(.reference(let target))):
      guard case .reference(let local) = kept[key]?[property.slot] ?? values[property.slot] else {
        return false
      }
      return local.key == target.key && schema.root(of: local) == schema.root(of: target)
    case (.toOne, _):
      let local = kept[key]?[property.slot] ?? values[property.slot]
      guard case .reference(let target) = local else { return true }
      // One to an object that is not here is none.
      return try transaction.concreteKey(root: target) == nil
    case (.place(let relationship), .value(let place)):
      guard case .reference = values[property.slot] else { return true }
      return try transaction.place(of: key, in: relationship).map { .integer($0) } ?? .null
        == place
    case (.elements(let relationship), .elements(let elements)):
      let local = try transaction.toManyKeys(of: key, relationship)
      return relationship.isOrdered ? local == elements : Set(local) == Set(elements)
    case (.place, _), (.elements, _), (.attribute, .elements): return true
    }
  }

  /// Whether a value may be what the store shows of what no entry says.
  private func isNothing(_ value: PropertyValue, _ property: SyncSchema.Property) -> Bool {
    value.isNull || property.standIn.map { CellBytes.areSame($0.value, value) } ?? false
  }

  private mutating func lookAtUnsaid(
    _ number: UInt64, _ key: ObjectKey, _ entity: SyncSchema.Entity, _ values: [PropertyValue]
  ) throws {
    for property in entity.properties where said[number]?.contains(property.name) != true {
      guard columns.has(entity.name, property.name) else { continue }
      let isSame: Bool
      switch property.kind {
      case .place: continue
      case .attribute:
        isSame = isNothing(kept[key]?[property.slot] ?? values[property.slot], property)
      case .toOne: isSame = try self.isSame(.value(.null), key, property, values)
      case .elements: isSame = try self.isSame(.elements([]), key, property, values)
      }
      guard !isSame, !isLeftOut(key, property) else { continue }
      guard try parkedValues.value(of: key, property.name) == nil,
        !parkedEntries.contains(where: { $0.code.isWhole })
      else {
        leftOut.setAside += 1
        continue
      }
      found.append(.unsaid(key, entity, property))
    }
  }
}
