/// A property that refers to objects.
///
/// ```swift
/// let books = RelationshipDescription("books", to: "Book", inverse: "author", toMany: true)
/// ```
public final class RelationshipDescription: PropertyDescription,
  @unchecked Sendable  // as its superclass
{
  private var values = Values()
  /// Whether its ends were found by their names.
  private var isLinkedByName = false

  private struct Values {
    weak var destination: EntityDescription?
    var destinationName: String?
    weak var inverse: RelationshipDescription?
    var inverseName: String?
    var minCount = 0
    var maxCount = 0
    var deleteRule = DeleteRule.nullify
    var isOrdered = false
  }

  public override init() { super.init() }

  /// A relationship by the names of its destination and inverse, which are looked up when the model
  /// is frozen.
  public convenience init(
    _ name: String, to destination: String, inverse: String?, toMany: Bool = false,
    isOrdered: Bool = false, deleteRule: DeleteRule = .nullify, isOptional: Bool = true
  ) {
    self.init()
    self.name = name
    self.isOptional = isOptional
    destinationEntityName = destination
    inverseRelationshipName = inverse
    maxCount = toMany ? 0 : 1
    self.isOrdered = isOrdered
    self.deleteRule = deleteRule
  }

  /// The entity of the objects at the other end.
  public var destinationEntity: EntityDescription? {
    get { values.destination }
    set {
      edit {
        $0.destination = newValue
        $0.destinationName = newValue?.name
        isLinkedByName = false
      }
    }
  }
  /// The same relationship seen from the other end. Both ends must name each other.
  public var inverseRelationship: RelationshipDescription? {
    get { values.inverse }
    set {
      edit {
        $0.inverse = newValue
        $0.inverseName = newValue?.name
      }
    }
  }
  /// The destination by name: resolved when a model was read, and when it is frozen.
  public var destinationEntityName: String? {
    get { values.destination?.name ?? values.destinationName }
    set {
      edit {
        $0.destinationName = newValue
        if $0.destination?.name != newValue { $0.destination = nil }
      }
    }
  }
  /// The inverse by name: resolved when a model was read, and when it is frozen.
  public var inverseRelationshipName: String? {
    get { values.inverse?.name ?? values.inverseName }
    set {
      edit {
        $0.inverseName = newValue
        if $0.inverse?.name != newValue { $0.inverse = nil }
      }
    }
  }
  /// The least number of objects, when there are any.
  public var minCount: Int {
    get { values.minCount }
    set { edit { $0.minCount = newValue } }
  }
  /// The greatest number of objects: 1 for a to-one relationship; 0 for no bound.
  public var maxCount: Int {
    get { values.maxCount }
    set { edit { $0.maxCount = newValue } }
  }
  /// What a delete of the source does to the objects at the other end.
  @_disfavoredOverload
  public var deleteRule: DeleteRule {
    get { values.deleteRule }
    set { edit { $0.deleteRule = newValue } }
  }
  /// Whether the objects of a to-many relationship have an order.
  public var isOrdered: Bool {
    get { values.isOrdered }
    set { edit { $0.isOrdered = newValue } }
  }
  /// Whether there can be more than one object at the other end.
  public var isToMany: Bool { values.maxCount != 1 }

  /// Whether the relationship is kept in a join table: to-many at both ends, or with no inverse.
  package var usesJoinTable: Bool { isToMany && (inverseRelationship?.isToMany ?? true) }

  func resolve(destination: EntityDescription, inverse: RelationshipDescription?) {
    if values.destination !== destination { isLinkedByName = true }
    values.destination = destination
    if let inverse { values.inverse = inverse }
  }

  /// What was found by name is named alone again, where its destination leaves a model.
  func unlinkNames(where leaves: (EntityDescription) -> Bool) {
    guard isLinkedByName, !isFrozen, let destination = values.destination, leaves(destination)
    else { return }
    (values.destinationName, values.inverseName) = (destination.name, inverseRelationshipName)
    (values.destination, values.inverse) = (nil, nil)
    isLinkedByName = false
  }

  private func edit(_ change: (inout Values) -> Void) {
    if mayChange() { change(&values) }
  }
}
