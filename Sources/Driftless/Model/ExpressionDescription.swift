/// A column of a fetch that gives dictionaries: an expression under a name of its own.
///
/// It belongs to a fetch request, or to an element of an index, and never to an entity.
///
/// ```swift
/// let longest = ExpressionDescription()
/// longest.name = "longest"
/// longest.expression = try FetchExpression(format: "books.@max.pages")
/// longest.expressionResultType = .integer64
/// ```
public final class ExpressionDescription: PropertyDescription,
  @unchecked Sendable  // as its superclass
{
  private var values = (format: String?.none, type: AttributeType.undefined)

  public override init() { super.init() }

  /// What is computed. Nil for a text that is no expression: ``expressionFormat`` has the text.
  @_disfavoredOverload
  public var expression: FetchExpression? {
    get { expressionFormat.flatMap { try? FetchExpression(format: $0) } }
    set { expressionFormat = newValue?.description }
  }
  /// ``expression`` as a format string.
  public var expressionFormat: String? {
    get { values.format }
    set { if mayChange() { values.format = newValue } }
  }
  /// The type of the result. Undefined for a new description.
  @_disfavoredOverload
  public var expressionResultType: AttributeType {
    get { values.type }
    set { if mayChange() { values.type = newValue } }
  }
  /// The type of the result under its later name.
  public var resultType: AttributeType {
    get { expressionResultType }
    set { expressionResultType = newValue }
  }
}
