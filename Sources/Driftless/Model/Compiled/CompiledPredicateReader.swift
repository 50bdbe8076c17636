import Foundation

/// Reads the predicates and expressions of a compiled model.
struct CompiledPredicateReader {
  typealias Record = KeyedArchive.Record

  /// Deeper nesting than this is refused, so that no archive exhausts the stack.
  private static let depthMax = 100

  let archive: KeyedArchive
  /// What the predicate is of, as messages name it.
  let element: String

  /// A predicate as a format string; nil for none. Some compilers archive the string itself.
  func format(of value: KeyedArchive.Value) throws -> String? {
    if case .null = value { return nil }
    if let text = try archive.text(value) { return text }
    return try predicate(value).description
  }

  func predicate(_ value: KeyedArchive.Value) throws -> FetchPredicate {
    try predicate(value, depth: 0)
  }

  func expression(_ record: Record) throws -> FetchExpression { try expression(record, depth: 0) }

  private func predicate(_ value: KeyedArchive.Value, depth: Int) throws -> FetchPredicate {
    guard depth < Self.depthMax else { throw unsupported("a predicate nests too deep") }
    if let text = try archive.text(value) { return try FetchPredicate(format: text) }
    guard case .record(let record) = value else { throw unsupported("a predicate is missing") }
    switch record.className {
    case "NSTruePredicate": return .constant(true)
    case "NSFalsePredicate": return .constant(false)
    case "NSCompoundPredicate":
      var parts: [FetchPredicate] = []
      for part in try archive.elements(record, "NSSubpredicates") {
        parts.append(try predicate(part, depth: depth + 1))
      }
      switch try archive.integer(record, "NSCompoundPredicateType") {
      case 0 where parts.count == 1: return .not(parts[0])
      case 1: return .and(parts)
      case 2: return .or(parts)
      default: throw unsupported("a compound predicate is of an unknown type")
      }
    case "NSComparisonPredicate": return .comparison(try comparison(record, depth))
    default: throw unsupported("it has a predicate of the class \(record.className)")
    }
  }

  private func comparison(_ record: Record, _ depth: Int) throws -> FetchComparison {
    guard let left = try archive.record(record, "NSLeftExpression"),
      let right = try archive.record(record, "NSRightExpression"),
      let sign = try archive.record(record, "NSPredicateOperator"),
      let number = try archive.integer(sign, "NSOperatorType"),
      let `operator` = Self.operators[number],
      let modifier = Self.modifiers[try archive.integer(sign, "NSModifier") ?? 0]
    else { throw unsupported("it has a comparison by an unknown operator") }
    let options =
      try archive.integer(sign, "NSOptions") ?? archive.integer(sign, "NSFlags") ?? 0
    return FetchComparison(
      try expression(left, depth: depth + 1), `operator`,
      try expression(right, depth: depth + 1), modifier: modifier,
      options: FetchComparison.Options(rawValue: options & 3))
  }

  private func expression(_ record: Record, depth: Int) throws -> FetchExpression {
    guard depth < Self.depthMax else { throw unsupported("an expression nests too deep") }
    switch try archive.integer(record, "NSExpressionType") {
    case 0:
      let value = try archive.value(of: record, "NSConstantValue")
      if let constant = try CompiledValueReader(archive: archive).constant(value) {
        return .constant(constant)
      }
      guard case .record(let collection) = value else { break }
      return .list(
        try archive.elements(of: collection).map {
          guard let item = try CompiledValueReader(archive: archive).constant($0) else {
            throw unsupported("it has a list of values of an unknown class")
          }
          return .constant(item)
        })
    case 1: return .keyPath([])
    case 2: return .variable(try archive.text(record, "NSVariable") ?? "", path: [])
    case 10: return try keyPath(try archive.text(record, "NSKeyPath") ?? "")
    // A key path is archived as the call of valueForKey: or valueForKeyPath: that it makes.
    case 3, 4:
      if let path = try archive.text(record, "NSKeyPath") { return try keyPath(path) }
      return try function(record, depth)
    // A fetch of a mapping model: the request says it all.
    case 50:
      if let request = try archive.record(record, "NSFRExpression") {
        return try expression(request, depth: depth + 1)
      }
    case 14:
      return .list(
        try archive.elements(record, "NSCollection").map {
          guard case .record(let item) = $0 else { throw unsupported("a list is damaged") }
          return try expression(item, depth: depth + 1)
        })
    default: break
    }
    throw unsupported("it has an expression of the class \(record.className)")
  }

  private func function(_ record: Record, _ depth: Int) throws -> FetchExpression {
    let selector = try archive.text(record, "NSSelectorName") ?? ""
    let name = selector == "average:" ? "avg:" : selector
    var operands: [FetchExpression] = []
    for value in try archive.elements(record, "NSArguments") {
      guard case .record(let operand) = value else { throw unsupported("a function is damaged") }
      operands.append(try expression(operand, depth: depth + 1))
    }
    if name.hasPrefix("valueForKey"), operands.count == 1, case .keyPath(let path) = operands[0] {
      let base =
        try archive.record(record, "NSOperand")
        .map { try expression($0, depth: depth + 1) } ?? .keyPath([])
      switch base {
      case .keyPath(let start): return .keyPath(start + path)
      case .variable(let variable, let start): return .variable(variable, path: start + path)
      default: break
      }
    } else if name.hasPrefix("valueForKey"), operands.count == 1 {
      return operands[0]
    }
    // `pages.@count` as a model in use keeps it.
    if name.hasSuffix(":"), let collected = CollectionOperator(rawValue: String(name.dropLast())),
      operands.count == 1
    {
      return .collection(collected, of: operands[0], path: [])
    }
    let function = FetchFunction(rawValue: name == "now:" ? "now" : name)
    // What a mapping model asks the migration.
    if function == nil, let operand = try archive.record(record, "NSOperand"),
      case .variable(let receiver, path: []) = try expression(operand, depth: depth + 1)
    {
      return .message(to: .variable(receiver, path: []), selector: selector, operands)
    }
    guard let function else {
      throw unsupported("it calls the unknown function \(name)")
    }
    return .function(function, operands)
  }

  /// A key path may end in an operator: `messages.@count`.
  private func keyPath(_ text: String) throws -> FetchExpression {
    guard text.contains("@") else {
      return .keyPath(text.split(separator: ".").map(String.init))
    }
    return try FetchExpression(format: text)
  }

  private func unsupported(_ message: String) -> ModelError {
    ModelError(
      .unsupportedFormat, element: element, message, suggestion: "Give the .xcdatamodel.")
  }

  /// By the numbers of Core Data's platforms.
  private static let operators: [Int: FetchComparison.Operator] = [
    0: .less, 1: .lessOrEqual, 2: .greater, 3: .greaterOrEqual, 4: .equal, 5: .notEqual,
    6: .matches, 7: .like, 8: .beginsWith, 9: .endsWith, 10: .in, 99: .contains, 100: .between,
  ]
  private static let modifiers: [Int: FetchComparison.Modifier] = [0: .direct, 1: .all, 2: .any]
}
