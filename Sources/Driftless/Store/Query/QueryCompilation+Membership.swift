import DriftlessSQLite
import Foundation

/// IN and its mirror image, CONTAINS on a collection.
extension QueryCompilation {
  /// Beyond this many, values travel as one JSON text: the statement stays the same, and SQLite bounds the number of
  /// placeholders.
  private static let manyValues = 64

  func membership(_ comparison: FetchComparison) throws(FetchError) -> SQLFragment {
    if case .list = comparison.right {
      return try membership(try operand(comparison.left), comparison)
    }
    if isCollection(comparison.right) {
      return try isElement(comparison.left, of: comparison.right, comparison.options)
    }
    return try membership(try operand(comparison.left), comparison)
  }

  func membership(
    _ left: SQLOperand, _ comparison: FetchComparison
  ) throws(FetchError) -> SQLFragment {
    guard case .list(let items, _) = comparison.right else {
      if isCollection(comparison.right) {
        return try isElement(left, of: comparison.right, comparison)
      }
      // 'a' IN name: the same as name CONTAINS 'a'.
      var mirrored = comparison
      mirrored.operator = .contains
      mirrored.left = comparison.right
      mirrored.right = comparison.left
      return try condition(mirrored)
    }
    var constants: [PropertyValue] = []
    var conditions: [SQLFragment] = []
    for item in items {
      let operand = try self.operand(item)
      switch operand {
      case .constant(let value) where !value.isNull: constants.append(value)
      case .constant, .computed:
        conditions.append(try compare(left, .equal, operand, comparison))
      }
    }
    // nil is none of these, and that is certain.
    if !constants.isEmpty, !left.isNullConstant {
      conditions.append(try list(left, constants, comparison))
    }
    return conditions.isEmpty ? .value(.integer(0)) : .tree(conditions, by: " OR ")
  }

  private func list(
    _ left: SQLOperand, _ constants: [PropertyValue], _ comparison: FetchComparison
  ) throws(FetchError) -> SQLFragment {
    var kind: SQLKind
    switch left {
    case .computed(_, let own): kind = own
    case .constant(let value):
      guard let own = value.sqlKind else { return .value(.null) }
      kind = own
    }
    if kind == .number, constants.contains(where: { $0.sqlKind == .decimal }) {
      // A number equals a decimal by what both print as, and another number bit by bit.
      let numbers = constants.filter { $0.sqlKind != .decimal }
      guard numbers.isEmpty else {
        let decimals = constants.filter { $0.sqlKind == .decimal }
        return "(" + (try list(left, numbers, comparison)) + " OR "
          + (try list(left, decimals, comparison)) + ")"
      }
      kind = .decimal
    }
    let value = try side(left, kind, comparison)
    var values: [SQLFragment] = []
    for constant in constants {
      // As SQLite compares: what is no text has the text that it prints as.
      let text = kind == .text ? constant.numberText.map { PropertyValue.string($0) } : nil
      values.append(try side(.constant(text ?? constant), kind, comparison))
    }
    if values.count == 1 { return value + " = " + values[0] }
    guard values.count > Self.manyValues else {
      return value + " IN (" + .joined(values, by: ", ") + ")"
    }
    let bound = values.flatMap(\.bindings)
    if let json = plainJSON(bound) {
      return value + " IN (SELECT value FROM json_each(" + .value(.text(json)) + "))"
    }
    return value + " IN (SELECT " + .call(SQLFunction.listed, SQLFragment("value"))
      + " FROM json_each(" + .value(.text(Self.json(bound.map(ListedValue.text)))) + "))"
  }

  private static func json(_ texts: [String]) -> String {
    (try? JSONEncoder().encode(texts)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
  }

  /// nil for values that do not go through JSON unharmed.
  private func plainJSON(_ values: [SQLiteValue]) -> String? {
    var integers: [Int64] = []
    var texts: [String] = []
    for value in values {
      switch value {
      case .integer(let integer): integers.append(integer)
      case .text(let text) where !text.utf8.contains(0): texts.append(text)
      default: return nil
      }
    }
    guard integers.isEmpty || texts.isEmpty else { return nil }
    if integers.isEmpty { return Self.json(texts) }
    return "[\(integers.map(String.init).joined(separator: ","))]"
  }

  /// Whether a value that is compiled already is an element of a collection that the store has.
  private func isElement(
    _ value: SQLOperand, of expression: FetchExpression, _ comparison: FetchComparison
  ) throws(FetchError) -> SQLFragment {
    let collection = try collection(expression)
    let element = try operand(collection.rest, from: collection.element, expression)
    let condition = try compare(element, .equal, value, comparison)
    return "EXISTS (" + select("1", collection, condition) + ")"
  }

  /// Whether an element of the collection equals the value.
  func isElement(
    _ value: FetchExpression, of collection: FetchExpression, _ options: FetchComparison.Options
  ) throws(FetchError) -> SQLFragment {
    if case .list = collection {
      return try membership(FetchComparison(value, .in, collection, options: options))
    }
    return try quantified(
      FetchComparison(collection, .equal, value, modifier: .any, options: options))
  }
}
