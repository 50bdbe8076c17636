import DriftlessSQLite
import Foundation

/// What a column may hold for one property of an entity.
struct ValueRule: Sendable {
  enum Breach: String {
    case type = "is of another type than its attribute"
    case form = "cannot be read"
    case range = "is out of the range of its type"
    case encoding = "is no UTF-8"
  }

  let name: String
  let step: RowProgram.Step
  private let range: ClosedRange<Int64>
  /// Whether a column may hold anything: nothing is known of its type, or SQL works it out.
  private let isFree: Bool
  private let orderColumn: Int32?

  init(_ step: RowProgram.Step, of entity: EntityDescription, in table: EntityTable) {
    let slot = entity.layout.slots[step.slot]
    self.step = step
    name = "\(entity.name).\(slot.name)"
    var range = Int64.min...Int64.max
    var isFree = slot.property is DerivedAttributeDescription
    if case .attribute(_, let type) = slot.kind {
      switch type {
      case .integer16: range = Int64(Int16.min)...Int64(Int16.max)
      case .integer32: range = Int64(Int32.min)...Int64(Int32.max)
      case .boolean: range = 0...1
      case .undefined, .objectID, .composite: isFree = true
      default: break
      }
    } else {
      range = 1...Int64.max
    }
    self.range = range
    self.isFree = isFree
    orderColumn = table.slotBindings(for: entity)
      .first { $0.slot == step.slot }?.orderColumn.map { Int32($0 + 3) }
  }

  /// One pass over the rows of a table, each value looked at where it lies.
  ///
  /// - Returns: how many rows there are.
  static func forEachBreach(
    of table: EntityTable, _ transaction: ReadTransaction,
    _ body: (SQLiteStatement, ValueRule, Breach) throws -> Void
  ) throws -> Int {
    let columns = table.columns.map { ", \"\($0.name)\"" }.joined()
    let statement = try transaction.connection.prepareUncached(
      "SELECT Z_PK, Z_ENT, Z_OPT\(columns) FROM \"\(table.name)\"")
    var kinds: [Int32: [ValueRule]] = [:]
    for entity in table.entities {
      let number = transaction.schema.entityNumber(of: entity)
      guard let program = transaction.schema.program(numbered: number) else { continue }
      kinds[number] = program.rules
    }
    var count = 0
    while try statement.step() {
      count += 1
      for rule in kinds[statement.entityNumber(1)] ?? [] {
        guard let breach = rule.breach(in: statement) else { continue }
        try body(statement, rule, breach)
      }
    }
    return count
  }

  func breach(in statement: SQLiteStatement) -> Breach? {
    if let orderColumn {
      switch statement.storage(orderColumn) {
      case .null, .integer: break
      case .real, .text, .blob: return .type
      }
    }
    let storage = statement.storage(step.column)
    if isFree || storage == .null { return nil }
    switch step.kind {
    case .bool, .integer, .reference, .anyReference:
      guard storage == .integer else { return .type }
      return range.contains(statement.int64(step.column)) ? nil : .range
    case .double, .date:
      if storage == .blob { return isExactDouble(statement) ? nil : .form }
      return storage == .text ? .type : nil
    case .decimal:
      switch storage {
      case .integer: return nil
      case .text:
        return statement.string(step.column) == DecimalStorage.notANumber ? nil : .type
      case .real where Self.isPlain(statement.double(step.column)): return nil
      case .real, .blob, .null:
        return DecimalStorage.value(in: statement, step.column).isNull ? .form : nil
      }
    case .string: return storage == .text ? encoding(statement) : .type
    case .uri:
      guard storage == .text else { return .type }
      return URL(string: statement.string(step.column)) == nil ? .form : encoding(statement)
    case .uuid:
      guard storage == .blob else { return .type }
      return statement.uuid(step.column) == nil ? .form : nil
    case .data, .externalData: return storage == .blob ? nil : .type
    }
  }

  /// Whether a number is surely one that a decimal can be, which need not be worked out.
  private static func isPlain(_ number: Double) -> Bool {
    number == 0 || (1e-90...1e90).contains(number.magnitude)
  }

  private func encoding(_ statement: SQLiteStatement) -> Breach? {
    statement.isUTF8(step.column) ? nil : .encoding
  }

  /// Eight bytes of one of the numbers that SQLite does not keep.
  private func isExactDouble(_ statement: SQLiteStatement) -> Bool {
    statement.withBytes(step.column) { $0.count == 8 }
  }
}
