import DriftlessSQLite
import Foundation

/// IN and its mirror image, CONTAINS on a collection.
extension QueryCompilation {
  /// Beyond this many, values travel as one JSON text, so that the statement stays the same.
  private static let manyValues = 64
  /// SQLite's own bound on placeholders is 32,766 in a default build.
  private static let maximumValues = 30_000

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
    guard case .list(let items) = comparison.right else {
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
    if kind == .number, constants.contains(where: { $0.sqlKind == .decimal }) { kind = .decimal }
    let value = try side(left, kind, comparison)
    var values: [SQLFragment] = []
    for constant in constants {
      values.append(try side(.constant(constant), kind, comparison))
    }
    if values.count == 1 { return value + " = " + values[0] }
    if values.count > Self.manyValues, let json = json(values.flatMap(\.bindings)) {
      return value + " IN (SELECT value FROM json_each(" + .value(.text(json)) + "))"
    }
    guard values.count <= Self.maximumValues else {
      throw FetchError(
        .unsupported, "IN has \(values.count) values; the store takes \(Self.maximumValues)",
        suggestion: "Fetch in parts.")
    }
    return value + " IN (" + .joined(values, by: ", ") + ")"
  }

  /// nil for values that do not go through JSON unharmed.
  private func json(_ values: [SQLiteValue]) -> String? {
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
    let encoder = JSONEncoder()
    let data = integers.isEmpty ? try? encoder.encode(texts) : try? encoder.encode(integers)
    return data.map { String(decoding: $0, as: UTF8.self) }
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
