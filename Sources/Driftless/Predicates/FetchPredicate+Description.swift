import Foundation

extension FetchPredicate: CustomStringConvertible {
  /// A format string without placeholders, which reads back as an equal predicate.
  public var description: String {
    switch self {
    case .constant(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .comparison(let comparison): comparison.description
    case .and(let parts, _) where parts.isEmpty: "TRUEPREDICATE"
    case .or(let parts, _) where parts.isEmpty: "FALSEPREDICATE"
    case .and(let parts, _): parts.map(\.nested).joined(separator: " AND ")
    case .or(let parts, _): parts.map(\.nested).joined(separator: " OR ")
    case .not(let part, _): "NOT \(part.nested)"
    case .block: "BLOCKPREDICATE"
    case .tooDeep: "PREDICATE DEEPER THAN \(PredicateNesting.levelsMax) LEVELS"
    }
  }

  private var nested: String {
    switch self {
    case .and, .or: "(\(description))"
    case .constant, .comparison, .not, .block, .tooDeep: description
    }
  }
}

extension FetchComparison: CustomStringConvertible {
  public var description: String {
    var letters = ""
    if options.contains(.caseInsensitive) { letters += "c" }
    if options.contains(.diacriticInsensitive) { letters += "d" }
    if options.contains(.normalized) { letters += "n" }
    if options.contains(.localized) { letters += "l" }
    let prefix = modifier == .direct ? "" : modifier.rawValue + " "
    let suffix = letters.isEmpty ? "" : "[\(letters)]"
    return "\(prefix)\(left) \(`operator`.rawValue)\(suffix) \(right)"
  }
}

extension FetchExpression: CustomStringConvertible {
  public var description: String {
    switch self {
    case .constant(let value): value.predicateLiteral
    case .keyPath(let path): path.isEmpty ? "SELF" : Self.spell(path)
    case .variable(let name, let path): (["$" + name] + path).joined(separator: ".")
    case .list(let items, _): "{\(Self.spell(items))}"
    case .function(.add, let operands, _) where operands.count == 2: spell(operands, "+")
    case .function(.subtract, let operands, _) where operands.count == 2: spell(operands, "-")
    case .function(.multiply, let operands, _) where operands.count == 2: spell(operands, "*")
    case .function(.divide, let operands, _) where operands.count == 2: spell(operands, "/")
    case .function(let function, let operands, _): "\(function.rawValue)(\(Self.spell(operands)))"
    case .collection(let operation, let collection, let path, _):
      (["\(collection)", "@\(operation.rawValue)"] + path).joined(separator: ".")
    case .cast(let operand, let type, _): "CAST(\(operand), \"\(type.rawValue)\")"
    case .property(let collection, let path, _):
      (["\(collection)"] + path).joined(separator: ".")
    case .distinct(let collection, _): "\(collection).@distinctUnionOfObjects"
    case .fetch(let fetch, let countOnly):
      "FETCH(\(fetch.spelling), nil, \(countOnly ? "YES" : "NO"))"
    case .conditional(let predicate, let one, let other, _):
      "TERNARY(\(predicate), \(one), \(other))"
    case .element(let collection, let place, let path, _):
      (["\(collection)[\(place.spelling)]"] + path).joined(separator: ".")
    case .subquery(let collection, let variable, let condition, _):
      "SUBQUERY(\(collection), $\(variable), \(condition))"
    case .tooDeep: "EXPRESSION DEEPER THAN \(PredicateNesting.levelsMax) LEVELS"
    case .message(let receiver, let selector, let operands, _):
      "FUNCTION(\(Self.spell([receiver, .constant(.string(selector))] + operands)))"
    }
  }

  private func spell(_ operands: [FetchExpression], _ sign: String) -> String {
    "(\(operands[0]) \(sign) \(operands[1]))"
  }

  private static func spell(_ items: [FetchExpression]) -> String {
    items.map(\.description).joined(separator: ", ")
  }

  /// Only the first step can be taken for a reserved word.
  private static func spell(_ path: [String]) -> String {
    let text = path.joined(separator: ".")
    return PredicateLexer.reserved.contains(path[0].uppercased()) ? "#" + text : text
  }
}

extension PropertyValue {
  /// As a format string spells it.
  var predicateLiteral: String {
    switch self {
    case .null: "nil"
    case .bool(let value): value ? "TRUE" : "FALSE"
    case .integer(let value):
      value == .min ? "(-\(Int64.max) - 1)" : "\(value)"
    case .double(let value):
      value.isFinite ? "\(value)" : "CAST(\"\(value)\", \"Double\")"
    case .decimal(let value): "CAST(\"\(value)\", \"Decimal\")"
    case .string(let text): Self.quote(text)
    case .date(let date): "CAST(\(date.timeIntervalSinceReferenceDate), \"NSDate\")"
    case .data(let data): "CAST(\"\(data.base64EncodedString())\", \"Data\")"
    case .uuid(let uuid): "CAST(\"\(uuid.uuidString)\", \"UUID\")"
    case .uri(let url): "CAST(\(Self.quote(url.absoluteString)), \"URL\")"
    case .reference(let key): "CAST(\"\(key.entity)/\(key.key)\", \"ObjectKey\")"
    }
  }

  private static func quote(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}

extension ElementPlace {
  fileprivate var spelling: String {
    switch self {
    case .first: "FIRST"
    case .last: "LAST"
    case .index(let index): "\(index)"
    }
  }
}
