import Driftless
import Foundation

/// The same numbers for the same seed.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// Makes predicates on `LibraryData`'s books up, most of which make sense.
struct RandomPredicate {
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(state: seed) }

  mutating func pick<T>(_ choices: [T]) -> T {
    choices[Int.random(in: 0..<choices.count, using: &random)]
  }

  mutating func format(depth: Int = 3) -> String {
    guard depth > 0 else { return comparison() }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return "(\(format(depth: depth - 1)) AND \(format(depth: depth - 1)))"
    case 1: return "(\(format(depth: depth - 1)) OR \(format(depth: depth - 1)))"
    case 2: return "NOT (\(format(depth: depth - 1)))"
    default: return comparison()
    }
  }

  private mutating func comparison() -> String {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return "\(number()) \(order()) \(number())"
    case 1: return "\(text()) \(textOperator())\(options()) \(text())"
    case 2: return "\(number()) IN {\(number()), \(number()), \(pick(["nil", "1", "503"]))}"
    case 3: return "\(text()) IN\(options()) {\(text()), \(text()), nil}"
    case 4: return "\(number()) BETWEEN {\(number()), \(number())}"
    case 5:
      let modifier = pick(["ANY", "ALL", "NONE"])
      return pick([
        "\(modifier) tags.name \(textOperator())\(options()) \(text())",
        "\(modifier) author.books.pages \(order()) \(number())",
        "\(modifier) author.books.tags.name == \(text())",
        "\(modifier) author.books.editor.born \(order()) \(number())",
        "\(modifier) {\(number()), \(number())} \(order()) \(number())",
        "\(modifier) author.books.pages IN editor.books.pages",
        "\(modifier) author.books.@distinctUnionOfObjects.title \(textOperator()) \(text())",
      ])
    case 6:
      let condition = pick([
        "$b.pages \(order()) \(number())", "$b.title \(textOperator()) \(text())",
        "ANY $b.tags.name == \(text())", "$b.author == editor", "$b.editor.name != \(text())",
      ])
      return "SUBQUERY(author.books, $b, \(condition)).@count \(order()) \(pick(["0", "1", "2"]))"
    default:
      return pick([
        "author == editor", "author != nil", "editor == nil", "SELF IN editor.books",
        "author.books CONTAINS SELF", "isRead == YES", "isRead != NO",
        "published < CAST(0, 'NSDate')", "published == nil", "tags.@count \(order()) 2",
      ])
    }
  }

  private mutating func order() -> String { pick(["==", "!=", "<", "<=", ">", ">="]) }

  private mutating func textOperator() -> String {
    pick(["==", "!=", "<", ">=", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE"])
  }

  private mutating func options() -> String {
    pick(["", "", "[c]", "[d]", "[cd]", "[n]", "[l]", "[cdl]"])
  }

  private mutating func number() -> String {
    pick([
      "pages", "pages", "weight", "price", "author.born", "editor.born", "0", "1", "503", "7.0",
      "-7", "0.5", "12.3", "pages + 1", "weight * 2", "price / 2", "pages / 3", "length:(title)",
      "tags.@count", "author.books.@sum.weight", "author.books.@max.pages", "abs:(author.born)",
      "author.books.@min.price", "author.books.@avg.weight", "pages - author.born", "nil",
      "CAST('12345678901234567890.123', 'Decimal')", "modulus:by:(author.born, 7)",
      "CAST(published, 'NSNumber')", "CAST(price, 'NSNumber')", "CAST(pages, 'NSDecimalNumber')",
      "CAST(CAST(pages, 'NSString'), 'NSNumber')", "author.books.@median.pages",
      "author.books.@mode.weight", "author.books.@stddev.price", "max:({pages, author.born, 3})",
      "min:({price, weight})", "author.books.@distinctUnionOfObjects.pages.@count",
      "author.books.@distinctUnionOfObjects.pages.@sum", "(pages & 7)", "(pages >> 2 | 1)",
      "TERNARY(weight > 0, weight, pages)", "{pages, 7}[LAST]", "floor:(weight)",
    ])
  }

  private mutating func text() -> String {
    pick([
      "title", "title", "author.name", "editor.name", "'ROSA'", "'rosa'", "'é'", "'E'", "''", "'o'",
      "'*a'", "'?o*'", "'Il'", "uppercase:(title)", "lowercase:(author.name)", "canonical:(title)",
      "author.books.@max.title", "tags.@min.name", "CAST(pages, 'NSString')",
      "CAST(price, 'NSString')", "CAST(link, 'NSString')", "CAST(isbn, 'NSString')",
      "TERNARY(pages > 5, title, 'o')", "max:({title, 'm'})", "'novel'", "nil", "'straße'",
      "'STRASSE'",
    ])
  }
}
