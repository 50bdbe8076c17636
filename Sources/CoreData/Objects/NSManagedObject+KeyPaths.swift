public import Driftless
public import Foundation

// Key paths, as key-value coding reads them: through objects, through collections of them, with operators, and into
// dictionaries, which composite attributes give.
extension ManagedObject {
  /// The value at the end of a path of names.
  ///
  /// Behind a to-many relationship it is a set of the values of its objects, behind an ordered one an ordered set, behind a
  /// list a list. `@count`, `@sum`, `@avg`, `@min`, `@max`, `@unionOfObjects` and `@distinctUnionOfObjects` work on a collection,
  /// and `@unionOfArrays`, `@distinctUnionOfArrays` and `@distinctUnionOfSets` on one of collections. Another operator, and a
  /// key that there is not, make the context's next save fail.
  public final func value(forKeyPath keyPath: String) -> Any? {
    ValuePath(refuse).value(at: ValuePath.keys(of: keyPath), of: self)
  }

  /// Sets the property at the end of a path of names: through to-one relationships, of all objects of a to-many one, and an
  /// element of a composite attribute. Nothing is set behind an absent object.
  public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
    ValuePath(refuse).set(value, at: ValuePath.keys(of: keyPath), of: self)
  }

  /// The to-many relationship at the end of a path of to-one relationships as a set that changes its object when it is changed.
  public final func mutableSetValue(forKeyPath keyPath: String) -> NSMutableSet {
    let end = end(of: keyPath)
    return end.object.mutableSetValue(forKey: end.key)
  }

  /// The ordered relationship at the end of a path of to-one relationships as a set that changes its object when it is changed.
  public final func mutableOrderedSetValue(forKeyPath keyPath: String) -> NSMutableOrderedSet {
    let end = end(of: keyPath)
    return end.object.mutableOrderedSetValue(forKey: end.key)
  }

  /// A list as one that sets the property when it is changed: of an attribute that holds one, and the objects of an ordered relationship.
  public final func mutableArrayValue(forKey key: String) -> NSMutableArray {
    KeyedArray(self, key)
  }

  /// As `mutableArrayValue(forKey:)`, of the object at the end of a path of to-one relationships.
  public final func mutableArrayValue(forKeyPath keyPath: String) -> NSMutableArray {
    let end = end(of: keyPath)
    return end.object.mutableArrayValue(forKey: end.key)
  }

  /// Checks a value for the property at the end of a path of to-one relationships. Nothing is set.
  /// - Throws: as `validateValue(_:forKey:)`.
  public final func validateValue(
    _ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKeyPath keyPath: String
  ) throws {
    let end = end(of: keyPath)
    try end.object.validateValue(value, forKey: end.key)
  }

  /// The object that has the last property of a path. Where the path leads nowhere it is this one, which has none of that name.
  private final func end(of keyPath: String) -> (object: ManagedObject, key: String) {
    var object = self
    var keys = ValuePath.keys(of: keyPath)
    while keys.count > 1, let key = keys.first, !object.isComposite(key) {
      guard let next = object.value(forKey: key) as? ManagedObject else { return (self, keyPath) }
      object = next
      keys.removeFirst()
    }
    return (object, keys.joined(separator: "."))
  }

  /// Whether a key is that of a composite attribute, whose elements have names with dots.
  final func isComposite(_ key: String) -> Bool {
    entity.attributesByName[key] is NSCompositeAttributeDescription
  }

  /// The next save says that a key leads nowhere.
  final func refuse(_ key: String) {
    deferError {
      throw ObjectError(
        .unknownProperty, "\(key) leads nowhere from \(entity.knownName)",
        suggestion: "Check the key path against the model.")
    }
  }
}
