/// A condition on objects, evaluated in memory or compiled to SQL.
///
/// ```swift
/// let long = try FetchPredicate(format: "pages > %@ AND author.name CONTAINS[cd] %@", 300, "eco")
/// let same = (Book.pages > 300).predicate
/// ```
///
/// **Null.** In the store a comparison with a missing value is neither true nor false, as in SQL
/// and in Core Data's store: `name != "x"` and `NOT name == "x"` leave out objects without a name
/// (write `name != "x" OR name == nil` to get them). ``evaluate(with:)`` treats null as a value, as
/// Core Data does in memory. A context evaluates unsaved objects by the store's rule, so that a
/// fetch answers the same before and after a save.
///
/// **Depth.** A predicate has at most 1,000 levels of conditions and expressions within each other. Conditions that a loop
/// adds go into one list: `.and(parts)`. The last value of a nested case counts its levels: `case .and(let parts, _)`.
///
/// **Text.** Without options, text compares byte by byte in UTF-8 order. `[c]` ignores case and
/// `[d]` diacritics, both by Unicode's rules.
public indirect enum FetchPredicate: Hashable, Sendable {
  /// `TRUEPREDICATE`, `FALSEPREDICATE`
  case constant(Bool)
  case comparison(FetchComparison)
  /// True when all are; true when empty. ``and(_:)`` makes one.
  case and([FetchPredicate], PredicateNesting)
  /// True when one is; false when empty. ``or(_:)`` makes one.
  case or([FetchPredicate], PredicateNesting)
  /// ``not(_:)`` makes one.
  case not(FetchPredicate, PredicateNesting)
  /// A closure; see ``init(block:)``.
  case block(FetchBlock)
  /// What would have been deeper than 1,000 levels, of which nothing is kept: fetching, evaluating and substituting throw
  /// ``FetchError/Code/tooDeep``.
  case tooDeep
}

/// The name in the rest of the library. Foundation has a generic type of the same name: a file that
/// imports both writes `FetchPredicate`.
public typealias Predicate = FetchPredicate

/// `left operator right`.
public struct FetchComparison: Hashable, Sendable {
  /// How the sides are compared. The raw values are what format strings have.
  public enum Operator: String, Hashable, Sendable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    /// Both ends included.
    case between = "BETWEEN"
    /// The left side is an element of the right.
    case `in` = "IN"
    /// The left side, a text or a collection, has the right in it.
    case contains = "CONTAINS"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    /// `*` stands for any run of characters, `?` for one, `\` takes the next one literally.
    case like = "LIKE"
    /// A regular expression that has to match the whole text.
    case matches = "MATCHES"
  }

  /// How the elements of a to-many key path on the left side count.
  public enum Modifier: String, Hashable, Sendable {
    case direct = ""
    case any = "ANY"
    /// True for an empty collection.
    case all = "ALL"
    /// True for an empty collection.
    case none = "NONE"
  }

  /// How texts are compared.
  public struct Options: OptionSet, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// `[c]`
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: the texts are alike in form already. It changes nothing here.
    public static let normalized = Options(rawValue: 4)
    /// `[l]`: by the rules of the process' locale, so that `<` and sorts put ö where readers look for it.
    public static let localized = Options(rawValue: 8)
    /// In orders, digits count as numbers: file9 comes before file10. Sorts only.
    public static let numeric = Options(rawValue: 16)

    /// Those by which texts differ.
    var effective: Options { subtracting(.normalized) }

    /// Whether texts are ordered by rules of their own, and not by their bytes after folding.
    var isCollation: Bool { contains(.localized) || contains(.numeric) }

    /// All orders that are.
    static let collations: [Options] = (0..<32).map(Options.init(rawValue:)).filter {
      $0.isCollation && !$0.contains(.normalized)
    }
  }

  /// The left side.
  public var left: FetchExpression
  /// How the sides are compared.
  public var `operator`: Operator
  /// The right side.
  public var right: FetchExpression
  /// How the elements of a to-many key path on the left side count.
  public var modifier: Modifier
  /// How texts are compared.
  public var options: Options

  /// - Parameters:
  ///   - left: The left side.
  ///   - operator: How the sides are compared.
  ///   - right: The right side.
  ///   - modifier: How the elements of a to-many key path on the left side count.
  ///   - options: How texts are compared.
  public init(
    _ left: FetchExpression, _ operator: Operator, _ right: FetchExpression,
    modifier: Modifier = .direct, options: Options = []
  ) {
    self.left = left
    self.operator = `operator`
    self.right = right
    self.modifier = modifier
    self.options = options
  }
}
