import TestSupport

/// Format strings that are made by their grammar, of the properties of ``Samples/model()``: most of them parse, and reach what
/// compares, computes and fetches. Changing words of samples seldom makes such.
struct FormatGrammar {
  private enum Kind: CaseIterable { case number, text, date, truth, data, uuid, link, object }

  private var numbers: SeededNumbers
  /// Levels that are left.
  private var levels = 5
  /// What key paths begin at: nothing for the object itself, or a variable of a subquery, and the entity that it is of.
  private var root = (prefix: "", entity: "Book")
  private var variables = 0

  static func format(_ numbers: inout SeededNumbers) -> String {
    var grammar = FormatGrammar(numbers: numbers)
    defer { numbers = grammar.numbers }
    return grammar.predicate()
  }

  private init(numbers: SeededNumbers) { self.numbers = numbers }

  private mutating func pick(_ items: [String]) -> String {
    items[numbers.number(below: items.count)]
  }

  private mutating func within<T>(_ other: T, _ body: (inout FormatGrammar) -> T) -> T {
    guard levels > 0 else { return other }
    levels -= 1
    defer { levels += 1 }
    return body(&self)
  }

  // MARK: Predicates

  private mutating func predicate() -> String {
    within(pick(["TRUEPREDICATE", "FALSEPREDICATE"])) { grammar in
      switch grammar.numbers.number(below: 10) {
      case 0:
        "(\(grammar.predicate())) \(grammar.pick(["AND", "OR", "&&", "||"])) (\(grammar.predicate()))"
      case 1: "NOT (\(grammar.predicate()))"
      case 2: grammar.quantified()
      case 3: grammar.subquery()
      default: grammar.comparison()
      }
    }
  }

