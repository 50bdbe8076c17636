import Driftless
import DriftlessSQLite
import Foundation

/// How what is empty is told.
extension LackedValues {
  /// What is empty, as a list of what is set aside tells it, without what that names for another reason.
  static func parked(
    _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> [ParkedEntry] {
    let connection = transaction.connection
    guard try EngineTables.has(table, on: connection),
      try connection.number("SELECT EXISTS (SELECT 1 FROM \(table))") != 0
    else { return [] }
    let waiting = try waiting(transaction, schema)
    let setAside = try ParkedValues.cells(alsoIn: table, on: connection)
    var parked: [ParkedEntry] = []
    try connection.forEachRow(
      "SELECT entity, key, property, had, origin, sequence, since FROM \(table)"
    ) { row in
      let key = row.objectKey(0, 1)
      let name = row.string(2)
      guard let entity = transaction.schema.entity(numbered: key.entity),
        let slot = entity.layout.index(named: name),
        // A model may require less by now.
        transaction.schema.requiredMask(numbered: key.entity).contains(slot),
        try transaction.knownOwnRow(key)?.values[slot].isNull == true,
        !waiting.contains(Cell(key: key, property: name)),
        !setAside.contains(Cell(key: key, property: name))
      else { return }
      let had = try RowArchive.decodeValues(row.data(3)).first ?? .null
      parked.append(
        ParkedEntry(
          sequence: row.unsigned(5), sender: UUID(networkBytes: row.data(4)), code: code,
          reason: "\(name) is required, and empty\(try words(had, transaction)): "
            + "set it, here or on any replica, there to another value than it may show.",
          names: [], object: try transaction.identity(of: key), entity: entity.name,
          property: name, since: Date(timeIntervalSince1970: row.double(6)),
          bytes: row.data(3).count))
    }
    return parked
  }

  /// How many those are. Rows are asked which of them are empty, and none is read.
  static func parkedCount(_ transaction: ReadTransaction, _ schema: SyncSchema) throws -> Int {
    let connection = transaction.connection
    guard try EngineTables.has(table, on: connection),
      try connection.number("SELECT EXISTS (SELECT 1 FROM \(table))") != 0
    else { return 0 }
    let waiting = try waiting(transaction, schema)
    let setAside = try ParkedValues.cells(alsoIn: table, on: connection)
    var lacks: [Column: [Int64]] = [:]
    try forEach("", [], transaction) { key, slot in
      guard transaction.schema.requiredMask(numbered: key.entity).contains(slot) else { return }
      lacks[Column(entity: key.entity, slot: slot), default: []].append(key.key)
    }
    var count = 0
    for (column, keys) in lacks {
      guard let first = keys.min(), let last = keys.max(),
        let name = transaction.schema.entity(numbered: column.entity)?
          .layout.slots[column.slot].name
      else { continue }
      let empty = Set(
        try transaction.keys(
          of: column.entity, withoutAnyOf: PropertyMask([column.slot]), in: [first...last]))
      for key in keys {
        let key = ObjectKey(entity: column.entity, key: key)
        let cell = Cell(key: key, property: name)
        guard empty.contains(key), !waiting.contains(cell), !setAside.contains(cell) else {
          continue
        }
        count += 1
      }
    }
    return count
  }

  private struct Column: Hashable {
    var entity: Int32
    var slot: Int
  }

  /// What a list names since it waits for its key.
  private static func waiting(
    _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> Set<Cell> {
    Set(try KeptKeys.waiting(transaction, schema).map { Cell(key: $0.key, property: $0.property) })
  }

  private typealias Cell = ParkedValues.Cell

  private static func words(
    _ had: PropertyValue, _ transaction: ReadTransaction
  ) throws -> String {
    switch had {
    case .null: return ""
    case .reference(let target):
      let identity = try transaction.identity(of: target).uuidString.lowercased()
      return " since a change that took object \(identity)"
    default:
      guard SealedValue.cell(in: had) == nil, LargeCell.value(in: had) == nil else { return "" }
      var json = JSONText()
      json.value(had) { _, _ in }
      return " since a change that took \(String(decoding: json.bytes, as: UTF8.self))"
    }
  }
}
