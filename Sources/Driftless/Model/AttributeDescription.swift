import Foundation

/// A property that holds a value.
open class AttributeDescription: PropertyDescription, @unchecked Sendable {  // as its superclass
  private var values = Values()

  private struct Values {
    var type = AttributeType.undefined
    var defaultValue = PropertyValue.null
    var valueTransformerName: String?
    var attributeValueClassName: String?
    var allowsExternalBinaryDataStorage = false
    var preservesValueInHistoryOnDeletion = false
    var allowsCloudEncryption = false
    var minimum: PropertyValue?
    var maximum: PropertyValue?
    var regularExpression: String?
  }

  public override init() { super.init() }

  /// An attribute with a name and a type.
  public convenience init(
    _ name: String, _ type: AttributeType, isOptional: Bool = true,
    defaultValue: PropertyValue = .null, conflictPolicy: ConflictPolicy? = nil
  ) {
    self.init()
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.defaultValue = defaultValue
    if let conflictPolicy { self.conflictPolicy = conflictPolicy }
  }

  public var type: AttributeType {
    get { values.type }
    set { edit { $0.type = newValue } }
  }
  /// The value of a new object.
  public var defaultValue: PropertyValue {
    get { values.defaultValue }
    set { edit { $0.defaultValue = newValue } }
  }
  public var valueTransformerName: String? {
    get { values.valueTransformerName }
    set { edit { $0.valueTransformerName = newValue } }
  }
  public var attributeValueClassName: String? {
    get { values.attributeValueClassName }
    set { edit { $0.attributeValueClassName = newValue } }
  }
  public var allowsExternalBinaryDataStorage: Bool {
    get { values.allowsExternalBinaryDataStorage }
    set { edit { $0.allowsExternalBinaryDataStorage = newValue } }
  }
  /// Whether a delete keeps the value in the history's tombstone.
  public var preservesValueInHistoryOnDeletion: Bool {
    get { values.preservesValueInHistoryOnDeletion }
    set { edit { $0.preservesValueInHistoryOnDeletion = newValue } }
  }
  public var allowsCloudEncryption: Bool {
    get { values.allowsCloudEncryption }
    set { edit { $0.allowsCloudEncryption = newValue } }
  }
  /// The least number or date that is valid, or the least length of a text.
  public var minimum: PropertyValue? {
    get { values.minimum }
    set { edit { $0.minimum = newValue } }
  }
  /// The greatest number or date that is valid, or the greatest length of a text.
  public var maximum: PropertyValue? {
    get { values.maximum }
    set { edit { $0.maximum = newValue } }
  }
  /// The pattern that a whole text must match.
  public var regularExpression: String? {
    get { values.regularExpression }
    set { edit { $0.regularExpression = newValue } }
  }

  private func edit(_ change: (inout Values) -> Void) {
    guard !isFrozen else { return FrozenModel.report("\(entity?.name ?? "").\(name)") }
    change(&values)
  }
}

/// An attribute that the store computes from others.
public final class DerivedAttributeDescription: AttributeDescription, @unchecked Sendable {  // as its superclass
  private var expression: String?

  /// How the value is computed, as a format string such as `books.@count`.
  public var derivationExpression: String? {
    get { expression }
    set {
      guard !isFrozen else { return FrozenModel.report("\(entity?.name ?? "").\(name)") }
      expression = newValue
    }
  }
}

/// An attribute made of attributes; each leaf has a column of its own.
public final class CompositeAttributeDescription: AttributeDescription, @unchecked Sendable {  // as its superclass
  private var attributes: [AttributeDescription] = []

  public var elements: [AttributeDescription] {
    get { attributes }
    set {
      guard !isFrozen else { return FrozenModel.report("\(entity?.name ?? "").\(name)") }
      attributes = newValue
    }
  }
}
