import DriftlessSQLite
import Foundation

extension QueryCompilation {
  /// An expression that stands for one value.
  func operand(_ expression: FetchExpression) throws(FetchError) -> SQLOperand {
    switch expression {
    case .constant(let value):
      return .constant(value.isNotANumber ? .null : value)
    case .keyPath(let path):
      return try operand(path[...], from: root, expression)
    case .variable(let name, let path):
      return try operand(path[...], from: variable(name), expression)
    case .function(let function, let operands, _):
      return try call(function, operands)
    case .collection(let operation, let collection, let path, _):
      return try aggregate(operation, collection, path, expression)
    case .conditional(let predicate, let one, let other, _):
      return try choice(predicate, one, other)
    case .element(.list(let items, _), let place, let path, _) where path.isEmpty:
      return try place.index(in: items.count).map { index throws(FetchError) in
        try operand(items[index])
      } ?? .constant(.null)
    case .element(let collection, let place, let path, _):
      return try element(of: collection, place, path, expression)
    case .cast(let operand, let type, _): return try cast(operand, type)
    case .fetch(let fetch, countOnly: true): return try count(fetch)
    case .list, .subquery, .distinct, .fetch, .property:
      throw toManyNotAllowed(expression)
    case .message(_, let selector, _, _):
      throw PredicateEvaluator.unanswered(selector)
    case .tooDeep: throw PredicateNesting.error
    }
  }

  func variable(_ name: String) throws(FetchError) -> SQLRoot {
    guard let root = variables[name] else {
      throw FetchError(
        .unboundVariable, "$\(name) has no value",
        suggestion: "Call withSubstitutionVariables first.")
    }
    return root
  }

  func operand(
    _ path: ArraySlice<String>, from root: SQLRoot, _ expression: FetchExpression
  ) throws(FetchError) -> SQLOperand {
    switch try destination(of: path, from: root) {
    case .attribute(let column, let type):
      return .computed(
        type == .double || type == .float ? Self.comparable(column) : column,
        try kind(of: type, expression))
    case .toOne(let column, let relationship):
      let table = schema.tableName(of: try destination(of: relationship))
      return .computed(column, .reference(table: table))
    case .object(let root):
      return .computed(
        .column(root.alias, "Z_PK"), .reference(table: schema.tableName(of: root.entity)))
    case .toMany:
      throw toManyNotAllowed(expression)
    }
  }

  /// A double of a column as predicates and sorts see it: of the two that are kept as bytes (see ``ExactDouble``), -0.0 is 0
  /// and NaN is missing. SQLite would take bytes for more than any number.
  static func comparable(_ column: SQLFragment) -> SQLFragment {
    "(CASE WHEN " + column + " < x'' THEN " + column + " WHEN " + column
      + " = x'0000000000000080' THEN 0.0 END)"
  }

  func toManyNotAllowed(_ expression: FetchExpression) -> FetchError {
    FetchError(
      .toManyNotAllowed, "\(expression) has many values where one is needed",
      suggestion: "Use ANY, ALL, IN, @count, @max or SUBQUERY.")
  }

  private func kind(
    of type: AttributeType, _ expression: FetchExpression
  ) throws(FetchError) -> SQLKind {
    switch type {
    case .integer16, .integer32, .integer64, .double, .float, .boolean: return .number
    case .decimal: return .decimal
    case .string, .uri: return .text
    case .date: return .date
    case .uuid: return .uuid
    case .binaryData, .transformable: return .data
    case .undefined, .objectID, .composite:
      throw FetchError(
        .unsupported, "\(expression) has a type that the store cannot compare",
        suggestion: "Compare a stored attribute of a plain type.")
    }
  }

  // MARK: Functions

  private func call(
    _ function: FetchFunction, _ expressions: [FetchExpression]
  ) throws(FetchError) -> SQLOperand {
    guard expressions.count == function.argumentCount else {
      throw FetchError(
        .syntax, "\(function.rawValue) takes \(function.argumentCount) operands",
        suggestion: "Give it that many.")
    }
    var operands: [SQLOperand] = []
    var constants: [PropertyValue] = []
    for expression in expressions {
      let operand = try self.operand(expression)
      if case .constant(let value) = operand { constants.append(value) }
      operands.append(operand)
    }
    if constants.count == operands.count, function != .random, function != .randomBelow {
      return .constant(try function.apply(to: constants, now: Date()))
    }
    switch function {
    case .uppercase: return .computed(.call(SQLFunction.uppercase, try text(operands[0])), .text)
    case .lowercase: return .computed(.call(SQLFunction.lowercase, try text(operands[0])), .text)
    case .canonical:
      let options = Self.options([.caseInsensitive, .diacriticInsensitive])
      return .computed(.call(SQLFunction.fold, try text(operands[0]), options), .text)
    case .length: return .computed(.call(SQLFunction.length, try text(operands[0])), .number)
    case .negate:
      return .computed("(-" + (try number(operands[0], expressions[0])).0 + ")", .number)
    case .absolute:
      let value = try number(operands[0], expressions[0]).0
      // An index may have the short form; within each other such functions would double their text each time.
      return .computed(
        value.sql.utf8.count < 1_000
          ? "max(" + value + ", -" + value + ")"
          : "(SELECT max(v, -v) FROM (SELECT " + value + " AS v))", .number)
    case .add: return try arithmetic(" + ", function, operands, expressions)
    case .subtract: return try arithmetic(" - ", function, operands, expressions)
    case .multiply: return try arithmetic(" * ", function, operands, expressions)
    case .divide: return try arithmetic(" / ", function, operands, expressions)
    case .modulus: return try arithmetic(" % ", function, operands, expressions)
    case .now: return .constant(.date(Date()))
    case .random:
      return .computed(SQLFragment("((random() & 9007199254740991) / 9007199254740992.0)"), .number)
    case .randomBelow:
      let bound = "CAST(" + (try number(operands[0], expressions[0])).0 + " AS INTEGER)"
      return .computed(
        bound.sql.utf8.count < 1_000
          ? "(CASE WHEN " + bound + " > 0 THEN abs(random() % " + bound + ") END)"
          : "(SELECT CASE WHEN b > 0 THEN abs(random() % b) END FROM (SELECT " + bound + " AS b))",
        .number)
    default:
      let first = try number(operands[0], expressions[0]).0
      let second =
        operands.count > 1 ? try number(operands[1], expressions[1]).0 : .value(.null)
      return .computed(
        .call(SQLFunction.compute, .value(.text(function.rawValue)), first, second), .number)
    }
  }