  private mutating func comparison() -> String {
    let kind = Kind.allCases[numbers.number(below: Kind.allCases.count)]
    // One of ten compares what does not fit.
    let other =
      numbers.chance(90) ? kind : Kind.allCases[numbers.number(below: Kind.allCases.count)]
    let left = expression(kind)
    switch numbers.number(below: 8) {
    case 0: return "\(left) \(pick(["==", "!="])) \(pick(["nil", "NULL", "%@"]))"
    case 1:
      let items = (0...numbers.number(below: 3)).map { _ in constant(other) }
      return "\(left) \(pick(["IN", "BETWEEN"])) {\(items.joined(separator: ", "))}"
    case 2,
      3 where kind == .text:
      let sign = pick(["CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "==", "<", "IN"])
      return "\(left) \(sign)\(pick(["", "[c]", "[cd]", "[n]", "[l]"])) \(expression(other))"
    default:
      let signs = kind == .object ? ["==", "!="] : ["==", "!=", "<", "<=", ">", ">=", "=", "<>"]
      return "\(left) \(pick(signs)) \(expression(other))"
    }
  }

  private mutating func quantified() -> String {
    let many = manyPath()
    let sign = pick(["==", "!=", ">", "IN", "CONTAINS", "LIKE"])
    return
      "\(pick(["ANY", "ALL", "SOME", "NONE"])) \(many) \(sign) \(constant(numbers.chance(50) ? .text : .number))"
  }

  private mutating func subquery() -> String {
    let (path, entity) = relation()
    variables += 1
    let name = "$v\(variables)"
    let outer = root
    root = (name + ".", entity)
    let inner = predicate()
    root = outer
    return
      "SUBQUERY(\(path), \(name), \(inner)).@count \(pick(["==", ">", "<"])) \(pick(["0", "1", "2"]))"
  }

  // MARK: Expressions

  private mutating func expression(_ kind: Kind) -> String {
    within(constant(kind)) { grammar in
      if grammar.numbers.chance(40) { return grammar.path(kind) }
      if grammar.numbers.chance(30) { return grammar.constant(kind) }
      if grammar.numbers.chance(15) {
        return
          "TERNARY(\(grammar.predicate()), \(grammar.expression(kind)), \(grammar.expression(kind)))"
      }
      switch kind {
      case .number: return grammar.number()
      case .text:
        let function = grammar.pick(["uppercase:", "lowercase:", "canonical:", "noindex:"])
        return grammar.numbers.chance(70)
          ? "\(function)(\(grammar.expression(.text)))"
          : "CAST(\(grammar.expression(.number)), 'NSString')"
      case .date:
        return grammar.numbers.chance(50)
          ? "\(grammar.expression(.date)) + \(grammar.expression(.number))"
          : "CAST(\(grammar.expression(.number)), 'NSDate')"
      default: return grammar.path(kind)
      }
    }
  }

  private mutating func number() -> String {
    switch numbers.number(below: 7) {
    case 0, 1:
      "(\(expression(.number)) \(pick(["+", "-", "*", "/", "**", "&", "|", "<<"])) \(expression(.number)))"
    case 2:
      "\(pick(["abs:", "sqrt:", "ceiling:", "floor:", "ln:", "exp:", "trunc:"]))(\(expression(.number)))"
    case 3:
      "\(pick(["modulus:by:", "add:to:", "raise:toPower:"]))(\(expression(.number)), \(expression(.number)))"
    case 4: "\(manyPath()).\(pick(["@count"]))"
    case 5:
      "\(relation().path).\(pick(["@max", "@min", "@sum", "@avg", "@stddev"])).\(pick(["pages", "name", "weight", "born"]))"
    default:
      "\(pick(["length:", "max:", "median:"]))(\(pick([path(.text), "{1, \(path(.number))}"])))"
    }
  }

  private mutating func path(_ kind: Kind) -> String {
    let names: [String]
    switch (kind, root.entity) {
    case (.number, "Book"):
      names = ["pages", "price", "weight", "tagCount", "place.lat", "name.length"]
    case (.number, "Writer"): names = ["born", "books.@count"]
    case (.number, _): names = ["books.@count", "name.length"]
    case (.text, "Book"): names = ["name", "writer.name", "entity.name", "entity"]
    case (.text, _): names = ["name", "entity"]
    case (.date, "Book"): names = ["made"]
    case (.truth, "Book"): names = ["isOpen"]
    case (.data, "Book"): names = ["photo"]
    case (.uuid, "Book"): names = ["code"]
    case (.link, "Book"): names = ["link"]
    case (.object, "Book"): names = ["writer", "SELF", "objectID", "writer.books[FIRST]"]
    default: names = ["name"]
    }
    let name = pick(names)
    return name == "SELF"
      ? root.prefix.isEmpty ? name : String(root.prefix.dropLast()) : root.prefix + name
  }

  private mutating func relation() -> (path: String, entity: String) {
    switch root.entity {
    case "Book":
      numbers.chance(60) ? (root.prefix + "tags", "Tag") : (root.prefix + "writer.books", "Book")
    default: (root.prefix + "books", "Book")
    }
  }

  private mutating func manyPath() -> String {
    let (path, entity) = relation()
    return path
      + pick(
        entity == "Book" ? [".name", ".pages", ".tags.name", ""] : [".name", ".books.pages", ""])
  }

  private mutating func constant(_ kind: Kind) -> String {
    switch kind {
    case .number: pick(["0", "3", "-1", "1.5", "%d", "1e300", "9223372036854775807", "0x1F"])
    case .text: pick(["'Book 1'", "''", "'t*'", "'[A-Z].*'", "'ü?'", "'%@'"])
    case .date: pick(["now()", "CAST(1, 'NSDate')"])
    case .truth: pick(["YES", "NO", "TRUE", "1"])
    case .data: pick(["CAST('9wD/', 'NSData')"])
    case .uuid: pick(["CAST('6BA7B810-9DAD-11D1-80B4-00C04FD430C8', 'UUID')", "'x'"])
    case .link: pick(["CAST('https://a.b/1', 'NSURL')", "'https://a.b/1'"])
    case .object: pick(["SELF", "nil", "%@"])
    }
  }
}
