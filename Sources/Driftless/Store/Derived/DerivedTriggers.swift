/// The triggers by which a file keeps a derived attribute, named and built as those of Core Data's files: whoever writes
/// rows, in whatever order, the value follows.
///
/// Core Data's own triggers end in a call of a function that only Core Data has. These do not, so that a program that
/// knows nothing but SQL may write the file. The exception are texts in upper case, lower case and canonical form, for
/// which SQLite has no functions: without ours such a write fails, and the value does not become wrong.
struct DerivedTriggers {
  let attribute: DerivedAttribute

  private var table: String { attribute.table.name }
  private var column: String { "\"\(attribute.column)\"" }

  /// A trigger: its name and the statement that makes it.
  struct Trigger {
    let name: String
    let sql: String
  }

  // MARK: Triggers

  var all: [Trigger] {
    switch attribute.source {
    case .now: return nowTriggers
    case .column(let source, let form):
      let value = form.text(of: "NEW.\"\(source)\"")
      return [
        sourceTrigger("SOURCE_INSERT", "INSERT", value),
        sourceTrigger("SOURCE_UPDATE", "UPDATE OF \"\(source)\"", value),
      ]
    case .across(let key, let other, let source, let form):
      return acrossTriggers(key, other, source, form)
    case .children(let operation, let child, let key, let value):
      return attribute.isWhole && (operation == .count || operation == .sum)
        ? countingTriggers(child, key, value)
        : recomputingTriggers(child, key, value)
    case .pairs(let operation, let join, let other, let value):
      return operation == .count
        ? countingTriggers(join.name, join.sourceColumn, nil)
        : pairTriggers(join, other, value)
    }
  }

