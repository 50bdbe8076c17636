import Logging

/// What attributes and relationships have in common: a property of an entity.
///
/// A description may be changed until its model is frozen; later changes do nothing but log an
/// error.
open class PropertyDescription: @unchecked Sendable {  // frozen before it is shared
  private var values = Values()

  private struct Values {
    var name = ""
    var isOptional = true
    var isTransient = false
    var userInfo: [String: String] = [:]
    var versionHashModifier: String?
    var renamingIdentifier: String?
    var isIndexed = false
    var fileAttributes: [String: String] = [:]
  }

  /// The entity that declares the property. Nil until it is given to one.
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
  public var userInfo: [String: String] {
    get { values.userInfo }
    set { edit { $0.userInfo = newValue } }
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

  private func edit(_ change: (inout Values) -> Void) {
    if mayChange() { change(&values) }
  }

  /// Whether a setter may do its work. Logs an error when not.
  final func mayChange() -> Bool {
    if isFrozen { FrozenModel.report(label) }
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

/// What happens to a change of a model in use: nothing, and a line in the log.
enum FrozenModel {
  static func report(_ element: String) {
    Logger(label: "driftless.model").error(
      "\(element) belongs to a model in use and was not changed; change a copy of the model")
  }
}
