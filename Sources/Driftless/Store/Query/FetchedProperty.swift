/// What one column of a fetched row holds: a property, a property behind to-one relationships, or an expression under a
/// name of its own.
///
/// ```swift
/// request.propertiesToFetch = [
///   "title", "author.name", .expression("longest", try FetchExpression(format: "max:(pages)")),
/// ]
/// ```
public struct FetchedProperty: Hashable, Sendable, ExpressibleByStringLiteral {
  /// The value's key in the row.
  public let name: String
  /// Nil for an expression description without an expression.
  let expression: FetchExpression?
  let isExpression: Bool
  /// The type that the value is given as; undefined for the expression's own.
  let resultType: AttributeType

  /// A property, `title`, or one behind to-one relationships, `author.name`.
  public init(_ keyPath: String) {
    name = keyPath
    expression = .keyPath(
      keyPath == "SELF" || keyPath == "objectID"
        ? [] : keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
    isExpression = false
    resultType = .undefined
  }

  public init(stringLiteral value: String) { self.init(value) }

  /// A property of the model, or an ``ExpressionDescription``.
  public init(_ property: PropertyDescription) {
    if let description = property as? ExpressionDescription {
      self.init(
        name: description.name, expression: description.expression,
        resultType: description.expressionResultType)
    } else {
      self.init(property.name)
    }
  }

  /// An expression as a description; nil for a property, which its name says.
  package var expressionDescription: ExpressionDescription? {
    guard isExpression else { return nil }
    let description = ExpressionDescription()
    description.name = name
    description.expression = expression
    description.expressionResultType = resultType
    return description
  }

  private init(name: String, expression: FetchExpression?, resultType: AttributeType) {
    self.name = name
    self.expression = expression
    isExpression = true
    self.resultType = resultType
  }

  /// How often the row was written: `Z_OPT`, which no attribute is called, as attributes' columns begin with one Z only.
  static let version = FetchedProperty(
    name: "Z_OPT", expression: .keyPath([]), resultType: .undefined)

  /// A computed value. `sum:(pages)`, `count:(title)`, `max:`, `min:` and `average:` work over all rows, or over a
  /// group.
  public static func expression(
    _ name: String, _ expression: FetchExpression, _ resultType: AttributeType = .undefined
  ) -> FetchedProperty {
    FetchedProperty(name: name, expression: expression, resultType: resultType)
  }
}
