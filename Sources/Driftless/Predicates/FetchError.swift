/// Why a predicate, sort or fetch request cannot be understood or carried out.
///
/// An error of the format parser knows where in the string it happened; `description` shows the
/// string with a caret under that place.
public struct FetchError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What went wrong, open for new cases.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The format string breaks the grammar.
    public static let syntax = Code(rawValue: "syntax")
    /// A placeholder has no argument, an argument no placeholder, or the argument is of a kind
    /// that a predicate cannot hold.
    public static let argument = Code(rawValue: "argument")
    /// The entity has no property of that name.
    public static let unknownKey = Code(rawValue: "unknownKey")
    /// The two sides of a comparison, or a function and its operand, do not fit.
    public static let typeMismatch = Code(rawValue: "typeMismatch")
    /// A to-many key path stands where one value is needed.
    public static let toManyNotAllowed = Code(rawValue: "toManyNotAllowed")
    /// A `$VARIABLE` was not substituted.
    public static let unboundVariable = Code(rawValue: "unboundVariable")
    /// A regular expression of MATCHES that cannot be read.
    public static let regularExpression = Code(rawValue: "regularExpression")
    /// Conditions or expressions are within each other more than 1,000 deep, or a key path has more steps.
    public static let tooDeep = Code(rawValue: "tooDeep")
    /// Understood, but not possible in the store.
    public static let unsupported = Code(rawValue: "unsupported")
    /// Options of a fetch or batch request that contradict each other.
    public static let invalidRequest = Code(rawValue: "invalidRequest")
    /// The fetch was cancelled.
    public static let cancelled = Code(rawValue: "cancelled")
  }

  /// What kind of error it is.
  public let code: Code
  /// What is wrong, with the name of the element.
  public let message: String
  /// What to do about it.
  public let suggestion: String
  /// The format string, when one was being parsed.
  public let format: String?
  /// Offset in Characters into `format`.
  public let position: Int?

  package init(
    _ code: Code, _ message: String, suggestion: String, format: String? = nil,
    position: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.suggestion = suggestion
    self.format = format
    self.position = position
  }

  public var description: String {
    // Some messages are sentences with their stop.
    let message = message.hasSuffix(".") ? message.dropLast() : message[...]
    guard let format, let position else { return "\(message). \(suggestion)" }
    let line = String(format.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    let caret = String(repeating: " ", count: max(0, position)) + "^"
    return "\(message) (at character \(position + 1)). \(suggestion)\n  \(line)\n  \(caret)"
  }
}
