/// One column of an index.
public struct FetchIndexElementDescription: Hashable, Sendable {
  /// How the index is built. An index is of one kind.
  public enum CollationType: Int, Hashable, Sendable { case binary = 0, rTree = 1 }

  /// The name of the property; empty for an expression.
  public var propertyName: String
  /// An expression in place of a property, as a format string.
  public var expression: String?
  public var collationType: CollationType
  public var isAscending: Bool
  /// Further attributes of the element in the model file, kept for writing it back.
  var fileAttributes: [String: String] = [:]

  public init(
    propertyName: String, expression: String? = nil, collationType: CollationType = .binary,
    isAscending: Bool = true
  ) {
    self.propertyName = propertyName
    self.expression = expression
    self.collationType = collationType
    self.isAscending = isAscending
  }
}
