/// An attribute that the store computes from others when it saves.
public final class DerivedAttributeDescription: AttributeDescription,
  @unchecked Sendable  // as its superclass
{
  private var format: String?

  /// How the value is computed: `author.name`, `books.@count`, `books.pages.@sum`, `now()`, or
  /// `uppercase:(name)`, `lowercase:(name)`, `canonical:(name)`.
  ///
  /// Nil for a text that is no expression: ``derivationExpressionFormat`` has the text.
  @_disfavoredOverload
  public var derivationExpression: FetchExpression? {
    get { format.flatMap { try? FetchExpression(format: $0) } }
    set { derivationExpressionFormat = newValue?.description }
  }
  /// ``derivationExpression`` as a format string. It is part of the version hash.
  public var derivationExpressionFormat: String? {
    get { format }
    set { if mayChange() { format = newValue } }
  }
}
