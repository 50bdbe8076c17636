import DriftlessSQLite
import Foundation

/// The table of each hierarchy: a row is an object of one of its entities, and each value is what its attribute holds.
struct EntityTableCheck: TableCheck {
  let tables: [String] = []

  func check(_ inspection: StoreInspection) throws {
    for table in inspection.schema.tables where inspection.has(table.name) {
      let concrete = table.entities.filter { !$0.isAbstract }
        .map { "\(inspection.schema.entityNumber(of: $0))" }
      try inspection.check(
        table.name, key: ["Z_PK"],
        [
          RowRule(
            "typeof(Z_ENT) = 'integer' AND Z_ENT IN (\(concrete.joined(separator: ", ")))",
            "it is of no entity of the model"),
          .integer("Z_PK", 1...Int64.max), .integer("Z_OPT", 0...ReadTransaction.greatestNumber),
        ])
      try checkValues(of: table, inspection)
    }
    try checkFiles(inspection)
  }

  // MARK: Values

  /// One pass over the rows, each value looked at where it lies.
  private func checkValues(of table: EntityTable, _ inspection: StoreInspection) throws {
    let columns = table.columns.map { ", \"\($0.name)\"" }.joined()
    guard
      let statement = try? inspection.connection.prepareUncached(
        "SELECT Z_PK, Z_ENT, Z_OPT\(columns) FROM \"\(table.name)\"")
    else { return }
    var kinds: [Int32: [ValueRule]] = [:]
    for entity in table.entities {
      let number = inspection.schema.entityNumber(of: entity)
      guard let program = inspection.schema.program(numbered: number) else { continue }
      kinds[number] = program.steps.map { ValueRule($0, program) }
    }
    var tallies: [String: (rule: ValueRule, breach: ValueRule.Breach, StoreInspection.Tally)] = [:]
    var count = 0
    while try statement.step() {
      count += 1
      for rule in kinds[statement.entityNumber(1)] ?? [] {
        guard let breach = rule.breach(in: statement) else { continue }
        let name = "\(rule.name) \(breach.rawValue)"
        var entry = tallies[name] ?? (rule, breach, StoreInspection.Tally())
        entry.2.add("Z_PK \(statement.int64(0))")
        tallies[name] = entry
      }
    }
    inspection.countObjects(count)
    for (_, entry) in tallies.sorted(by: { $0.key < $1.key }) {
      inspection.report(
        entry.2, in: table.name, "\(entry.rule.name) \(entry.breach.rawValue)",
        entry.breach == .range ? .disagreement : .damage,
        suggestion:
          "Take what the zone has of them (syncctl verify --repair), set the property anew in these objects, or restore a backup."
      )
    }
  }

  /// Values that lie in files beside the store.
  private func checkFiles(_ inspection: StoreInspection) throws {
    let columns = inspection.schema.externalColumns.filter { inspection.has($0.table) }
    guard !columns.isEmpty else { return }
    let present = Set(ExternalDataFolder(store: inspection.connection.path).names)
    for column in columns {
      let lost = try ExternalData.referenced([column], inspection.connection).subtracting(present)
      guard !lost.isEmpty else { continue }
      inspection.report(
        .damage, column.table,
        "\(column.table).\(column.column): \(lost.count) \(lost.count == 1 ? "value lies in a file beside the store that is" : "values lie in files beside the store that are") "
          + "not there, such as \(lost.min() ?? "").",
        count: lost.count,
        suggestion:
          "Put the files back from a copy of the folder. Else syncctl verify --repair takes what the "
          + "zone has, and syncctl store give-up-lost goes on without them.")
    }
  }
}

/// What a column may hold for one property of an entity.
private struct ValueRule {
  enum Breach: String {
    case type = "is of another type than its attribute"
    case form = "cannot be read"
    case range = "is out of the range of its type"
    case encoding = "is no UTF-8"
  }

  let name: String
  private let step: RowProgram.Step
  private let range: ClosedRange<Int64>
  /// Whether a column may hold anything: nothing is known of its type, or SQL works it out.
  private let isFree: Bool
  private let orderColumn: Int32?

  init(_ step: RowProgram.Step, _ program: RowProgram) {
    let slot = program.entity.layout.slots[step.slot]
    self.step = step
    name = "\(program.entity.name).\(slot.name)"
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
    orderColumn = program.table.slotBindings(for: program.entity)
      .first { $0.slot == step.slot }?.orderColumn.map { Int32($0 + 3) }
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
      guard storage == .blob else {
        return storage == .text && statement.string(step.column) != DecimalStorage.notANumber
          ? .type : nil
      }
      return DecimalStorage.value(in: statement, step.column).isNull ? .form : nil
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

  private func encoding(_ statement: SQLiteStatement) -> Breach? {
    statement.isUTF8(step.column) ? nil : .encoding
  }

  /// Eight bytes of one of the numbers that SQLite does not keep.
  private func isExactDouble(_ statement: SQLiteStatement) -> Bool {
    statement.withBytes(step.column) { $0.count == 8 }
  }
}
