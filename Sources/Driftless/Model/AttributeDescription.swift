import Foundation

/// A property that holds a value.
///
/// ```swift
/// let pages = AttributeDescription("pages", .integer32, defaultValue: .integer(0))
/// pages.minimum = .integer(0)
/// ```
open class AttributeDescription: PropertyDescription, @unchecked Sendable {  // as its superclass
  private var values = Values()
  /// The pattern, compiled once when the model is frozen.
  private(set) var pattern: NSRegularExpression?
  /// The composite attribute that this one is an element of.
  package private(set) weak var composite: CompositeAttributeDescription?

  private struct Values {
    var type = AttributeType.undefined
    var defaultValue = PropertyValue.null
    var givenDefault: (any Sendable)?
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

  /// The type under the name that Core Data first gave it.
  @_disfavoredOverload
  public var attributeType: AttributeType {
    get { type }
    set { type = newValue }
  }
  /// What values the attribute holds. Undefined is for transient attributes only.
  public var type: AttributeType {
    get { values.type }
    set { edit { $0.type = newValue } }
  }
  /// The value of a new object.
  @_disfavoredOverload
  public var defaultValue: PropertyValue {
    get { values.defaultValue }
    set {
      edit {
        $0.defaultValue = newValue
        $0.givenDefault = nil
      }
    }
  }
  /// The object that an application gave for the default value of a transformable attribute, which is kept as its bytes.
  package var givenDefault: (any Sendable)? {
    get { values.givenDefault }
    set { edit { $0.givenDefault = newValue } }
  }
  /// How a transformable attribute's value becomes bytes, by the name of a registered transformer.
  public var valueTransformerName: String? {
    get { values.valueTransformerName }
    set { edit { $0.valueTransformerName = newValue } }
  }
  /// The transformer that is registered by that name; nil for none. Values are then the bytes.
  public var valueTransformer: ValueTransformer? {
    values.valueTransformerName.flatMap {
      ValueTransformer.valueTransformer(forName: ValueTransformer.Name($0))
    }
  }
  /// The class of the values, by Core Data's name for it: `NSNumber`, `NSString`, `NSDate` …
  ///
  /// It follows from the type where none is set; nil for a transformable attribute without one. A
  /// composite attribute has the name of its composite type.
  public var attributeValueClassName: String? {
    get { values.attributeValueClassName ?? type.valueClassName }
    set { edit { $0.attributeValueClassName = newValue } }
  }
  /// Whether large values may be kept in files beside the store.
  public var allowsExternalBinaryDataStorage: Bool {
    get { values.allowsExternalBinaryDataStorage }
    set { edit { $0.allowsExternalBinaryDataStorage = newValue } }
  }
  /// Whether a delete keeps the value in the history's tombstone.
  public var preservesValueInHistoryOnDeletion: Bool {
    get { values.preservesValueInHistoryOnDeletion }
    set { edit { $0.preservesValueInHistoryOnDeletion = newValue } }
  }
  /// Whether the value may be encrypted where it leaves the machine.
  public var allowsCloudEncryption: Bool {
    get { values.allowsCloudEncryption }
    set { edit { $0.allowsCloudEncryption = newValue } }
  }
  /// The least number or date that is valid; for a text its least length, in UTF-16 code units as
  /// Core Data counts them.
  public var minimum: PropertyValue? {
    get { values.minimum }
    set { edit { $0.minimum = newValue } }
  }
  /// The greatest number or date that is valid; for a text its greatest length, in UTF-16 code
  /// units.
  public var maximum: PropertyValue? {
    get { values.maximum }
    set { edit { $0.maximum = newValue } }
  }
  /// The pattern that a whole text must match, in ICU's syntax.
  public var regularExpression: String? {
    get { values.regularExpression }
    set { edit { $0.regularExpression = newValue } }
  }

