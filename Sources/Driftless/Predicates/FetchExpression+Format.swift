extension FetchExpression {
  /// Reads one expression: a key path, a literal, a function call, arithmetic.
  ///
  /// ```swift
  /// let total = try FetchExpression(format: "price * quantity")
  /// let first = try FetchExpression(format: "%K.@min", "dates")
  /// ```
  /// - Parameter arguments: the values of `%@`, `%d` and `%K`, in their order.
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
