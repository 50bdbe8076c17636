import Logging

/// What attributes and relationships have in common: a property of an entity.
///
/// A description may be changed until its model is frozen; later changes do nothing but log an error.
open class PropertyDescription: @unchecked Sendable {  // immutable once frozen; only frozen models leave the thread that built them
  private var values = Values()

  private struct Values {
    var name = ""
    var isOptional = true
    var isTransient = false
    var userInfo: [String: String] = [:]
    var versionHashModifier: String?
    var renamingIdentifier: String?
    var isIndexed = false
  }

  /// The entity that declares the property. Nil until it is given to one.
  public internal(set) weak var entity: EntityDescription?
  var isFrozen = false

  public init() {}

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
  public var userInfo: [String: String] {
    get { values.userInfo }
    set { edit { $0.userInfo = newValue } }
  }
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

  /// The rule of this property for conflicts; nil for the entity's. It rides in `userInfo`.
  public var conflictPolicy: ConflictPolicy? {
    get { userInfo[ConflictPolicy.userInfoKey].flatMap(ConflictPolicy.init(text:)) }
    set { userInfo[ConflictPolicy.userInfoKey] = newValue?.text }
  }

  var declaredRenamingIdentifier: String? { values.renamingIdentifier }

  private func edit(_ change: (inout Values) -> Void) {
    guard !isFrozen else { return FrozenModel.report("\(entity?.name ?? "").\(name)") }
    change(&values)
  }
}

/// What happens to a change of a model in use: nothing, and a line in the log.
enum FrozenModel {
  static func report(_ element: String) {
    Logger(label: "driftless.model").error(
      "\(element) belongs to a model in use and was not changed; change a copy of the model")
  }
}
