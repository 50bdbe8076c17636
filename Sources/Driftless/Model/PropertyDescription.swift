public import Foundation

/// What attributes and relationships have in common: a property of an entity.
///
/// A description may be changed until its model is frozen; what happens then is told at
/// ``ManagedObjectModel``.
open class PropertyDescription: @unchecked Sendable {  // frozen before it is shared
  private var values = Values()

  private struct Values {
    var name = ""
    var isOptional = true
    var isTransient = false
    var userInfo = UserInfo()
    var versionHashModifier: String?
    var renamingIdentifier: String?
    var isIndexed = false
    var predicates: [FetchPredicate] = []
    var warnings: [ValidationWarning] = []
    var fileAttributes: [String: String] = [:]
  }

  /// The entity that declares the property. Nil until it is given to one.
  @_disfavoredOverload
  public private(set) weak var entity: EntityDescription?
  private(set) var isFrozen = false

  /// A property without a name, which it needs before its model is frozen.
  public init() {}

  /// A letter or an underscore, and then letters, digits and underscores; unique among the
  /// properties of the entity, inherited ones too.
  public var name: String {
    get { values.name }
    set { edit { $0.name = newValue } }
  }
  /// Whether the property may have no value. True for a new description.
  public var isOptional: Bool {
    get { values.isOptional }
    set { edit { $0.isOptional = newValue } }
  }
  /// Whether the property is kept in memory only.
  public var isTransient: Bool {
    get { values.isTransient }
    set { edit { $0.isTransient = newValue } }
  }
  /// What an app notes about the property. A conflict policy rides in it.
  @_disfavoredOverload
  public var userInfo: [String: String] {
    get { values.userInfo.texts }
    set { edit { $0.userInfo.texts = newValue } }
  }
  /// ``UserInfo/given``.
  package var givenUserInfo: [AnyHashable: Any]? {
    get { values.userInfo.given }
    set { edit { $0.userInfo.given = newValue } }
  }
  /// Any text: another one gives another version hash.
  public var versionHashModifier: String? {
    get { values.versionHashModifier }
    set { edit { $0.versionHashModifier = newValue } }
  }
  /// The name in an earlier version of the model; the name itself when none is set.
  public var renamingIdentifier: String? {
    get { values.renamingIdentifier ?? values.name }
    set { edit { $0.renamingIdentifier = newValue } }
  }
  /// The old way to ask for an index; it still makes one.
  public var isIndexed: Bool {
    get { values.isIndexed }
    set { edit { $0.isIndexed = newValue } }
  }

  /// Whether a search index of the system would take the property in. Kept for model files.
  public var isIndexedBySpotlight: Bool {
    get { fileFlag("spotlightIndexingEnabled") }
    set { setFileFlag("spotlightIndexingEnabled", newValue) }
  }
  /// Whether a search index of the system would keep the value. Kept for model files.
  public var isStoredInExternalRecord: Bool {
    get { fileFlag("storedInTruthFile") }
    set { setFileFlag("storedInTruthFile", newValue) }
  }

  /// What a value must satisfy: conditions on `SELF`, such as `SELF >= 0` or `length < 80`.
  ///
  /// A missing value satisfies them all. They are in no version hash.
  @_disfavoredOverload
  public var validationPredicates: [FetchPredicate] { values.predicates }
  /// For each validation predicate what to say of a value that does not satisfy it.
  @_disfavoredOverload
  public var validationWarnings: [ValidationWarning] { values.warnings }

  /// Replaces the conditions that a value must satisfy.
  ///
  /// ```swift
  /// pages.setValidationPredicates(
  ///   [try FetchPredicate(format: "SELF > 0")], withValidationWarnings: ["A book has pages"])
  /// ```
  /// - Parameters:
  ///   - predicates: nil for none. `SELF` is the value, `length` the length of a text.
  ///   - warnings: one for each predicate, or none at all; another number is refused when the
  ///     model is frozen.
  @_disfavoredOverload
  public func setValidationPredicates(
    _ predicates: [FetchPredicate]?, withValidationWarnings warnings: [ValidationWarning]?
  ) {
    edit {
      $0.predicates = predicates ?? []
      $0.warnings = warnings ?? []
    }
  }

  /// Takes conditions as they are, beside the bounds that an attribute has.
  final func addValidationPredicates(
    _ predicates: [FetchPredicate], _ warnings: [ValidationWarning]
  ) {
    edit {
      $0.predicates = predicates
      $0.warnings = warnings
    }
  }

  /// 32 bytes over what a store depends on of this property alone.
  public var versionHash: Data { VersionHash.hash(of: self) }

  /// The rule of this property for conflicts; nil for the entity's.
  ///
  /// It rides in `userInfo` under ``ConflictPolicy/userInfoKey``.
  public var conflictPolicy: ConflictPolicy? {
    get { userInfo[ConflictPolicy.userInfoKey].flatMap(ConflictPolicy.init(text:)) }
    set { userInfo[ConflictPolicy.userInfoKey] = newValue?.text }
  }

  var declaredRenamingIdentifier: String? { values.renamingIdentifier }
  /// Attributes of the element in the model file that mean nothing here, kept for writing it back.
  var fileAttributes: [String: String] {
    get { values.fileAttributes }
    set { edit { $0.fileAttributes = newValue } }
  }
  /// The property as messages name it.
  var label: String { "\(entity?.name ?? "").\(name)" }

  /// The model that the property belongs to.
  var owningModel: ManagedObjectModel? { entity?.managedObjectModel }

  private func fileFlag(_ name: String) -> Bool { values.fileAttributes[name] == "YES" }

  private func setFileFlag(_ name: String, _ isOn: Bool) {
    edit { $0.fileAttributes[name] = isOn ? "YES" : nil }
  }

  private func edit(_ change: (inout Values) -> Void) {
    if mayChange() { change(&values) }
  }

  /// Whether a setter may do its work. Reports the change when not.
  final func mayChange() -> Bool {
    if isFrozen { FrozenModel.report(label, owningModel) }
    return !isFrozen
  }

  /// Belongs to an entity from now on. A property of a frozen model stays where it is.
  func join(_ entity: EntityDescription) {
    if !isFrozen { self.entity = entity }
  }

  func leave(_ entity: EntityDescription) {
    if !isFrozen, self.entity === entity { self.entity = nil }
  }

  func freeze() { isFrozen = true }
}
