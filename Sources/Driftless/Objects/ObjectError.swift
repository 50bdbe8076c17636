/// What went wrong with an object, a context or a coordinator.
public struct ObjectError: Error, Hashable, Sendable, CustomStringConvertible {
  /// An open list: new codes may come.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The model has no such entity, or it is abstract.
    public static let unknownEntity = Code(rawValue: "unknown-entity")
    /// The entity has no such property.
    public static let unknownProperty = Code(rawValue: "unknown-property")
    /// Typed keys that classes list do not fit the model: a name, a type or a destination.
    public static let wrongKeys = Code(rawValue: "wrong-keys")
    /// The value is not of the property's type, or does not fit into it.
    public static let typeMismatch = Code(rawValue: "type-mismatch")
    /// An ordered relationship has no such place.
    public static let outOfRange = Code(rawValue: "out-of-range")
    /// The object belongs to another context, or to none.
    public static let foreignObject = Code(rawValue: "foreign-object")
    /// No object of that ID is in the store.
    public static let missingObject = Code(rawValue: "missing-object")
    /// The class of an object is not the one asked for.
    public static let classMismatch = Code(rawValue: "class-mismatch")
    /// The coordinator has no store.
    public static let noStore = Code(rawValue: "no-store")
    /// None of the coordinator's stores has the entity of an object that is to be saved.
    public static let entityWithoutStore = Code(rawValue: "entity-without-store")
    /// The coordinator cannot take this store.
    public static let storeRefused = Code(rawValue: "store-refused")
    /// The query generation is one of other stores.
    public static let foreignGeneration = Code(rawValue: "foreign-generation")
    /// A relationship or an assignment across stores.
    public static let crossStore = Code(rawValue: "cross-store")
    /// An object with this identity exists.
    public static let identityTaken = Code(rawValue: "identity-taken")
    /// `willSave` methods keep changing objects, or a merge policy changed one that was written already.
    public static let unstableSave = Code(rawValue: "unstable-save")
    /// Work that was to read alone changed objects, or asked to save.
    public static let changedInRead = Code(rawValue: "changed-in-read")
    /// A save was asked for inside of one, or inside of work that is saved when it ends.
    public static let nestedSave = Code(rawValue: "nested-save")
    /// The zone has the value, and this store has not fetched it yet.
    public static let valueNotHere = Code(rawValue: "value-not-here")
    /// The object's values could not be read from the store.
    public static let unreadable = Code(rawValue: "unreadable")
  }

  /// What kind of error it is.
  public var code: Code
  /// What is wrong, with the element's name.
  public var message: String
  /// What to do about it.
  public var suggestion: String

  /// - Parameters:
  ///   - code: What kind of error it is.
  ///   - message: What is wrong, with the element's name.
  ///   - suggestion: What to do about it.
  public init(_ code: Code, _ message: String, suggestion: String) {
    self.code = code
    self.message = message
    self.suggestion = suggestion
  }

  public var description: String {
    // Some messages are sentences with their stop.
    "\(message.hasSuffix(".") ? message.dropLast() : message[...]). \(suggestion)"
  }
}
