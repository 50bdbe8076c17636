/// A model that is wrong: which element, why, and what to do.
public struct ModelError: Error, CustomStringConvertible, Sendable {
  /// What kind of error it is. More may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    private init(_ description: String) { self.description = description }

    public static let unreadable = Code("unreadable")
    public static let malformed = Code("malformed")
    public static let unsupportedFormat = Code("unsupportedFormat")
    public static let missingName = Code("missingName")
    public static let invalidName = Code("invalidName")
    public static let duplicateName = Code("duplicateName")
    public static let unknownEntity = Code("unknownEntity")
    public static let unknownProperty = Code("unknownProperty")
    public static let unknownType = Code("unknownType")
    public static let missingInverse = Code("missingInverse")
    public static let invalidInverse = Code("invalidInverse")
    public static let invalidValue = Code("invalidValue")
    public static let invalidPolicy = Code("invalidPolicy")
    public static let cyclicInheritance = Code("cyclicInheritance")
    public static let sharedElement = Code("sharedElement")
    public static let tooLarge = Code("tooLarge")
    /// A CloudKit-backed store of Core Data could not keep the element.
    public static let unsupportedByCloudKit = Code("unsupportedByCloudKit")
    /// The model is in use, and a change of it came too late.
    public static let inUse = Code("inUse")
  }

  public let code: Code
  /// The element that is wrong, such as `Book.author`.
  public let element: String
  /// The file that the element is in, where it came from one.
  public private(set) var file: String?
  public let message: String
  public let suggestion: String

  public init(_ code: Code, element: String, _ message: String, suggestion: String) {
    self.code = code
    self.element = element
    self.message = message
    self.suggestion = suggestion
  }

  /// The element, and its file.
  public var place: String {
    guard let file, file != element else { return element }
    return "\(element) of \(file)"
  }

  public var description: String { "\(place): \(message) [\(code)] \(suggestion)" }

  /// The error with the name of the file, unless it has one.
  func inFile(_ path: String?) -> ModelError {
    var error = self
    error.file = file ?? path
    return error
  }
}
