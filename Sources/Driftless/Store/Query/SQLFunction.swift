package import DriftlessSQLite
import Foundation

/// The functions that compiled predicates call inside SQLite. A store registers them on each
/// connection that it opens.
///
/// A null operand, or one of another type, gives null.
package enum SQLFunction {
  /// `(text, options)`
  static let fold = "driftless_fold"
  /// `(text, part, options)`: both operands folded by the options.
  static let contains = "driftless_contains"
  static let begins = "driftless_begins"
  static let ends = "driftless_ends"
  static let like = "driftless_like"
  static let matches = "driftless_matches"
  /// `(text, text, options)`: less than 0, 0 or more than 0, see ``TextPattern/collate(_:_:_:)``.
  static let compare = "driftless_compare"
  /// `(value, its kind, type)`: see ``FetchCast``.
  static let cast = "driftless_cast"
  /// `(operator, numbers as one text, whether each counts once)`: see ``CollectionOperator/statistic(_:)``.
  static let statistic = "driftless_statistic"
  /// `(text)`
  static let uppercase = "driftless_uppercase"
  static let lowercase = "driftless_lowercase"
  static let length = "driftless_length"
  /// `(function, number, number or null)`: see ``FetchFunction/compute(_:)``.
  static let compute = "driftless_compute"
  /// `(text)`: see ``ListedValue``.
  static let listed = "driftless_listed"
  /// `(stored decimal)`: a key that sorts as the number, see ``DecimalKey``.
  static let decimalKey = "driftless_decimal_key"
  /// `(stored decimal)`: the nearest double.
  static let decimalNumber = "driftless_decimal_number"

  package static func register(on connection: SQLiteConnection) throws {
    try registerFold(on: connection)
    try registerCollations(on: connection)
    try registerConversions(on: connection)
    try search(contains, on: connection, TextPattern.contains)
    try search(begins, on: connection, TextPattern.begins)
    try search(ends, on: connection, TextPattern.ends)
    try search(like, on: connection, TextPattern.like)
    try connection.createFunction(matches, argc: 3, deterministic: true) { operands in
      guard case .text(let text) = operands[0], case .text(let pattern) = operands[1],
        case .integer(let options) = operands[2],
        let isMatch = TextPattern.matches(
          text, pattern, FetchComparison.Options(rawValue: Int(options)))
      else { return .null }
      return .integer(isMatch ? 1 : 0)
    }
    try unary(uppercase, on: connection) { .text($0.uppercased()) }
    try unary(lowercase, on: connection) { .text($0.lowercased()) }
    try unary(length, on: connection) { .integer(Int64($0.utf16.count)) }
    try connection.createFunction(listed, argc: 1, deterministic: true) { operands in
      guard case .text(let text) = operands[0] else { return .null }
      return ListedValue.value(of: text)
    }
    try connection.createFunction(compute, argc: 3, deterministic: true) { operands in
      guard case .text(let name) = operands[0], let function = FetchFunction(rawValue: name) else {
        return .null
      }
      let numbers = operands[1...].prefix(function.argumentCount).map { operand -> PropertyValue in
        switch operand {
        case .integer(let value): .integer(value)
        case .real(let value): .double(value)
        default: .null
        }
      }
      switch function.compute(Array(numbers)) {
      case .integer(let value): return .integer(value)
      case .double(let value): return .real(value)
      default: return .null
      }
    }
    try connection.createFunction(decimalKey, argc: 1, deterministic: true) { operands in
      Self.key(of: operands[0]).map(SQLiteValue.blob) ?? .null
    }
    try connection.createFunction(decimalNumber, argc: 1, deterministic: true) { operands in
      switch operands[0] {
      case .blob(let bytes):
        Double(String(decoding: bytes, as: UTF8.self)).map(SQLiteValue.real) ?? .null
      case .integer(let value): .real(Double(value))
      case let value: value
      }
    }
  }

  /// The key of a decimal as the store keeps it: a number, or the text of one in a blob.
  static func key(of stored: SQLiteValue) -> Data? {
    switch stored {
    case .integer(let value): DecimalKey.bytes(of: Decimal(value))
    case .real(let value): DecimalKey.bytes(of: value)
    case .text(let text): Decimal(wholeText: text).flatMap(DecimalKey.bytes(of:))
    case .blob(let bytes):
      Decimal(wholeText: String(decoding: bytes, as: UTF8.self)).flatMap(DecimalKey.bytes(of:))
    case .null: nil
    }
  }

  private static func registerFold(on connection: SQLiteConnection) throws {
    try connection.createFunction(fold, argc: 2, deterministic: true) { operands in
      guard case .text(let text) = operands[0], case .integer(let options) = operands[1] else {
        return .null
      }
      return .text(TextPattern.fold(text, FetchComparison.Options(rawValue: Int(options))))
    }
  }

  private static func unary(
    _ name: String, on connection: SQLiteConnection,
    _ result: @escaping @Sendable (String) -> SQLiteValue
  ) throws {
    try connection.createFunction(name, argc: 1, deterministic: true) { operands in
      guard case .text(let text) = operands[0] else { return .null }
      return result(text)
    }
  }

  private static func search(
    _ name: String, on connection: SQLiteConnection,
    _ condition: @escaping @Sendable (String, String) -> Bool
  ) throws {
    try connection.createFunction(name, argc: 3, deterministic: true) { operands in
      guard case .text(let text) = operands[0], case .text(let part) = operands[1],
        case .integer(let rawOptions) = operands[2]
      else { return .null }
      let options = FetchComparison.Options(rawValue: Int(rawOptions))
      let isFound = condition(TextPattern.fold(text, options), TextPattern.fold(part, options))
      return .integer(isFound ? 1 : 0)
    }
  }
}

