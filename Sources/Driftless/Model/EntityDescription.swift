public import Foundation

/// A kind of object: its name, its class, its properties.
///
/// An entity may be changed until its model is frozen; what happens then is told at
/// ``ManagedObjectModel``.
///
/// ```swift
/// let book = EntityDescription("Book")
/// book.properties = [
///   AttributeDescription("title", .string, isOptional: false),
///   RelationshipDescription("author", to: "Author", inverse: "books"),
/// ]
/// ```
public final class EntityDescription: @unchecked Sendable {  // frozen before it is shared
  private var values = Values()
  private var frozen: Frozen?
  /// Whether its superentity was found by its name.
  private var isLinkedByName = false

  private struct Values {
    var name = ""
    var className: String?
    var isAbstract = false
    var properties: [PropertyDescription] = []
    var subentities: [EntityDescription] = []
    var superentityName: String?
    var uniquenessConstraints: [[String]] = []
    var indexes: [FetchIndexDescription] = []
    var userInfo = UserInfo()
    var versionHashModifier: String?
    var renamingIdentifier: String?
    var coreSpotlightDisplayNameFormat: String?
    var fileAttributes: [String: String] = [:]
  }

  /// What is looked up often, worked out once.
  private struct Frozen {
    let layout: EntityLayout
    let properties: [String: PropertyDescription]
    let attributes: [String: AttributeDescription]
    let relationships: [String: RelationshipDescription]
  }

  /// The model that the entity belongs to.
  @_disfavoredOverload
  public private(set) weak var managedObjectModel: ManagedObjectModel?
  /// The entity that this one inherits from. For one that is given by name in code, nil until the model is
  /// frozen; in a model that was read it is there.
  public private(set) weak var superentity: EntityDescription?

  /// An entity without a name, which it needs before its model is frozen.
  public init() {}

  /// An entity without properties.
  public convenience init(_ name: String) {
    self.init()
    self.name = name
  }

  /// A letter, and then letters, digits and underscores; unique in the model, whatever the case.
  @_disfavoredOverload
  public var name: String {
    get { values.name }
    set { edit { $0.name = newValue } }
  }
  /// The class of the entity's objects. For nil it is one that is named like the entity, where there is such a class, else
  /// `ManagedObject`, which it always is for `NSManagedObject`, as Core Data's model files say it.
  public var managedObjectClassName: String! {
    get { values.className ?? "ManagedObject" }
    set { edit { $0.className = newValue } }
  }
  /// Whether there are objects of subentities only.
  public var isAbstract: Bool {
    get { values.isAbstract }
    set { edit { $0.isAbstract = newValue } }
  }
  /// All properties: inherited ones first, and then the entity's own.
  ///
  /// The setter takes the entity's own; what it inherits stays where it is declared, so that
  /// `entity.properties.append(…)` adds to the entity. A property belongs to one entity only.
  public var properties: [PropertyDescription] {
    get { (superentity?.properties ?? []) + values.properties }
    set {
      edit { values in
        let inherited = Set((superentity?.properties ?? []).map { ObjectIdentifier($0) })
        for property in values.properties { property.leave(self) }
        values.properties = newValue.filter { !inherited.contains(ObjectIdentifier($0)) }
        for property in values.properties { property.join(self) }
      }
    }
  }
  /// The properties that the entity declares itself, without inherited ones.
  public var ownProperties: [PropertyDescription] { values.properties }
  /// The entities that inherit from this one directly. All of them must be in the model too.
  public var subentities: [EntityDescription] {
    get { values.subentities }
    set {
      edit { values in
        // An entity above this one is left out: a circle of parents could not be walked.
        let accepted = newValue.filter { !isKindOf(entity: $0) }
        for entity in values.subentities where entity.superentity === self {
          entity.superentity = nil
        }
        values.subentities = accepted
        for entity in accepted {
          entity.superentity = self
          entity.isLinkedByName = false
        }
      }
    }
  }
  /// The superentity by name: resolved when a model was read, and when it is frozen.
  public var superentityName: String? {
    get { superentity?.name ?? values.superentityName }
    set {
      edit { $0.superentityName = newValue }
      guard !isFrozen, let parent = superentity, parent.name != newValue else { return }
      parent.values.subentities.removeAll { $0 === self }
      superentity = nil
    }
  }
  /// Groups of properties whose values together are unique.
  @_disfavoredOverload
  public var uniquenessConstraints: [[String]] {
    get { values.uniquenessConstraints }
    set { edit { $0.uniquenessConstraints = newValue } }
  }
  /// Indexes that make fetches faster. They are not part of the version hash.
  public var indexes: [FetchIndexDescription] {
    get { values.indexes }
    set {
      edit { values in
        for index in values.indexes { index.leave(self) }
        values.indexes = newValue
        for index in newValue { index.join(self) }
      }
    }
  }
  /// What an app notes about the entity. Policies ride in it.
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
  /// What a search index shows of an object. Kept for model files; nothing here reads it.
  ///
  /// Nil for a text that is no expression: ``coreSpotlightDisplayNameFormat`` has the text.
  @_disfavoredOverload
  public var coreSpotlightDisplayNameExpression: FetchExpression? {
    get { coreSpotlightDisplayNameFormat.flatMap { try? FetchExpression(format: $0) } }
    set { coreSpotlightDisplayNameFormat = newValue?.description }
  }
  /// ``coreSpotlightDisplayNameExpression`` as a format string.
  public var coreSpotlightDisplayNameFormat: String? {
    get { values.coreSpotlightDisplayNameFormat }
    set { edit { $0.coreSpotlightDisplayNameFormat = newValue } }
  }