  /// A statement that works out the value of every row.
  var recomputation: String {
    "UPDATE \"\(table)\" SET \(column) = \(value(of: "\"\(table)\""))\(entityCondition)"
  }

  /// As ``recomputation``, but for the time of a row that has one.
  var completion: String {
    guard case .now = attribute.source else { return recomputation }
    let isMissing = entityCondition.isEmpty ? " WHERE" : entityCondition + " AND"
    return "UPDATE \"\(table)\" SET \(column) = \(Self.now)\(isMissing) \(column) IS NULL"
  }

  /// Which rows of the table have the attribute.
  var entityCondition: String {
    attribute.entityNumbers.map { " WHERE Z_ENT IN (\(Self.list($0)))" } ?? ""
  }

  /// The value that each row should have; nil where it is the time at which it was written.
  var expectedValue: String? {
    if case .now = attribute.source { return nil }
    return value(of: "\"\(table)\"")
  }

  /// The value of a row that SQL calls `row`.
  private func value(of row: String) -> String {
    switch attribute.source {
    case .now: return Self.now
    case .column(let source, let form): return form.text(of: "\(row).\"\(source)\"")
    case .across(let key, let other, let source, let form):
      return form.text(
        of: "(SELECT o.\"\(source)\" FROM \"\(other)\" o WHERE o.Z_PK = \(row).\"\(key)\")")
    case .children(let operation, let child, let key, let value):
      return """
        (SELECT \(Self.total(operation, value.map { "o.\"\($0)\"" })) FROM "\(child)" o \
        WHERE o."\(key)" = \(row).Z_PK)
        """
    case .pairs(.count, let join, _, _):
      return """
        (SELECT COUNT(*) FROM "\(join.name)" j WHERE j."\(join.sourceColumn)" = \(row).Z_PK)
        """
    case .pairs(let operation, let join, let other, let value):
      return """
        (SELECT \(Self.total(operation, value.map { "o.\"\($0)\"" })) FROM "\(join.name)" j \
        JOIN "\(other)" o ON o.Z_PK = j."\(join.destinationColumn)" \
        WHERE j."\(join.sourceColumn)" = \(row).Z_PK)
        """
    }
  }

  /// Seconds since 2001.
  private static let now = "(julianday('now') - 2451910.5) * 86400.0"

  private static func total(_ operation: CollectionOperator, _ value: String?) -> String {
    // A decimal may be the text of one in a blob.
    let number = value.map {
      "CASE typeof(\($0)) WHEN 'blob' THEN CAST(CAST(\($0) AS TEXT) AS REAL) ELSE \($0) END"
    }
    switch operation {
    case .count: return "COUNT(*)"
    case .sum: return "IFNULL(SUM(\(number ?? "0")), 0)"
    // The last three are refused where derivations are read.
    case .avg, .median, .mode, .stddev: return "AVG(\(number ?? "0"))"
    case .min: return "MIN(\(number ?? "0"))"
    case .max: return "MAX(\(number ?? "0"))"
    }
  }

  // MARK: Forms

  private var nowTriggers: [Trigger] {
    let derived = Set(
      attribute.table.entities.flatMap { entity in
        entity.layout.slots.indices.filter {
          entity.layout.slots[$0].property is DerivedAttributeDescription
        }.compactMap { slot in
          attribute.table.slotBindings(for: entity).first { $0.slot == slot }
            .map { attribute.table.columns[$0.column].name }
        }
      })
    let written = ["Z_OPT"] + attribute.table.columns.map(\.name).filter { !derived.contains($0) }
    return [
      sourceTrigger("SOURCE_INSERT", "INSERT", Self.now),
      sourceTrigger(
        "SOURCE_UPDATE", "UPDATE OF \(written.map { "\"\($0)\"" }.joined(separator: ", "))",
        Self.now),
    ]
  }

  private func acrossTriggers(
    _ key: String, _ other: String, _ source: String, _ form: DerivedAttribute.TextForm?
  ) -> [Trigger] {
    func set(_ value: String, _ row: String) -> String {
      update(value, "\"\(key)\" = \(row).Z_PK")
    }
    let new = form.text(of: "NEW.\"\(source)\"")
    return [
      sourceTrigger("SOURCE_INSERT", "INSERT", value(of: "NEW")),
      sourceTrigger("SOURCE_UPDATE", "UPDATE OF \"\(key)\"", value(of: "NEW")),
      trigger("PARAMETER_INSERT", "INSERT", on: other, set(new, "NEW")),
      trigger("PARAMETER_UPDATE", "UPDATE OF \"\(source)\"", on: other, set(new, "NEW")),
      trigger("PARAMETER_DELETE", "DELETE", on: other, set("NULL", "OLD")),
    ]
  }

  /// Adds and takes away, so that the time does not grow with the number of rows that are there already.
  private func countingTriggers(_ child: String, _ key: String, _ value: String?) -> [Trigger] {
    func step(_ sign: String, _ row: String) -> String {
      let amount = value.map { "IFNULL(\(row).\"\($0)\", 0)" } ?? "1"
      return update(
        "IFNULL(\(column), 0) \(sign) \(amount)", "Z_PK = \(row).\"\(key)\"")
    }
    let changes = ([key] + (value.map { [$0] } ?? [])).map { "\"\($0)\"" }.joined(separator: ", ")
    let (isNew, wasOld) = ("NEW.\"\(key)\" NOT NULL", "OLD.\"\(key)\" NOT NULL")
    // A row that is its own child is counted when it comes.
    let isOther = child == table ? " AND NEW.\"\(key)\" <> NEW.Z_PK" : ""
    return [
      trigger("PARAMETER_INSERT", "INSERT", on: child, when: isNew + isOther, step("+", "NEW")),
      trigger(
        "PARAMETER_UPDATE_INCREMENT", "UPDATE OF \(changes)", on: child, when: isNew,
        step("+", "NEW")),
      trigger(
        "PARAMETER_UPDATE_DECREMENT", "UPDATE OF \(changes)", on: child, when: wasOld,
        step("-", "OLD")),
      trigger("PARAMETER_DELETE", "DELETE", on: child, when: wasOld, step("-", "OLD")),
      sourceTrigger("SOURCE_INSERT", "INSERT", self.value(of: "NEW")),
    ]
  }

  private func recomputingTriggers(_ child: String, _ key: String, _ value: String?) -> [Trigger] {
    func again(_ rows: String...) -> String {
      let keys = rows.map { "\($0).\"\(key)\"" }.joined(separator: ", ")
      return update(self.value(of: "\"\(table)\""), "Z_PK IN (\(keys))")
    }
    let changes = ([key] + (value.map { [$0] } ?? [])).map { "\"\($0)\"" }.joined(separator: ", ")
    return [
      trigger("PARAMETER_INSERT", "INSERT", on: child, again("NEW")),
      trigger("PARAMETER_UPDATE", "UPDATE OF \(changes)", on: child, again("OLD", "NEW")),
      trigger("PARAMETER_DELETE", "DELETE", on: child, again("OLD")),
      sourceTrigger("SOURCE_INSERT", "INSERT", self.value(of: "NEW")),
    ]
  }

  private func pairTriggers(_ join: JoinTable, _ other: String, _ value: String?) -> [Trigger] {
    func again(_ keys: String) -> String {
      update(self.value(of: "\"\(table)\""), "Z_PK IN (\(keys))")
    }
    let (source, destination) = ("\"\(join.sourceColumn)\"", "\"\(join.destinationColumn)\"")
    func beside(_ row: String) -> String {
      "SELECT \(source) FROM \"\(join.name)\" WHERE \(destination) = \(row).Z_PK"
    }
    return [
      trigger("PARAMETER_INSERT", "INSERT", on: join.name, again("NEW.\(source)")),
      trigger(
        "PARAMETER_UPDATE", "UPDATE", on: join.name, again("OLD.\(source), NEW.\(source)")),
      trigger("PARAMETER_DELETE", "DELETE", on: join.name, again("OLD.\(source)")),
      trigger("VALUE_INSERT", "INSERT", on: other, again(beside("NEW"))),
      trigger("VALUE_UPDATE", "UPDATE OF \"\(value ?? "Z_PK")\"", on: other, again(beside("NEW"))),
      trigger("VALUE_DELETE", "DELETE", on: other, again(beside("OLD"))),
      sourceTrigger("SOURCE_INSERT", "INSERT", self.value(of: "NEW")),
    ]
  }

  // MARK: Statements

  /// A trigger on the attribute's own rows.
  private func sourceTrigger(_ role: String, _ event: String, _ value: String) -> Trigger {
    trigger(
      role, event, on: table,
      when: attribute.entityNumbers.map { "NEW.Z_ENT IN (\(Self.list($0)))" },
      update(value, "Z_PK = NEW.Z_PK"))
  }

  private func trigger(
    _ role: String, _ event: String, on table: String, when condition: String? = nil,
    _ statement: String
  ) -> Trigger {
    let name = "Z_DA_\(table)_\(attribute.entityName)_\(attribute.name)_\(role)"
    let condition = condition.map { " WHEN (\($0))" } ?? ""
    return Trigger(
      name: name,
      sql: """
        CREATE TRIGGER IF NOT EXISTS "\(name)" AFTER \(event) ON "\(table)" FOR EACH ROW\(condition) \
        BEGIN \(statement); END
        """)
  }

  private func update(_ value: String, _ condition: String) -> String {
    "UPDATE \"\(table)\" SET \(column) = \(value) WHERE \(condition)"
  }

  private static func list(_ numbers: [Int32]) -> String {
    numbers.map { "\($0)" }.joined(separator: ", ")
  }
}

extension DerivedAttribute.TextForm? {
  fileprivate func text(of value: String) -> String { map { $0.of(value) } ?? value }
}