  /// The conditions, those of `minimum`, `maximum` and `regularExpression` first.
  @_disfavoredOverload
  public override var validationPredicates: [FetchPredicate] {
    bounds.map(\.predicate) + super.validationPredicates
  }
  /// For each validation predicate what to say of a value that does not satisfy it. A bound has the
  /// error code that Core Data gives it.
  @_disfavoredOverload
  public override var validationWarnings: [ValidationWarning] {
    bounds.map { .code($0.code) } + super.validationWarnings
  }

  /// Replaces the conditions, bounds and pattern too.
  ///
  /// A condition that is a bound or a pattern, with the error code of one, becomes `minimum`,
  /// `maximum` or `regularExpression`; so the attribute's type comes first.
  @_disfavoredOverload
  public override func setValidationPredicates(
    _ predicates: [FetchPredicate]?, withValidationWarnings warnings: [ValidationWarning]?
  ) {
    guard mayChange() else { return }
    (minimum, maximum, regularExpression) = (nil, nil, nil)
    let predicates = predicates ?? []
    let warnings = warnings ?? []
    guard predicates.count == warnings.count else {
      return super.setValidationPredicates(predicates, withValidationWarnings: warnings)
    }
    var others: [(FetchPredicate, ValidationWarning)] = []
    for (predicate, warning) in zip(predicates, warnings) {
      guard let bound = AttributeBound(predicate, warning, of: type), take(bound) else {
        others.append((predicate, warning))
        continue
      }
    }
    super.setValidationPredicates(others.map(\.0), withValidationWarnings: others.map(\.1))
  }

  private var bounds: [AttributeBound] {
    [
      minimum.map { .minimum($0, type) }, maximum.map { .maximum($0, type) },
      regularExpression.map { .pattern($0) },
    ].compactMap { $0 }
  }

  /// False when there is such a bound already.
  private func take(_ bound: AttributeBound) -> Bool {
    switch bound {
    case .minimum(let value, _) where minimum == nil: minimum = value
    case .maximum(let value, _) where maximum == nil: maximum = value
    case .pattern(let pattern) where regularExpression == nil: regularExpression = pattern
    default: return false
    }
    return true
  }

  /// Whether the attribute, or a composite one around it, is optional.
  var mayBeMissing: Bool { isOptional || (composite?.mayBeMissing ?? false) }
  /// Whether the attribute, or a composite one around it, is transient.
  var isKeptInMemory: Bool { isTransient || (composite?.isKeptInMemory ?? false) }
  /// The name with those of the composite attributes around it: `location.lat`.
  var path: String { composite.map { "\($0.path).\(name)" } ?? name }
  override var label: String { "\(declaringEntity?.name ?? "").\(path)" }
  var declaringEntity: EntityDescription? { composite?.declaringEntity ?? entity }
  override var owningModel: ManagedObjectModel? { declaringEntity?.managedObjectModel }
  var declaredValueClassName: String? { values.attributeValueClassName }
  /// Conditions beside the bounds and the pattern.
  var ownPredicates: [FetchPredicate] { super.validationPredicates }
  var ownWarnings: [ValidationWarning] { super.validationWarnings }

  private func edit(_ change: (inout Values) -> Void) {
    if mayChange() { change(&values) }
  }

  /// Is an element of a composite attribute from now on.
  func join(_ composite: CompositeAttributeDescription) {
    if !isFrozen { self.composite = composite }
  }

  func leave(_ composite: CompositeAttributeDescription) {
    if !isFrozen, self.composite === composite { self.composite = nil }
  }

  /// The pattern of a regular expression that has to match a whole text.
  static func pattern(_ expression: String) -> NSRegularExpression? {
    try? NSRegularExpression(pattern: "\\A(?:\(expression))\\z")
  }

  override func freeze() {
    pattern = regularExpression.flatMap(Self.pattern)
    super.freeze()
  }
}

extension AttributeDescription {
  /// The type under the name that Core Data gave it in 2021.
  public typealias AttributeType = Driftless.AttributeType
}
