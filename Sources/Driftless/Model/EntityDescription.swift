/// A kind of object: its name, its class, its properties.
///
/// An entity may be changed until its model is frozen; later changes do nothing but log an error.
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
  public private(set) weak var managedObjectModel: ManagedObjectModel?
  /// The entity that this one inherits from. For one that is given by name, nil until the model is
  /// frozen.
  public private(set) weak var superentity: EntityDescription?

  /// An entity without a name, which it needs before its model is frozen.
  public init() {}

  /// An entity without properties.
  public convenience init(_ name: String) {
    self.init()
    self.name = name
  }

  /// A letter, and then letters, digits and underscores; unique in the model, whatever the case.
  public var name: String {
    get { values.name }
    set { edit { $0.name = newValue } }
  }
  /// The class of the entity's objects; nil restores `ManagedObject`.
  public var managedObjectClassName: String! {
    get { values.className ?? "ManagedObject" }
    set { edit { $0.className = newValue } }
  }
  /// Whether there are objects of subentities only.
  public var isAbstract: Bool {
    get { values.isAbstract }
    set { edit { $0.isAbstract = newValue } }
  }
  /// The entity's own properties, without inherited ones.
  public var properties: [PropertyDescription] {
    get { values.properties }
    set {
      edit { values in
        for property in values.properties { property.leave(self) }
        values.properties = newValue
        for property in newValue { property.join(self) }
      }
    }
  }
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
        for entity in accepted { entity.superentity = self }
      }
    }
  }
  /// The superentity by name: resolved when the model is frozen.
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
  public var uniquenessConstraints: [[String]] {
    get { values.uniquenessConstraints }
    set { edit { $0.uniquenessConstraints = newValue } }
  }
  /// Indexes that make fetches faster. They are not part of the version hash.
  public var indexes: [FetchIndexDescription] {
    get { values.indexes }
    set { edit { $0.indexes = newValue } }
  }
  /// What an app notes about the entity. Policies ride in it.
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
  /// Kept for model files; nothing here reads it.
  public var coreSpotlightDisplayNameExpression: String? {
    get { values.coreSpotlightDisplayNameExpression }
    set { edit { $0.coreSpotlightDisplayNameExpression = newValue } }
  }

  /// 32 bytes over what a store depends on; nil before the model is frozen.
  public var versionHash: [UInt8]? {
    managedObjectModel?.entityVersionHashesByName[name].map { Array($0) }
  }

  /// All properties by name, inherited ones too.
  public var propertiesByName: [String: PropertyDescription] {
    if let frozen { return frozen.properties }
    var all = superentity?.propertiesByName ?? [:]
    for property in properties { all[property.name] = property }
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
    guard !isFrozen else { return FrozenModel.report(name) }
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
    superentity = parent
    if !parent.values.subentities.contains(where: { $0 === self }) {
      parent.values.subentities.append(self)
    }
  }

  /// Works out the slots of this entity and of those below, and makes them immutable.
  func freezeHierarchy(inherited: [PropertySlot] = []) {
    let layout = EntityLayout.make(for: self, inherited: inherited)
    let all = propertiesByName
    for property in properties { property.freeze() }
    frozen = Frozen(
      layout: layout, properties: all,
      attributes: all.compactMapValues { $0 as? AttributeDescription },
      relationships: all.compactMapValues { $0 as? RelationshipDescription })
    for child in subentities { child.freezeHierarchy(inherited: layout.slots) }
  }
}
