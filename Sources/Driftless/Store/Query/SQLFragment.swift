import DriftlessSQLite

/// A piece of SQL with the values of its placeholders, in their order.
///
/// Text gets in through literals in this module's code and through ``identifier(_:)``; values only
/// through ``value(_:)``. So nothing that came from outside is ever part of the SQL.
struct SQLFragment {
  private(set) var sql: String
  private(set) var bindings: [SQLiteValue]

  init(_ sql: StaticString) {
    self.sql = sql.description
    bindings = []
  }

  private init(sql: String, bindings: [SQLiteValue]) {
    self.sql = sql
    self.bindings = bindings
  }

  static func value(_ value: SQLiteValue) -> SQLFragment {
    SQLFragment(sql: "?", bindings: [value])
  }

  /// A number of ours, such as that of an entity.
  static func integer(_ value: Int64) -> SQLFragment {
    SQLFragment(sql: String(value), bindings: [])
  }

  /// A quoted name of a table, column or alias.
  static func identifier(_ name: String) -> SQLFragment {
    let doubled = name.split(separator: "\"", omittingEmptySubsequences: false)
      .joined(separator: "\"\"")
    return SQLFragment(sql: "\"\(doubled)\"", bindings: [])
  }

  static func column(_ alias: String, _ name: String) -> SQLFragment {
    identifier(alias) + "." + identifier(name)
  }

  /// `name(operand, …)`, for a function of ours or SQLite's.
  static func call(_ name: String, _ operands: SQLFragment...) -> SQLFragment {
    identifier(name) + "(" + joined(operands, by: ", ") + ")"
  }

  static func + (left: SQLFragment, right: SQLFragment) -> SQLFragment {
    SQLFragment(sql: left.sql + right.sql, bindings: left.bindings + right.bindings)
  }

  static func + (left: SQLFragment, right: StaticString) -> SQLFragment {
    left + SQLFragment(right)
  }

  static func + (left: StaticString, right: SQLFragment) -> SQLFragment {
    SQLFragment(left) + right
  }

  /// The SQL with its values written out, for a definition that is kept in a file.
  var withLiterals: String {
    var result = ""
    var rest = bindings[...]
    var isQuoted = false
    for character in sql {
      if character == "\"" { isQuoted.toggle() }
      if character == "?", !isQuoted, let value = rest.popFirst() {
        result += value.literal
      } else {
        result.append(character)
      }
    }
    return result
  }

  static func joined(_ parts: [SQLFragment], by separator: String) -> SQLFragment {
    SQLFragment(
      sql: parts.map(\.sql).joined(separator: separator), bindings: parts.flatMap(\.bindings))
  }

  /// The parts in parentheses, in a tree as flat as it gets: SQLite bounds the depth of an
  /// expression, and it reads `a AND b AND c` as `(a AND b) AND c`.
  static func tree(_ parts: [SQLFragment], by separator: String) -> SQLFragment {
    let width = 32
    if parts.count <= width { return "(" + joined(parts, by: separator) + ")" }
    let size = (parts.count + width - 1) / width
    let groups = stride(from: 0, to: parts.count, by: size).map {
      tree(Array(parts[$0..<min($0 + size, parts.count)]), by: separator)
    }
    return tree(groups, by: separator)
  }
}

extension SQLiteValue {
  /// The value as SQL writes it.
  fileprivate var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let value): "\(value)"
    case .real(let value): value.isFinite ? "\(value)" : "NULL"
    case .text(let text): "'\(text.replacing("'", with: "''"))'"
    case .blob(let bytes):
      "x'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    }
  }
}
