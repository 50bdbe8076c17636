import DriftlessSQLite
import Foundation

extension QueryCompilation {
  func condition(_ comparison: FetchComparison) throws(FetchError) -> SQLFragment {
    if comparison.modifier != .direct {
      return try quantified(comparison)
    }
    switch comparison.operator {
    case .in: return try membership(comparison)
    case .contains where isCollection(comparison.left):
      return try isElement(comparison.right, of: comparison.left, comparison.options)
    default:
      return try compare(try operand(comparison.left), comparison)
    }
  }

  /// `left` compared as the rest of the comparison says.
  func compare(
    _ left: SQLOperand, _ comparison: FetchComparison
  ) throws(FetchError) -> SQLFragment {
    switch comparison.operator {
    case .in: return try membership(left, comparison)
    case .between:
      guard case .list(let bounds, _) = comparison.right, bounds.count == 2 else {
        throw FetchError(
          .typeMismatch, "BETWEEN needs two bounds, not \(comparison.right)",
          suggestion: "Write {lower, upper}, or pass an array of two.")
      }
      let lower = try compare(left, .greaterOrEqual, try operand(bounds[0]), comparison)
      let upper = try compare(left, .lessOrEqual, try operand(bounds[1]), comparison)
      return "(" + lower + " AND " + upper + ")"
    case .contains, .beginsWith, .endsWith, .like, .matches:
      return try textCondition(left, try operand(comparison.right), comparison)
    default:
      return try compare(
        left, comparison.operator, try operand(comparison.right), comparison)
    }
  }

  // MARK: Order and equality

  func compare(
    _ left: SQLOperand, _ operator: FetchComparison.Operator, _ right: SQLOperand,
    _ comparison: FetchComparison
  ) throws(FetchError) -> SQLFragment {
    if left.isNullConstant || right.isNullConstant {
      return try compareWithNull(left.isNullConstant ? right : left, `operator`)
    }
    guard let kind = commonKind(left, right) else { throw mismatch(comparison) }
    if case .reference = kind, `operator` != .equal, `operator` != .notEqual {
      throw FetchError(
        .typeMismatch, "Objects have no order: \(comparison)",
        suggestion: "Compare objects with ==, != or IN, or compare a property of theirs.")
    }
    if kind == .text, comparison.options.isCollation,
      let sign = Self.sign(`operator`)
    {
      let options = Self.options(comparison.options)
      return .call(SQLFunction.compare, try text(left), try text(right), options) + sign
    }
    let leftSide = try side(left, kind, comparison)
    let rightSide = try side(right, kind, comparison)
    switch `operator` {
    case .equal: return leftSide + " = " + rightSide
    case .notEqual: return leftSide + " <> " + rightSide
    case .less: return leftSide + " < " + rightSide
    case .lessOrEqual: return leftSide + " <= " + rightSide
    case .greater: return leftSide + " > " + rightSide
    case .greaterOrEqual: return leftSide + " >= " + rightSide
    default: throw mismatch(comparison)
    }
  }

  /// What an order of ``SQLFunction/compare`` is compared with; nil for equality.
  private static func sign(_ operator: FetchComparison.Operator) -> SQLFragment? {
    switch `operator` {
    case .less: SQLFragment(" < 0")
    case .lessOrEqual: SQLFragment(" <= 0")
    case .greater: SQLFragment(" > 0")
    case .greaterOrEqual: SQLFragment(" >= 0")
    default: nil
    }
  }

  private func compareWithNull(
    _ operand: SQLOperand, _ operator: FetchComparison.Operator
  ) throws(FetchError) -> SQLFragment {
    let value: SQLFragment
    switch operand {
    case .computed(let computed, _): value = computed
    case .constant(let constant): value = .value(constant.isNull ? .null : .integer(1))
    }
    switch `operator` {
    case .equal: return value + " IS NULL"
    case .notEqual: return value + " IS NOT NULL"
    default: return .value(.null)
    }
  }

  /// The kind that both sides are compared as.
  func commonKind(_ left: SQLOperand, _ right: SQLOperand) -> SQLKind? {
    switch (left, right) {
    case (.constant(let left), .constant(let right)):
      return left.sqlKind.flatMap { l in right.sqlKind.map { l.isDecimal ? l : $0 } }
    case (.computed(_, let kind), .constant(let value)),
      (.constant(let value), .computed(_, let kind)):
      return kind == .number && value.sqlKind == .decimal ? .decimal : kind
    case (.computed(_, let left), .computed(_, let right)):
      if left == right { return left }
      if left.isDecimal && right == .number || right.isDecimal { return .decimal }
      if case .reference = left, case .reference = right { return left }
      return left
    }
  }

  /// One side as SQL, made comparable.
  func side(
    _ operand: SQLOperand, _ kind: SQLKind, _ comparison: FetchComparison
  ) throws(FetchError) -> SQLFragment {
    switch operand {
    case .constant(let value):
      guard var bound = value.sqlValue(as: kind, table: schema.tableName(of:)) else {
        throw mismatch(comparison)
      }
      if case .text(let text) = bound {
        bound = .text(TextPattern.fold(text, comparison.options))
      }
      return .value(bound)
    case .computed(let value, let own):
      switch (kind, own) {
      case (.text, .text) where !comparison.options.effective.isEmpty:
        return .call(SQLFunction.fold, value, Self.options(comparison.options))
      case (.decimal, .decimal), (.decimal, .number), (.decimalKey, .decimal):
        return .call(SQLFunction.decimalKey, value)
      case (.decimal, .decimalKey): return value
      // Keys of two hierarchies never mean one object.
      case (.reference(let one), .reference(let other)) where one != other:
        return "(" + value + " * 0)"
      default:
        guard kind == own else { throw mismatch(comparison) }
        return value
      }
    }
  }

  func mismatch(_ comparison: FetchComparison) -> FetchError {
    FetchError(
      .typeMismatch, "The two sides do not compare: \(comparison)",
      suggestion: "Compare values of one kind; pass dates as Date and objects by ID.")
  }

  // MARK: Text

  private func textCondition(
    _ left: SQLOperand, _ right: SQLOperand, _ comparison: FetchComparison
  ) throws(FetchError) -> SQLFragment {
    let text = try self.text(left)
    let part = try self.text(right)
    let options = Self.options(comparison.options)
    switch comparison.operator {
    case .beginsWith:
      if comparison.options.effective.isEmpty, case .constant(.string(let prefix)) = right,
        case .computed = left
      {
        return Self.range(text, prefix)
      }
      return .call(SQLFunction.begins, text, part, options)
    case .contains where comparison.options.effective.isEmpty:
      return .call("instr", text, part) + " > 0"
    case .contains: return .call(SQLFunction.contains, text, part, options)
    case .endsWith: return .call(SQLFunction.ends, text, part, options)
    case .like: return .call(SQLFunction.like, text, part, options)
    default:
      if case .constant(let pattern) = right, let pattern = pattern.text {
        _ = try TextPattern.regularExpression(pattern, comparison.options)
      }
      return .call(SQLFunction.matches, text, part, options)
    }
  }

  /// A prefix as a range, which an index can answer.
  private static func range(_ text: SQLFragment, _ prefix: String) -> SQLFragment {
    let lower = text + " >= " + .value(.text(prefix))
    guard let end = TextPattern.successor(ofPrefix: prefix) else { return lower }
    return "(" + lower + " AND " + text + " < " + .value(.text(end)) + ")"
  }
}
