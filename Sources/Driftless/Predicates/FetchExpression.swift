/// One side of a comparison.
///
/// Expressions are usually written inside a format string (``FetchPredicate/init(format:_:)``) or
/// come from typed keys; this is the form that both produce. The functions of the same names make the
/// cases with others inside, and count their levels.
public indirect enum FetchExpression: Hashable, Sendable {
  /// A value.
  case constant(PropertyValue)
  /// A property of the evaluated object, step by step; without steps the object itself (`SELF`).
  case keyPath([String])
  /// `$name`, or a property of it: `$book.author.name`.
  case variable(String, path: [String])
  /// `{a, b, c}`, or an array that was passed as an argument.
  case list([FetchExpression], PredicateNesting)
  /// An arithmetic or text function.
  case function(FetchFunction, [FetchExpression], PredicateNesting)
  /// `books.@count`, `books.@sum.pages`; `path` is the key path behind the operator.
  case collection(CollectionOperator, of: FetchExpression, path: [String], PredicateNesting)
  /// `SUBQUERY(books, $b, $b.pages > 3)`: the objects that satisfy the predicate.
  case subquery(
    of: FetchExpression, variable: String, where: FetchPredicate, PredicateNesting)
  /// `TERNARY(pages > 300, 'long', 'short')`
  case conditional(
    FetchPredicate, then: FetchExpression, else: FetchExpression, PredicateNesting)
  /// `chapters[FIRST].title`: an element of a list or an ordered relationship, or a property of it; null when there is
  /// none.
  case element(of: FetchExpression, at: ElementPlace, path: [String], PredicateNesting)
  /// `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "CarToCar", $source.cars)`: what
  /// only a migration can answer, in a ``PropertyMapping`` or an ``EntityMapping``.
  case message(
    to: FetchExpression, selector: String, [FetchExpression], PredicateNesting)
  /// `SUBQUERY(books, $b, $b.pages > 3).title`: a property of each element.
  case property(of: FetchExpression, path: [String], PredicateNesting)
  /// `CAST(born, 'NSDate')`: the value as another type; null when it is none of that type.
  case cast(FetchExpression, FetchCast, PredicateNesting)
  /// `books.@distinctUnionOfObjects.title`: the values of a collection, each once and without null.
  case distinct(FetchExpression, PredicateNesting)
  /// `FETCH(%@, nil, NO)`: what another fetch finds, or how many.
  case fetch(SubFetch, countOnly: Bool)
  /// What would have been deeper than 1,000 levels, of which nothing is kept: using it throws
  /// ``FetchError/Code/tooDeep``.
  case tooDeep
}

/// Which element of a collection: `[FIRST]`, `[LAST]`, `[2]`.
public enum ElementPlace: Hashable, Sendable {
  case first, last
  /// From 0 on.
  case index(Int)
}

extension FetchExpression {
  /// Reads one expression: a key path, a literal, a function call, arithmetic.
  ///
  /// ```swift
  /// let total = try FetchExpression(format: "price * quantity")
  /// let first = try FetchExpression(format: "%K.@min", "dates")
  /// ```
  /// - Parameters:
  ///   - format: One expression in the grammar of format strings.
  ///   - arguments: The values of `%@`, `%d` and `%K`, in their order.
  /// - Throws: ``FetchError``, which points into the string.
  public init(format: String, _ arguments: Any?...) throws(FetchError) {
    var parser = try PredicateParser(format: format, arguments: arguments)
    let expression = try parser.expression()
    guard parser.current.kind == .end else {
      throw parser.error("The expression ends before this", "Give one expression.")
    }
    self = expression
  }
}
