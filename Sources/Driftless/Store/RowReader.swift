package import DriftlessSQLite
import Foundation

/// One row of an entity's table, as it lies in a statement that was stepped to it.
package struct RowReader {
  let statement: SQLiteStatement
  let schema: StoreSchema
  private var program: RowProgram?

  package init(statement: SQLiteStatement, schema: StoreSchema) {
    self.statement = statement
    self.schema = schema
  }

  package var key: ObjectKey {
    statement.objectKey(1, 0)
  }

  package var version: Int64 { statement.int64(2) }

  /// Decodes the row into as many slots as its entity has. They hold null, and those that are not stored still do.
  ///
  /// - Parameters:
  ///   - count: How many there are.
  ///   - entity: What they were made for.
  /// - Throws: `StoreError` when the row's entity is not in the model, or is another than that of the slots.
  mutating func decode(
    into slots: ValueRoom, _ count: Int, of entity: EntityDescription
  ) throws {
    let number = statement.entityNumber(1)
    if program?.number != number {
      let next = try program(numbered: number)
      if let next, next.entity.name != entity.name { throw misfit(next, entity) }
      program = next
    }
    guard let program, count >= program.slotCount else {
      throw program.map { misfit($0, entity) } ?? unknown(number)
    }
    decode(program, into: slots, mapsFiles: true)
    if program.hasExternalData { try checkFiles(program) { slots[$0] } }
  }

  private func decode(_ program: RowProgram, into slots: ValueRoom, mapsFiles: Bool) {
    for step in program.steps {
      // Null has nothing to release.
      slots.overwriteNull(
        step.slot, with: step.value(in: statement, at: step.column, mapsFiles: mapsFiles))
    }
  }

  private func unknown(_ number: Int32) -> StoreError {
    StoreError(
      .damaged, "A row is of entity number \(number), which the model does not have.",
      suggestion: "Open the store with the model that it was written with.")
  }

  private func misfit(_ program: RowProgram, _ entity: EntityDescription) -> StoreError {
    StoreError(
      .damaged,
      "Row \(statement.int64(0)) is of \(program.entity.name), and was read as one of \(entity.name).",
      suggestion: "Another file took the place of the store's. Open the store again.")
  }

  /// How rows of an entity are read; nil for one that the model does not have.
  ///
  /// - Throws: `StoreError` for an entity whose rows lie in another table: another object would come out of this row.
  private mutating func program(numbered number: Int32) throws -> RowProgram? {
    guard let program = schema.program(numbered: number) else { return nil }
    guard program.table.name != statement.knownTable else { return program }
    let columns = program.table.columns
    guard statement.sql.contains("\"\(program.table.name)\""),
      statement.columnCount >= columns.count + 3,
      columns.indices.allSatisfy({ statement.columnName(Int32($0 + 3)) == columns[$0].name })
    else {
      throw StoreError(
        .damaged,
        "Row \(statement.int64(0)) says that it is of \(program.entity.name), whose rows lie in another table.",
        suggestion: "Check the store, and restore its file from a copy.")
    }
    statement.knownTable = program.table.name
    return program
  }

  /// The row's values by slot.
  ///
  /// - Parameters:
  ///   - least: how many slots there are at least, of which those beyond the row's entity are null.
  ///   - mapsFiles: whether they are an object's, which are mapped where they lie in files (``MappedFile``).
  /// - Throws: `StoreError`: `lostFile` when a value lies in a file that cannot be read.
  package mutating func values(least: Int = 0, mapsFiles: Bool = false) throws -> [PropertyValue] {
    let values = try knownValues(least: least, mapsFiles: mapsFiles)
    if let program, program.hasExternalData { try checkFiles(program) { values[$0] } }
    return values
  }

  /// The row's values by slot, where null stands for what lies in files that cannot be read: `lost(of:)` tells which those are.
  package mutating func knownValues(
    least: Int = 0, mapsFiles: Bool = false
  ) throws -> [PropertyValue] {
    let number = statement.entityNumber(1)
    if program?.number != number { program = try program(numbered: number) }
    guard let program else { throw unknown(number) }
    var values = [PropertyValue](repeating: .null, count: max(least, program.slotCount))
    values.withRoom { decode(program, into: $0, mapsFiles: mapsFiles) }
    return values
  }

  /// The values of some slots; the others are null.
  package mutating func values(
    where isWanted: (PropertySlot) -> Bool
  ) throws -> [PropertyValue] {
    let number = statement.entityNumber(1)
    if program?.number != number { program = try program(numbered: number) }
    guard let program else { throw unknown(number) }
    var values = [PropertyValue](repeating: .null, count: program.slotCount)
    for step in program.steps where isWanted(program.entity.layout.slots[step.slot]) {
      values[step.slot] = step.value(in: statement, at: step.column)
    }
    return values
  }

  /// The slots whose values lie in files that cannot be read: such a column is not null, and gives none.
  package func lost(of values: [PropertyValue]) -> PropertyMask {
    guard let program, program.hasExternalData else { return PropertyMask() }
    return PropertyMask(program.steps.filter { isLost($0) { values[$0] } }.map(\.slot))
  }

  /// The slots whose columns hold what cannot be read: something else is shown in their place, and is no value of the object.
  package func unreadable() -> PropertyMask {
    var mask = PropertyMask()
    for rule in program?.rules ?? [] {
      if let breach = rule.breach(in: statement), breach != .range { mask.insert(rule.step.slot) }
    }
    return mask
  }

  /// The same with what they hold, for a person.
  package func unreadableValues() -> [BrokenValue] {
    (program?.rules ?? []).compactMap { rule in
      guard let breach = rule.breach(in: statement), breach != .range else { return nil }
      return BrokenValue(key, rule, breach, in: statement)
    }
  }

  private func isLost(_ step: RowProgram.Step, _ value: (Int) -> PropertyValue) -> Bool {
    step.kind == .externalData && value(step.slot).isNull && !statement.isNull(step.column)
  }

  private func checkFiles(_ program: RowProgram, _ value: (Int) -> PropertyValue) throws {
    guard let step = program.steps.first(where: { isLost($0, value) }) else { return }
    let folder = ExternalDataFolder(store: statement.databasePath)
    let name = statement.withBytes(step.column) { ExternalValue.name(in: $0) }
    let slot = program.entity.layout.slots[step.slot]
    throw StoreError.lostFile(
      "\(program.entity.name).\(slot.name) of the object with key \(key.key) has its value in a file. "
        + folder.loss(of: name ?? ""), of: statement.databasePath, keys: [key])
  }
}

