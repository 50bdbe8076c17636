import Driftless
import DriftlessProtocol
import Foundation

/// Opens the sealed columns of change sets that are read: from the zone, from the entries that are kept, and from what is in
/// flight, and puts large values in that are here. All behind it sees values.
///
/// A row of an opened column is a 0 with the bytes that were sealed. A cell that does not open stays as it is.
struct CellOpener {
  private let keys: KeyRing?
  private let transaction: ReadTransaction
  private let schema: SyncSchema

  init(_ transaction: ReadTransaction, schema: SyncSchema) {
    keys = schema.keys
    self.transaction = transaction
    self.schema = schema
  }

  private static let opened: UInt8 = 0
  /// In place of a first byte that says that a row is opened, though nothing here has opened it.
  private static let strange: UInt8 = 255

  /// The row of an opened column for a value that another store has opened; a cell that did not open there is itself.
  static func row(of value: PropertyValue) -> [UInt8] {
    SealedValue.cell(in: value) ?? [opened] + (PlainValue.bytes(of: value) ?? [])
  }

  /// A change set with its columns opened.
  func opened(_ changeSet: ChangeSet) throws -> ChangeSet {
    guard changeSet.columns.contains(where: { $0.isSealed || $0.large != nil }) else {
      return changeSet
    }
    var changeSet = changeSet
    let index = changeSet.index
    let identities = NewIdentities(index)
    var directory = ObjectDirectory(transaction.connection)
    var place = 0
    for group in index.groups {
      for property in group.properties {
        defer { place += 1 }
        changeSet.columns[place] = try opened(
          changeSet.columns[place], of: index.entities[group.entity], property, group.objects
        ) { object in
          if let identity = identities[object] { return identity }
          let number = index.knownNumbers[object - index.newObjectCount]
          return try directory.key(ofNumber: number).map { try transaction.identity(of: $0) }
        }
      }
    }
    return changeSet
  }

  /// A column of a group with its cells opened.
  ///
  /// - Parameters:
  ///   - property: Its place among the entity's names.
  ///   - identity: Of an object of the change set's table; nil for one that is not known here.
  func opened(
    _ column: Column, of entity: ChangeSetIndex.Entity, _ property: Int, _ objects: ObjectIndexes,
    identity: (Int) throws -> UUID?
  ) throws -> Column {
    let column = try ValuePieces.filled(column, transaction)
    guard case .sealed(let cells) = column.values else { return column }
    let places = places(entity.name, entity.properties[property])
    var rows = ByteRows()
    for (row, object) in objects.enumerated() {
      guard row < cells.count, !column.isNull(at: row) else {
        rows.appendEmpty()
        continue
      }
      let bytes = cells.withBytes(at: row) { Array($0) }
      if let cell = SealedCell(bytes), keys?.has(cell.key) == true,
        let identity = try identity(object),
        let plain = open(cell, places, of: identity), PlainValue.value(plain) != nil
      {
        rows.append(Data([Self.opened] + plain))
      } else {
        rows.append(Data(bytes.first == Self.opened ? [Self.strange] + bytes : bytes))
      }
    }
    return Column(.sealed(rows), nulls: column.nulls, large: column.large)
  }

  func identity(of key: ObjectKey) throws -> UUID { try transaction.identity(of: key) }

  /// The value of a cell that was parked; nil where it does not open.
  func value(
    ofCell bytes: [UInt8], _ property: SyncSchema.Property, of entity: SyncSchema.Entity,
    _ key: ObjectKey
  ) throws -> PropertyValue? {
    value(ofCell: bytes, property, of: entity, identity: try transaction.identity(of: key))
  }

  /// The value of a cell that was kept of an object that may be deleted by now; nil where it does not open.
  func value(
    ofCell bytes: [UInt8], _ property: SyncSchema.Property, of entity: SyncSchema.Entity,
    identity: UUID
  ) -> PropertyValue? {
    guard let cell = SealedCell(bytes), keys?.has(cell.key) == true else { return nil }
    return open(cell, places(entity.name, property.name), of: identity)
      .flatMap { PlainValue.value($0) }.map { Widening.widened($0, property.kind) }
  }

  /// A value as a column says it.
  static func value(_ row: [UInt8]) -> PropertyValue {
    if LargeCell.value(ofRow: row) != nil { return .data(Data(row)) }
    guard row.first == opened, let value = PlainValue.value(Array(row.dropFirst())) else {
      return SealedValue.value(ofCell: row)
    }
    return value
  }

  private func open(
    _ cell: SealedCell, _ places: [(entity: String, property: String)], of identity: UUID
  ) -> [UInt8]? {
    for (entity, property) in places {
      let place = SealedPlace(entity: entity, object: identity, property: property)
      if let plain = keys?.open(cell, at: place) { return plain }
    }
    return nil
  }

  /// What an entity and a property of it may have been called when a cell was sealed, the likeliest first: a snapshot and
  /// what is parked outlive a name.
  private func places(_ entity: String, _ property: String) -> [(
    entity: String, property: String
  )] {
    let known = schema.entity(namedNowOrBefore: entity)
    let entities = [entity] + (known?.description.names ?? [])
    let found = known?.property(namedNowOrBefore: property)
    let properties = [property] + (found?.names ?? [])
    var places: [(entity: String, property: String)] = []
    for entity in entities {
      for property in properties
      where !places.contains(where: { $0.entity == entity && $0.property == property }) {
        places.append((entity, property))
      }
    }
    return places
  }
}

/// The identities of a change set's new objects, by their places in its table.
struct NewIdentities {
  private var runs: [(first: Int, identities: ChangeSetIndex.Identities)] = []
  private let count: Int

  init(_ index: ChangeSetIndex) {
    var first = 0
    for run in index.newObjects {
      runs.append((first, run.identities))
      first += run.count
    }
    count = first
  }

  /// Nil for an object that is not new.
  subscript(object: Int) -> UUID? {
    guard object >= 0, object < count else { return nil }
    var (low, high) = (0, runs.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if runs[middle].first <= object { low = middle } else { high = middle }
    }
    return runs[low].identities[object - runs[low].first]
  }
}

extension Column {
  var isSealed: Bool {
    if case .sealed = values { return true }
    return false
  }
}