  private func cast(
    _ expression: FetchExpression, _ type: FetchCast
  ) throws(FetchError) -> SQLOperand {
    switch try operand(expression) {
    case .constant(let value): return .constant(try type.apply(to: value))
    case .computed(let value, let kind):
      guard type.takes(kind.valueKind) else {
        throw FetchError(
          .typeMismatch,
          "CAST cannot make a \(type.rawValue) of \(kind.valueKind.name): \(expression)",
          suggestion: "Numbers become dates, decimals and texts; texts become any but dates.")
      }
      if type.sqlKind == kind { return .computed(value, kind) }
      // Both are kept as seconds.
      if kind == .date || type == .date && kind == .number { return .computed(value, type.sqlKind) }
      if kind == .decimal, type == .decimal { return .computed(value, kind) }
      return .computed(
        .call(
          SQLFunction.cast, value, .value(.text(kind.castName)), .value(.text(type.rawValue))),
        type.sqlKind)
    }
  }

  /// `TERNARY`
  private func choice(
    _ predicate: FetchPredicate, _ one: FetchExpression, _ other: FetchExpression
  ) throws(FetchError) -> SQLOperand {
    let comparison = FetchComparison(one, .equal, other)
    let (left, right) = (try operand(one), try operand(other))
    let kind: SQLKind?
    switch (left, right) {
    case (.constant(.null), .constant(.null)): return .constant(.null)
    case (.constant(.null), .constant(let value)), (.constant(let value), .constant(.null)):
      kind = value.sqlKind
    case (.constant(.null), .computed(_, let own)), (.computed(_, let own), .constant(.null)):
      kind = own
    default: kind = commonKind(left, right)
    }
    guard let kind else { throw mismatch(comparison) }
    let condition = try self.condition(predicate)
    let first = try side(left, kind, comparison)
    let second = try side(right, kind, comparison)
    return .computed(
      "(CASE WHEN " + condition + " THEN " + first + " ELSE " + second + " END)",
      kind == .decimal ? .decimalKey : kind)
  }

  private func arithmetic(
    _ sign: StaticString, _ function: FetchFunction, _ operands: [SQLOperand],
    _ expressions: [FetchExpression]
  ) throws(FetchError) -> SQLOperand {
    let (left, leftIsDate) = try number(operands[0], expressions[0])
    let (right, rightIsDate) = try number(operands[1], expressions[1])
    let result = "(" + left + sign + right + ")"
    switch (function, leftIsDate, rightIsDate) {
    case (_, false, false), (.subtract, true, true): return .computed(result, .number)
    case (.add, true, false), (.add, false, true), (.subtract, true, false):
      return .computed(result, .date)
    default:
      throw FetchError(
        .typeMismatch, "\(expressions[0])\(sign)\(expressions[1]) cannot be computed with a date",
        suggestion: "Add seconds to a date, or subtract them or another date.")
    }
  }

  /// The operand as something to compute with.
  func number(
    _ operand: SQLOperand, _ expression: FetchExpression
  ) throws(FetchError) -> (SQLFragment, isDate: Bool) {
    switch operand {
    case .constant(.null): return (.value(.null), false)
    case .constant(.date(let date)):
      return (.value(.real(date.timeIntervalSinceReferenceDate)), true)
    case .constant(let value):
      if let whole = value.wholeNumber { return (.value(.integer(whole)), false) }
      if let number = value.number { return (.value(.real(number)), false) }
    case .computed(let value, .number): return (value, false)
    case .computed(let value, .decimal): return (.call(SQLFunction.decimalNumber, value), false)
    case .computed(let value, .date): return (value, true)
    case .computed: break
    }
    throw FetchError(
      .typeMismatch, "\(expression) is no number to compute with",
      suggestion: "Arithmetic takes numbers, or a date and seconds.")
  }

  func text(_ operand: SQLOperand) throws(FetchError) -> SQLFragment {
    switch operand {
    case .computed(let value, .text): return value
    case .constant(.null): return .value(.null)
    case .constant(let value):
      if let text = value.text { return .value(.text(text)) }
    case .computed: break
    }
    throw FetchError(
      .typeMismatch, "A text operation was asked for a value that is no text",
      suggestion: "Use it on string attributes, with text to compare.")
  }
}
