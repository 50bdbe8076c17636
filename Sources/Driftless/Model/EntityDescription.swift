import Foundation
import Logging

/// A kind of object: its name, its class, its properties.
///
/// ```swift
/// let book = EntityDescription("Book")
/// book.properties = [
///   AttributeDescription("title", .string, isOptional: false),
///   RelationshipDescription("author", to: "Author", inverse: "books"),
/// ]
/// ```
public final class EntityDescription: @unchecked Sendable {  // immutable once frozen; only frozen models leave the thread that built them
  private var values = Values()
  private var frozenLayout: EntityLayout?

  private struct Values {
    var name = ""
    var className: String?
    var isAbstract = false
    var properties: [PropertyDescription] = []
    var subentities: [EntityDescription] = []
    var superentityName: String?
    var uniquenessConstraints: [[String]] = []
    var indexes: [FetchIndexDescription] = []
    var userInfo: [String: String] = [:]
    var versionHashModifier: String?
    var renamingIdentifier: String?
    var coreSpotlightDisplayNameExpression: String?
  }

  public internal(set) weak var managedObjectModel: ManagedObjectModel?
  public internal(set) weak var superentity: EntityDescription?
  var isFrozen = false

  public init() {}

  public convenience init(_ name: String) {
    self.init()
    self.name = name
  }

  public var name: String {
    get { values.name }
    set { edit { $0.name = newValue } }
  }
  /// The class of the entity's objects; nil restores `ManagedObject`.
  public var managedObjectClassName: String! {
    get { values.className ?? "ManagedObject" }
    set { edit { $0.className = newValue } }
  }
  public var isAbstract: Bool {
    get { values.isAbstract }
    set { edit { $0.isAbstract = newValue } }
  }
  /// The entity's own properties, without inherited ones.
  public var properties: [PropertyDescription] {
    get { values.properties }
    set {
      edit { $0.properties = newValue }
      for property in newValue where !isFrozen { property.entity = self }
    }
  }
  public var subentities: [EntityDescription] {
    get { values.subentities }
    set {
      edit { $0.subentities = newValue }
      for entity in newValue where !isFrozen { entity.superentity = self }
    }
  }
  /// The superentity by name: resolved when the model is frozen.
  public var superentityName: String? {
    get { superentity?.name ?? values.superentityName }
    set { edit { $0.superentityName = newValue } }
  }
  /// Groups of attributes whose values together are unique.
  public var uniquenessConstraints: [[String]] {
    get { values.uniquenessConstraints }
    set { edit { $0.uniquenessConstraints = newValue } }
  }
  public var indexes: [FetchIndexDescription] {
    get { values.indexes }
    set { edit { $0.indexes = newValue } }
  }
  public var userInfo: [String: String] {
    get { values.userInfo }
    set { edit { $0.userInfo = newValue } }
  }
  public var versionHashModifier: String? {
    get { values.versionHashModifier }
    set { edit { $0.versionHashModifier = newValue } }
  }
  public var renamingIdentifier: String? {
    get { values.renamingIdentifier ?? values.name }
    set { edit { $0.renamingIdentifier = newValue } }
  }
  public var coreSpotlightDisplayNameExpression: String? {
    get { values.coreSpotlightDisplayNameExpression }
    set { edit { $0.coreSpotlightDisplayNameExpression = newValue } }
  }

  /// The rule for conflicts over properties that name none. It rides in `userInfo`.
  public var conflictPolicy: ConflictPolicy {
    get {
      userInfo[ConflictPolicy.userInfoKey].flatMap(ConflictPolicy.init(text:))
        ?? superentity?.conflictPolicy ?? .lastWriterWins
    }
    set { userInfo[ConflictPolicy.userInfoKey] = newValue.text }
  }
  /// The rule for a delete against an edit. It rides in `userInfo`.
  public var deletePolicy: DeletePolicy {
    get {
      userInfo[DeletePolicy.userInfoKey].flatMap(DeletePolicy.init(rawValue:))
        ?? superentity?.deletePolicy ?? .deleteWins
    }
    set { userInfo[DeletePolicy.userInfoKey] = newValue.rawValue }
  }

  var declaredClassName: String? { values.className }
  var declaredRenamingIdentifier: String? { values.renamingIdentifier }

  private func edit(_ change: (inout Values) -> Void) {
    guard !isFrozen else { return FrozenModel.report(name) }
    change(&values)
  }

  /// Takes the slots that freezing worked out.
  func freeze(layout: EntityLayout) {
    frozenLayout = layout
    isFrozen = true
    for property in values.properties { property.isFrozen = true }
  }

  func add(subentity: EntityDescription) { values.subentities.append(subentity) }

  /// The slots of the entity's objects. An entity that is not frozen has none.
  package var layout: EntityLayout { frozenLayout ?? EntityLayout(entity: self, slots: []) }
}

extension EntityDescription {
  /// All properties by name, inherited ones too.
  public var propertiesByName: [String: PropertyDescription] {
    var all = superentity?.propertiesByName ?? [:]
    for property in properties { all[property.name] = property }
    return all
  }

  public var attributesByName: [String: AttributeDescription] {
    propertiesByName.compactMapValues { $0 as? AttributeDescription }
  }

  public var relationshipsByName: [String: RelationshipDescription] {
    propertiesByName.compactMapValues { $0 as? RelationshipDescription }
  }

  public var subentitiesByName: [String: EntityDescription] {
    Dictionary(subentities.map { ($0.name, $0) }) { first, _ in first }
  }

  /// The entity at the top of the hierarchy: the one with the table.
  public var rootEntity: EntityDescription {
    var entity = self
    while let parent = entity.superentity { entity = parent }
    return entity
  }

  /// Whether this is `entity` or inherits from it.
  public func isKindOf(entity: EntityDescription) -> Bool {
    var candidate: EntityDescription? = self
    while let current = candidate {
      if current === entity { return true }
      candidate = current.superentity
    }
    return false
  }

  /// The relationships that lead to `entity`.
  public func relationships(forDestination entity: EntityDescription) -> [RelationshipDescription] {
    relationshipsByName.values.filter { $0.destinationEntity === entity }
      .sorted { $0.name < $1.name }
  }

  /// The policy of a property: its own, or the entity's.
  public func effectiveConflictPolicy(for property: PropertyDescription) -> ConflictPolicy {
    property.conflictPolicy ?? conflictPolicy
  }

  /// This entity and all that inherit from it.
  package var selfAndDescendants: [EntityDescription] {
    [self] + subentities.flatMap(\.selfAndDescendants)
  }
}
