import DriftlessSQLite

/// How the rows of one concrete entity are read and written: one step a stored property, worked out once.
final class RowProgram: Sendable {
  enum Kind: UInt8, Sendable {
    case bool, integer, double, decimal, string, date, data, uuid, uri
    /// Data that may lie in a file beside the store.
    case externalData
    /// A reference whose entity is known from the model.
    case reference
    /// A reference whose entity is a column.
    case anyReference
  }

  struct Step: Sendable {
    let slot: Int
    let kind: Kind
    /// The place among the table's columns, `Z_PK` being 0.
    let column: Int32
    let entityColumn: Int32
    /// The entity of a reference, where it has no column.
    let entityNumber: Int32

    /// What a statement writes in place of a value: large data goes to a file on the way.
    func stored(_ value: String) -> String {
      kind == .externalData ? "\(ExternalData.function)(\(value))" : value
    }
  }

  /// One column of rows in memory.
  struct RowColumn: Sendable {
    let slot: Int
    /// Whether it holds the entity of a reference, in place of its key.
    let isEntity: Bool
  }

  let entity: EntityDescription
  let number: Int32
  let table: EntityTable
  let slotCount: Int
  let steps: [Step]
  /// The step of a slot, or -1.
  let stepOfSlot: [Int]
  let insertSQL: String
  /// The same for rows in memory: `c0` is the key, and `rowColumns` tells what the others are.
  let insertRowsSQL: String
  let rowColumns: [RowColumn]
  let deleteSQL: String
  let selectSQL: String
  /// The place of each slot in `ZCOLUMNS`: attributes by name, then relationships by name. Core Data's own order is
  /// another, so what it recorded is not read by it (``TransactionKind/adopted``).
  let historyBit: [Int]
  /// The slots whose values a tombstone keeps.
  let tombstoneSlots: [Int]
  /// All that an update may have changed, where it is not known what it did.
  let storedSlots: PropertyMask
  /// Whether values may lie in files beside the store.
  let hasExternalData: Bool
  /// What the column of each step may hold.
  let rules: [ValueRule]

  init(
    entity: EntityDescription, number: Int32, table: EntityTable, numbers: [String: Int32],
    external: Set<String>?
  ) {
    self.entity = entity
    self.number = number
    self.table = table
    let layout = entity.layout
    slotCount = layout.slots.count
    let bindings = table.slotBindings(for: entity)
    let steps = bindings.map { binding in
      let slot = layout.slots[binding.slot]
      let isExternal =
        external?.contains("\(table.name).\(table.columns[binding.column].name)")
        ?? slot.allowsExternalStorage
      return Step(
        slot: binding.slot,
        kind: Self.kind(of: slot, isExternal, hasEntityColumn: binding.entityColumn != nil),
        column: Int32(binding.column + 3), entityColumn: Int32((binding.entityColumn ?? -3) + 3),
        entityNumber: numbers[slot.relationship?.destinationEntity?.name ?? ""] ?? 0)
    }
    self.steps = steps
    rules = steps.map { ValueRule($0, of: entity, in: table) }
    hasExternalData = steps.contains { $0.kind == .externalData }
    var stepOfSlot = [Int](repeating: -1, count: slotCount)
    for (index, step) in steps.enumerated() { stepOfSlot[step.slot] = index }
    self.stepOfSlot = stepOfSlot
    let names = steps.flatMap { step in
      [table.columns[Int(step.column) - 3].name]
        + (step.kind == .anyReference ? [table.columns[Int(step.entityColumn) - 3].name] : [])
    }
    let columns =
      "INSERT INTO \"\(table.name)\" (Z_PK, Z_ENT, Z_OPT"
      + names.map { ", \"\($0)\"" }.joined() + ")"
    insertSQL =
      columns + " VALUES (?, ?, ?"
      + steps.map { ", " + $0.stored("?") + ($0.kind == .anyReference ? ", ?" : "") }.joined() + ")"
    rowColumns = steps.flatMap { step in
      [RowColumn(slot: step.slot, isEntity: false)]
        + (step.kind == .anyReference ? [RowColumn(slot: step.slot, isEntity: true)] : [])
    }
    insertRowsSQL =
      columns + " SELECT c0, \(number), 1"
      + rowColumns.enumerated().map { place, column in
        ", " + steps[stepOfSlot[column.slot]].stored("c\(place + 1)")
      }.joined() + " FROM \(RowsInMemory.table(columns: rowColumns.count + 1))"
    // The key may be another entity's by now.
    deleteSQL = "DELETE FROM \"\(table.name)\" WHERE Z_PK = ? AND Z_ENT = \(number)"
    selectSQL =
      "SELECT Z_PK, Z_ENT, Z_OPT" + table.columns.map { ", \"\($0.name)\"" }.joined()
      + " FROM \"\(table.name)\" WHERE Z_PK = ?"
    historyBit = Self.historyBits(of: layout)
    tombstoneSlots = layout.slots.compactMap {
      if case .attribute(let attribute, _) = $0.kind, attribute.preservesValueInHistoryOnDeletion {
        return $0.index
      }
      return nil
    }
    storedSlots = PropertyMask(
      layout.slots.lazy.filter { slot in
        !slot.isTransient && !(slot.property is DerivedAttributeDescription)
          && !(slot.isToMany && slot.relationship?.inverseRelationship?.isToMany == false)
      }.map(\.index))
  }

  private static func kind(
    of slot: PropertySlot, _ isExternal: Bool, hasEntityColumn: Bool
  ) -> Kind {
    switch slot.kind {
    case .toOne, .toMany: hasEntityColumn ? .anyReference : .reference
    case .attribute(_, let type): isExternal && type.isData ? .externalData : kind(of: type)
    }
  }

  static func kind(of type: AttributeType) -> Kind {
    switch type {
    case .boolean: .bool
    case .integer16, .integer32, .integer64: .integer
    case .double, .float: .double
    case .decimal: .decimal
    case .string: .string
    case .date: .date
    case .uuid: .uuid
    case .uri: .uri
    case .binaryData, .transformable, .undefined, .objectID, .composite: .data
    }
  }

  private static func historyBits(of layout: EntityLayout) -> [Int] {
    let order = layout.slots.sorted {
      ($0.relationship == nil ? 0 : 1, $0.name) < ($1.relationship == nil ? 0 : 1, $1.name)
    }
    var bits = [Int](repeating: 0, count: order.count)
    for (bit, slot) in order.enumerated() { bits[slot.index] = bit }
    return bits
  }

  /// The bytes of `ZCOLUMNS`: one bit a property, the first the most significant.
  func columnsBytes(of mask: PropertyMask) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: (slotCount + 7) / 8)
    mask.forEach { slot in
      guard slot < historyBit.count else { return }
      bytes[historyBit[slot] / 8] |= 0x80 >> UInt8(historyBit[slot] % 8)
    }
    return bytes
  }

  /// - Parameter bytes: whatever a file has there; too few say nothing of the properties beyond them.
  func mask<Bytes: RandomAccessCollection<UInt8>>(ofColumns bytes: Bytes) -> PropertyMask {
    var mask = PropertyMask()
    for slot in 0..<slotCount {
      let bit = historyBit[slot]
      guard bit / 8 < bytes.count else { continue }
      let byte = bytes[bytes.index(bytes.startIndex, offsetBy: bit / 8)]
      if byte & (0x80 >> UInt8(bit % 8)) != 0 { mask.insert(slot) }
    }
    return mask
  }
}
