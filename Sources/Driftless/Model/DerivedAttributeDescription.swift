/// An attribute that the store computes from others.
public final class DerivedAttributeDescription: AttributeDescription,
  @unchecked Sendable  // as its superclass
{
  private var expression: String?

  /// How the value is computed, as a format string such as `books.@count`.
  public var derivationExpression: String? {
    get { expression }
    set { if mayChange() { expression = newValue } }
  }
}