/// Orders of texts, types of values, statistics.
extension SQLFunction {
  /// The collation of sorts with these options.
  static func collation(_ options: FetchComparison.Options) -> String {
    "driftless_\(options.effective.rawValue)"
  }

  static func registerCollations(on connection: SQLiteConnection) throws {
    for options in FetchComparison.Options.collations {
      try connection.createCollation(collation(options)) {
        TextPattern.collate($0, $1, options).rawValue
      }
    }
    try connection.createFunction(compare, argc: 3, deterministic: true) { operands in
      guard case .text(let left) = operands[0], case .text(let right) = operands[1],
        case .integer(let options) = operands[2]
      else { return .null }
      let order = TextPattern.collate(
        left, right, FetchComparison.Options(rawValue: Int(options)))
      return .integer(Int64(order.rawValue))
    }
  }

  static func registerConversions(on connection: SQLiteConnection) throws {
    try connection.createFunction(cast, argc: 3, deterministic: true) { operands in
      guard case .text(let kind) = operands[1], case .text(let type) = operands[2],
        let type = FetchCast(rawValue: type), let kind = SQLKind.castable[kind],
        let value = try? type.apply(to: PropertyValue(stored: operands[0], kind))
      else { return .null }
      return value.sqlValue(as: type.sqlKind) { _ in nil } ?? .null
    }
    try connection.createFunction(statistic, argc: 3, deterministic: true) { operands in
      guard case .text(let name) = operands[0], case .text(let list) = operands[1],
        let operation = CollectionOperator(rawValue: name)
      else { return .null }
      var numbers = list.split(separator: ",").compactMap { Double($0) }
      if operands[2] == .integer(1) { numbers = Array(Set(numbers)) }
      return operation.statistic(numbers).map(SQLiteValue.real) ?? .null
    }
  }
}

extension SQLKind {
  /// Kinds that `CAST` takes, by name.
  static let castable: [String: SQLKind] = Dictionary(
    uniqueKeysWithValues: [.number, .decimal, .decimalKey, .date, .text, .data, .uuid].map {
      (kind: SQLKind) in (kind.castName, kind)
    })

  var castName: String { "\(self)" }
}

extension PropertyValue {
  /// A value as a column of that kind has it.
  fileprivate init(stored: SQLiteValue, _ kind: SQLKind) {
    switch (kind, stored) {
    case (.decimal, _):
      self =
        SQLFunction.key(of: stored).flatMap(DecimalKey.decimal(of:)).map { .decimal($0) }
        ?? .null
    case (.decimalKey, .blob(let key)):
      self = DecimalKey.decimal(of: key).map { .decimal($0) } ?? .null
    case (.date, .real(let seconds)): self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    case (.date, .integer(let seconds)):
      self = .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
    case (.uuid, .blob(let bytes)):
      self = UUID(networkBytes: bytes).map { .uuid($0) } ?? .data(bytes)
    case (_, .integer(let value)): self = .integer(value)
    case (_, .real(let value)): self = .double(value)
    case (_, .text(let value)): self = .string(value)
    case (_, .blob(let value)): self = .data(value)
    case (_, .null): self = .null
    }
  }
}
