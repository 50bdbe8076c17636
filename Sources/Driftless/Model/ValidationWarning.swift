/// What is said of a value that a validation predicate does not hold for.
///
/// ```swift
/// let warnings: [ValidationWarning] = ["A book has pages", 1620]
/// ```
public enum ValidationWarning: Hashable, Sendable {
  /// A text for people; the error's code is then 1550. The model's localization dictionary may have
  /// another text for it, under `ErrorString/` and the text.
  case message(String)
  /// One of Core Data's error codes, such as 1620 for a number that is too small.
  case code(Int)
}

extension ValidationWarning: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  public init(stringLiteral value: String) { self = .message(value) }
  public init(integerLiteral value: Int) { self = .code(value) }
}
