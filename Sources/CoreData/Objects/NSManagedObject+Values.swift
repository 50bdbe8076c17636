public import Driftless
import Foundation

// Values by name. What Core Data raises an exception for, a key that there is not or a value that does not fit, is kept and
// thrown by the context's next save, as with all accessors here.
extension ManagedObject {
  /// The value of a property by name: numbers and truth values as `NSNumber`, a to-many relationship as a set, an ordered
  /// one as an `NSOrderedSet`. It may also be `objectID` or `entity`.
  public final func value(forKey key: String) -> Any? {
    switch key {
    case "objectID": return objectID
    case "entity": return entity
    default: break
    }
    var value: Any?
    deferError { value = try knownValue(forKey: key) }
    return outward(value, key)
  }

  /// Sets a property; nil and `NSNull` take the value away. Lists of objects may be Swift's or Foundation's.
  public final func setValue(_ value: Any?, forKey key: String) {
    deferError { try setKnownValue(Self.inward(value), forKey: key) }
  }

  /// The value as it lies in the object, without reading a fault's row first. Call `willAccessValue(forKey:)` before it.
  public final func primitiveValue(forKey key: String) -> Any? {
    var value: Any?
    deferError { value = try knownPrimitiveValue(forKey: key) }
    return outward(value, key)
  }

  /// Sets a value without noting a change. Call `willChangeValue(forKey:)` before it, for a change that counts.
  public final func setPrimitiveValue(_ value: Any?, forKey key: String) {
    deferError { try setKnownPrimitiveValue(Self.inward(value), forKey: key) }
  }

  /// The properties whose values differ from the last read or save, with their present values; `NSNull` for none.
  public final func changedValues() -> [String: Any] {
    outward(knownChangedValues())
  }

  /// The properties that changed since the last event ended, with their present values; `NSNull` for none.
  public final func changedValuesForCurrentEvent() -> [String: Any] {
    outward(knownChangedValuesForCurrentEvent())
  }

  /// Values as last read or saved; of all attributes and to-one relationships for nil. `NSNull` for none.
  public final func committedValues(forKeys keys: [String]?) -> [String: Any] {
    outward(knownCommittedValues(forKeys: keys))
  }

  /// The IDs at the other end of a relationship, without reading these objects.
  public final func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] {
    var ids: [NSManagedObjectID] = []
    deferError { ids = try knownObjectIDs(forRelationshipNamed: key) }
    return ids
  }

  // MARK: Key paths

  /// The value at the end of a path of names. Behind a to-many relationship it is an array of the values of its objects;
  /// `@count` is their number.
  public final func value(forKeyPath keyPath: String) -> Any? {
    var path = keyPath.split(separator: ".").map(String.init)[...]
    guard let first = path.popFirst() else { return nil }
    // The element of a composite attribute has a name with a dot.
    if entity.attributesByName[first] is NSCompositeAttributeDescription, !path.isEmpty {
      return value(forKey: keyPath)
    }
    return Self.value(at: path, of: value(forKey: first))
  }

  private static func value(at path: ArraySlice<String>, of value: Any?) -> Any? {
    guard let key = path.first else { return value }
    let rest = path.dropFirst()
    switch value {
    case let object as ManagedObject: return Self.value(at: rest, of: object.value(forKey: key))
    case nil: return nil
    default: break
    }
    guard let objects = Self.objects(of: value) else { return nil }
    if key == "@count" { return NSNumber(value: objects.count) }
    return objects.compactMap { Self.value(at: path, of: $0) }
  }

  /// Sets the property at the end of a path of names through to-one relationships.
  public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
    guard let dot = keyPath.lastIndex(of: ".") else { return setValue(value, forKey: keyPath) }
    let owner = self.value(forKeyPath: String(keyPath[..<dot])) as? ManagedObject
    owner?.setValue(value, forKey: String(keyPath[keyPath.index(after: dot)...]))
  }

  /// Several properties at once; `NSNull` for those without a value.
  public final func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
    Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }) { first, _ in first }
  }

  /// Sets several properties.
  public final func setValuesForKeys(_ keyedValues: [String: Any]) {
    for (key, value) in keyedValues { setValue(value, forKey: key) }
  }

  // MARK: Form

  private final func outward(_ values: [String: Any?]) -> [String: Any] {
    var result: [String: Any] = [:]
    for (key, value) in values { result[key] = outward(value, key) ?? NSNull() }
    return result
  }

  /// A value as Core Data gives it.
  private final func outward(_ value: Any?, _ key: String) -> Any? {
    switch value {
    case let objects as [ManagedObject]:
      return entity.relationshipsByName[key]?.isOrdered == true
        ? NSOrderedSet(array: objects) : Set(objects)
    case let value as Double where entity.attributesByName[key]?.type == .float:
      return NSNumber(value: Float(value))
    default: return foundationValue(value)
    }
  }

  /// A value as the library takes it: lists of objects as arrays.
  static func inward(_ value: Any?) -> Any? {
    if value is [ManagedObject] || value is Set<ManagedObject> { return value }
    return objects(of: value) ?? value
  }

  /// The objects of a list of Foundation's or Swift's; nil for what is none.
  static func objects(of value: Any?) -> [ManagedObject]? {
    switch value {
    case let objects as [ManagedObject]: objects
    case let objects as Set<ManagedObject>: Array(objects)
    case let set as NSOrderedSet: set.array as? [ManagedObject]
    case let set as NSSet: set.allObjects as? [ManagedObject]
    case let array as NSArray: array.map { $0 } as? [ManagedObject]
    default: nil
    }
  }
}

/// Numbers and truth values as `NSNumber`, which casts to every type that fits; other values as they are.
func foundationValue(_ value: Any?) -> Any? {
  switch value {
  case let value as Bool where type(of: value) == Bool.self: NSNumber(value: value)
  case let value as Int64: NSNumber(value: value)
  case let value as Int: NSNumber(value: value)
  case let value as Double: NSNumber(value: value)
  case let values as [String: any Sendable]: values.mapValues { foundationValue($0) ?? NSNull() }
  default: value
  }
}
