/// One side of a comparison.
///
/// Expressions are usually written inside a format string (``FetchPredicate/init(format:_:)``) or
/// come from typed keys; this is the form that both produce.
public indirect enum FetchExpression: Hashable, Sendable {
  /// A value.
  case constant(PropertyValue)
  /// A property of the evaluated object, step by step; without steps the object itself (`SELF`).
  case keyPath([String])
  /// `$name`, or a property of it: `$book.author.name`.
  case variable(String, path: [String])
  /// `{a, b, c}`, or an array that was passed as an argument.
  case list([FetchExpression])
  /// An arithmetic or text function.
  case function(FetchFunction, [FetchExpression])
  /// `books.@count`, `books.@sum.pages`; `path` is the key path behind the operator.
  case collection(CollectionOperator, of: FetchExpression, path: [String])
  /// `SUBQUERY(books, $b, $b.pages > 3)`: the objects that satisfy the predicate.
  case subquery(of: FetchExpression, variable: String, where: FetchPredicate)
  /// `TERNARY(pages > 300, 'long', 'short')`
  case conditional(FetchPredicate, then: FetchExpression, else: FetchExpression)
  /// `chapters[FIRST].title`: an element of a list or an ordered relationship, or a property of it; null when there is
  /// none.
  case element(of: FetchExpression, at: ElementPlace, path: [String])
  /// `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "CarToCar", $source.cars)`: what
  /// only a migration can answer, in a ``PropertyMapping`` or an ``EntityMapping``.
  case message(to: FetchExpression, selector: String, [FetchExpression])
  /// `SUBQUERY(books, $b, $b.pages > 3).title`: a property of each element.
  case property(of: FetchExpression, path: [String])
  /// `CAST(born, 'NSDate')`: the value as another type; null when it is none of that type.
  case cast(FetchExpression, FetchCast)
  /// `books.@distinctUnionOfObjects.title`: the values of a collection, each once and without null.
  case distinct(FetchExpression)
  /// `FETCH(%@, nil, NO)`: what another fetch finds, or how many.
  case fetch(SubFetch, countOnly: Bool)
}

/// Which element of a collection: `[FIRST]`, `[LAST]`, `[2]`.
public enum ElementPlace: Hashable, Sendable {
  case first, last
  /// From 0 on.
  case index(Int)
}

/// The functions that work in memory and in the store alike.
public enum FetchFunction: String, Hashable, Sendable, CaseIterable {
  case add = "add:to:"
  case subtract = "from:subtract:"
  case multiply = "multiply:by:"
  /// Between two integers it drops the remainder; by zero it gives null.
  case divide = "divide:by:"
  case modulus = "modulus:by:"
  case negate = "negate:"
  case absolute = "abs:"
  case uppercase = "uppercase:"
  case lowercase = "lowercase:"
  /// Without case and diacritics.
  case canonical = "canonical:"
  /// Length of a text in UTF-16 units, as `NSString.length`.
  case length = "length:"
  case floor = "floor:"
  case ceiling = "ceiling:"
  /// Without the fraction.
  case truncate = "trunc:"
  case squareRoot = "sqrt:"
  /// Of base 10.
  case logarithm = "log:"
  case naturalLogarithm = "ln:"
  case exponential = "exp:"
  case power = "raise:toPower:"
  case bitwiseAnd = "bitwiseAnd:with:"
  case bitwiseOr = "bitwiseOr:with:"
  case bitwiseXor = "bitwiseXor:with:"
  case leftShift = "leftshift:by:"
  case rightShift = "rightshift:by:"
  case onesComplement = "onesComplement:"
  /// At least 0 and less than 1, for each object another one.
  case random = "random"
  /// A whole number, at least 0 and less than the operand.
  case randomBelow = "random:"
  /// The current time, when the predicate is evaluated or compiled.
  case now = "now"

  /// How many operands it takes.
  var argumentCount: Int {
    switch self {
    case .add, .subtract, .multiply, .divide, .modulus, .power, .bitwiseAnd, .bitwiseOr,
      .bitwiseXor, .leftShift, .rightShift:
      2
    case .negate, .absolute, .uppercase, .lowercase, .canonical, .length, .floor, .ceiling,
      .truncate, .squareRoot, .logarithm, .naturalLogarithm, .exponential, .onesComplement,
      .randomBelow:
      1
    case .now, .random: 0
    }
  }
}

/// What `@…` in a key path computes over a collection.
public enum CollectionOperator: String, Hashable, Sendable, CaseIterable {
  case count, sum, avg, min, max
  /// Of numbers: the one in the middle, or the mean of the two that are.
  case median
  /// Of numbers: the most frequent one, and the least of several.
  case mode
  /// Of numbers: how far they are from their mean, as a root mean square.
  case stddev
}
