/// A model that is wrong: which element, why, and what to do.
public struct ModelError: Error, CustomStringConvertible, Sendable {
  /// What kind of error it is. More may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    private init(_ description: String) { self.description = description }

    /// No such file, or one that may not be read.
    public static let unreadable = Code("unreadable")
    /// A file or an archive is not in its format.
    public static let malformed = Code("malformed")
    /// A file or an archive is of a format that this version does not read.
    public static let unsupportedFormat = Code("unsupportedFormat")
    /// A file has an element or an attribute under a name that is near a known one, or a flag that is neither YES nor NO.
    public static let misspelt = Code("misspelt")
    /// An element has no name.
    public static let missingName = Code("missingName")
    /// A name is not one: a letter, then letters, digits and underscores.
    public static let invalidName = Code("invalidName")
    /// Two elements of one kind have the same name.
    public static let duplicateName = Code("duplicateName")
    /// An element names an entity that is not in the model.
    public static let unknownEntity = Code("unknownEntity")
    /// An element names a property that its entity does not have.
    public static let unknownProperty = Code("unknownProperty")
    /// An attribute has a type that there is not.
    public static let unknownType = Code("unknownType")
    /// A relationship has no inverse.
    public static let missingInverse = Code("missingInverse")
    /// A relationship and its inverse do not lead to each other.
    public static let invalidInverse = Code("invalidInverse")
    /// A value of an element cannot be: a default, a bound, an expression.
    public static let invalidValue = Code("invalidValue")
    /// A conflict policy or a delete policy does not exist, or does not fit the property.
    public static let invalidPolicy = Code("invalidPolicy")
    /// An entity inherits from itself.
    public static let cyclicInheritance = Code("cyclicInheritance")
    /// A description belongs to two elements.
    public static let sharedElement = Code("sharedElement")
    /// A model passes a limit of what a store can hold.
    public static let tooLarge = Code("tooLarge")
    /// A CloudKit-backed store of Core Data could not keep the element.
    public static let unsupportedByCloudKit = Code("unsupportedByCloudKit")
    /// The model is in use, and a change of it came too late.
    public static let inUse = Code("inUse")
  }

  /// What kind of error it is.
  public let code: Code
  /// The element that is wrong, such as `Book.author`.
  public let element: String
  /// The file that the element is in, where it came from one.
  public private(set) var file: String?
  /// What is wrong.
  public let message: String
  /// What to do about it.
  public let suggestion: String

  /// An error in an element of a model.
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

  public var description: String {
    // Some messages are sentences with their stop.
    "\(place): \(message.hasSuffix(".") ? message.dropLast() : message[...]) [\(code)]. \(suggestion)"
  }

  /// The error with the name of the file, unless it has one.
  func inFile(_ path: String?) -> ModelError {
    var error = self
    error.file = file ?? path
    return error
  }
}