  /// 32 bytes over what a store depends on; empty for an entity without a model, or with a wrong
  /// one.
  public var versionHash: Data { managedObjectModel?.entityVersionHashesByName[name] ?? Data() }

  /// All properties by name, inherited ones too.
  public var propertiesByName: [String: PropertyDescription] {
    if let frozen { return frozen.properties }
    var all = superentity?.propertiesByName ?? [:]
    for property in ownProperties { all[property.name] = property }
    return all
  }

  /// All attributes by name, inherited ones too.
  public var attributesByName: [String: AttributeDescription] {
    frozen?.attributes ?? propertiesByName.compactMapValues { $0 as? AttributeDescription }
  }

  /// All relationships by name, inherited ones too.
  public var relationshipsByName: [String: RelationshipDescription] {
    frozen?.relationships ?? propertiesByName.compactMapValues { $0 as? RelationshipDescription }
  }

  /// The slots of the entity's objects. An entity that is not frozen has none.
  package var layout: EntityLayout { frozen?.layout ?? EntityLayout(entity: self, slots: []) }

  var isFrozen: Bool { frozen != nil }
  var declaredClassName: String? { values.className }
  var declaredRenamingIdentifier: String? { values.renamingIdentifier }
  /// Attributes of the element in the model file that mean nothing here, kept for writing it back.
  var fileAttributes: [String: String] {
    get { values.fileAttributes }
    set { edit { $0.fileAttributes = newValue } }
  }

  private func edit(_ change: (inout Values) -> Void) {
    guard !isFrozen else { return FrozenModel.report(name, managedObjectModel) }
    // A copy, so that the change may look at the entity.
    var changed = values
    change(&changed)
    values = changed
  }

  /// Belongs to a model from now on. An entity of a frozen one stays where it is.
  func join(_ model: ManagedObjectModel) {
    if !isFrozen { managedObjectModel = model }
  }

  func leave(_ model: ManagedObjectModel) {
    if !isFrozen, managedObjectModel === model { managedObjectModel = nil }
  }

  /// Inherits from an entity that was given by name.
  func inherit(from parent: EntityDescription) {
    if superentity !== parent {
      superentity?.values.subentities.removeAll { $0 === self }
      superentity = parent
      isLinkedByName = true
    }
    if !parent.values.subentities.contains(where: { $0 === self }) {
      parent.values.subentities.append(self)
    }
  }

  /// What was linked by name is named alone again, where one of the two leaves a model.
  func unlinkNames(where leaves: (EntityDescription) -> Bool) {
    guard !isFrozen else { return }
    let isLeaving = leaves(self)
    if isLinkedByName, let parent = superentity, isLeaving || leaves(parent) {
      values.superentityName = parent.name
      parent.values.subentities.removeAll { $0 === self }
      superentity = nil
      isLinkedByName = false
    }
    for case let relationship as RelationshipDescription in values.properties {
      relationship.unlinkNames { isLeaving || leaves($0) }
    }
  }

  /// Works out the slots of this entity and of those below, and makes them immutable.
  func freezeHierarchy(inherited: [PropertySlot] = []) {
    let layout = EntityLayout.make(for: self, inherited: inherited)
    let all = propertiesByName
    for property in ownProperties { property.freeze() }
    for index in indexes { index.freeze() }
    frozen = Frozen(
      layout: layout, properties: all,
      attributes: all.compactMapValues { $0 as? AttributeDescription },
      relationships: all.compactMapValues { $0 as? RelationshipDescription })
    for child in subentities { child.freezeHierarchy(inherited: layout.slots) }
  }
}