extension RowProgram.Step {
  /// The value in a column of a row.
  @inline(__always)
  func value(
    in statement: SQLiteStatement, at column: Int32, mapsFiles: Bool = false
  ) -> PropertyValue {
    let type = statement.type(column)
    if type == SQLiteStatement.nullType { return .null }
    switch kind {
    case .bool: return .bool(statement.int64(column) != 0)
    case .integer: return .integer(statement.int64(column))
    case .double: return .double(ExactDouble.value(in: statement, column, type))
    case .string: return .string(statement.string(column))
    case .date:
      return .date(
        Date(timeIntervalSinceReferenceDate: ExactDouble.value(in: statement, column, type)))
    case .data: return .data(statement.data(column))
    case .externalData: return ExternalValue.read(statement, column, isMapped: mapsFiles)
    case .uuid: return statement.uuid(column).map(PropertyValue.uuid) ?? .null
    case .uri: return URL(string: statement.string(column)).map(PropertyValue.uri) ?? .null
    case .decimal: return DecimalStorage.value(in: statement, column)
    case .reference:
      // A key that no object can have is none: below zero it would be that of an object that is not saved yet.
      let key = statement.int64(column)
      guard ReadTransaction.keys.contains(key) else { return .null }
      return .reference(ObjectKey(entity: entityNumber, key: key))
    case .anyReference:
      guard ReadTransaction.keys.contains(statement.int64(column)) else { return .null }
      return .reference(
        ObjectKey(
          entity: statement.entityNumber(entityColumn),
          key: statement.int64(column)))
    }
  }
}

extension RowProgram {
  /// The value of a slot that lies in another column than its own: in a tombstone.
  func value(ofSlot slot: Int, in statement: SQLiteStatement, at column: Int32) -> PropertyValue {
    guard stepOfSlot[slot] >= 0, !statement.isNull(column) else { return .null }
    let step = steps[stepOfSlot[slot]]
    // A tombstone holds data whatever its size.
    return step.kind == .externalData
      ? .data(statement.data(column)) : step.value(in: statement, at: column)
  }
}

/// Doubles on disk: a REAL, but for the two that SQLite does not keep. It stores -0.0 as 0 and NaN as NULL; here they are
/// their eight bytes in a BLOB, which no column affinity changes.
enum ExactDouble {
  @inline(__always)
  static func value(in statement: SQLiteStatement, _ column: Int32, _ type: Int32) -> Double {
    guard type == SQLiteStatement.blobType else { return statement.double(column) }
    return statement.withBytes(column) { bytes in
      guard bytes.count == 8 else { return .nan }
      return Double(
        bitPattern: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)))
    }
  }

  @inline(__always)
  static func write(_ value: Double, to destination: some SQLiteDestination) {
    if value.isNaN || (value == 0 && value.sign == .minus) {
      destination.setBytes(of: value.bitPattern)
    } else {
      destination.set(value)
    }
  }
}

extension ExactDouble {
  /// SQL for a decimal of what a column has as a double: of the two that are bytes there is zero, and what is no number.
  static func decimal(of column: String) -> String {
    """
    CASE WHEN typeof(\(column)) <> 'blob' THEN \(column) WHEN \(column) = x'0000000000000080' THEN 0
    ELSE x'4E614E' END
    """
  }
}

/// Decimals on disk: a REAL, as Core Data writes it, where that names the same number; else its text in a BLOB, which
/// no column affinity changes.
enum DecimalStorage {
  /// What Core Data writes for `NSDecimalNumber.notANumber`, which is no value here. One that is written here is a BLOB.
  static let notANumber = "NaN"

  static func value(in statement: SQLiteStatement, _ column: Int32) -> PropertyValue {
    let text: String
    switch statement.value(column) {
    case .blob(let bytes): text = String(decoding: bytes, as: UTF8.self)
    case .text(notANumber): return .null
    case .text(let stored): text = stored
    case .integer(let number): return .decimal(Decimal(number))
    case .real(let number): text = "\(number)"
    case .null: return .null
    }
    return Decimal(wholeText: text).map(PropertyValue.decimal) ?? .null
  }

  static func write(_ value: Decimal, to destination: some SQLiteDestination) {
    if let number = value.shortDouble { return destination.set(number) }
    let text = value.wholeText
    if let number = Double(text), isShort(text) || Decimal(string: "\(number)") == value {
      destination.set(number)
    } else {
      destination.setBytes(of: text)
    }
  }

  /// Whether a number has so few digits that it is the same one again after it was a double: reading it anew to see that
  /// costs as much as all the rest.
  private static func isShort(_ text: String) -> Bool {
    var digits = 0
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
      case UInt8(ascii: "."), UInt8(ascii: "-"): continue
      default: return false
      }
    }
    return digits <= 15
  }
}
