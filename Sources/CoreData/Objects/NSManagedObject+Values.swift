public import Driftless
import Foundation

// Values by name. What Core Data raises an exception for, a key that there is not or a value that does not fit, is kept and
// thrown by the context's next save, as with all accessors here.
extension ManagedObject {
  /// The value of a property by name: numbers and truth values as `NSNumber`, a to-many relationship as a set, an ordered
  /// one as an `NSOrderedSet`. It may also be a property that every object has, such as `objectID`, `entity`, `hasChanges`,
  /// `isInserted`, `managedObjectContext` or `self`, where the model has none of that name.
  ///
  /// It comes through the accessor that the class has for the key, where ``NSManagedObjectMaking/registerAccessor(_:forKey:)``
  /// or the plugin told of one. An accessor that asks for its own key gets what is stored. For any other key it is what
  /// `value(forUndefinedKey:)` gives.
  public final func value(forKey key: String) -> Any? {
    if let value = KeyedAccessor.value(of: self, key) { return value }
    if let member = OwnMember.ofObjects[key], entity.propertiesByName[key] == nil {
      return member(self)
    }
    var value: Any?
    let isDefined = deferringErrors(of: key) { value = try outwardValue(key) }
    return isDefined ? value : self.value(forUndefinedKey: key)
  }

  /// Sets a property, through the accessor that the class has for the key; nil and `NSNull` take the value away, of an accessor
  /// for a number by `setNilValueForKey(_:)`. Lists of objects may be Swift's or Foundation's. Any other key is for
  /// `setValue(_:forUndefinedKey:)`.
  public final func setValue(_ value: Any?, forKey key: String) {
    let isDefined = deferringErrors(of: key) {
      guard try !KeyedAccessor.set(value, self, key) else { return }
      try setKnownValue(known(inward(value, key), key), forKey: key)
    }
    if !isDefined { setValue(value, forUndefinedKey: key) }
  }

  /// Keeps what goes wrong for the next save.
  ///
  /// - Returns: Whether there is a property of that key.
  private final func deferringErrors(of key: String, _ body: () throws -> Void) -> Bool {
    var isDefined = true
    deferError {
      do { try body() } catch let error as ObjectError
        where error.code == .unknownProperty && entity.propertiesByName[key] == nil
      {
        isDefined = false
      }
    }
    return isDefined
  }

  /// ``value(forKey:)`` without an accessor.
  final func storedValue(_ key: String) -> Any? {
    var value: Any?
    deferError { value = try outwardValue(key) }
    return value
  }

  private final func outwardValue(_ key: String) throws(ObjectError) -> Any? {
    // One set is made of a relationship for as long as it holds the same objects.
    guard let relationship = entity.relationshipsByName[key], relationship.isToMany else {
      return outward(try knownValue(forKey: key), key)
    }
    if relationship.isOrdered {
      let set: NSOrderedSet? = members(forKey: key) { NSOrderedSet(array: $0) }
      return set
    }
    let set: Set<ManagedObject>? = members(forKey: key) { Set($0) }
    return set
  }

  /// ``setValue(_:forKey:)`` without an accessor.
  final func setStoredValue(_ value: Any?, _ key: String) {
    deferError { try setKnownValue(known(inward(value, key), key), forKey: key) }
  }

  /// The archive that is there already, where another one holds an equal value: a dictionary has many.
  private final func known(_ value: Any?, _ key: String) -> Any? {
    guard let archive = value as? Data, entity.attributesByName[key]?.isArchived == true,
      let present = (try? knownPrimitiveValue(forKey: key)) as? Data, present != archive,
      Self.areEqual(PlainArchive.value(of: present), PlainArchive.value(of: archive))
    else { return value }
    return present
  }

  /// What an attribute that holds an object is kept as; nil where it is not there, or its value comes from elsewhere.
  final func archive(of key: String) -> Data? {
    guard entity.attributesByName[key]?.isArchived == true,
      !KeyedAccessor.isThere(for: key, of: self)
    else { return nil }
    return (try? knownPrimitiveValue(forKey: key)) as? Data
  }

  /// Checks a value against the model's rules for a property and the class's method `validate<Key>`, which may put another
  /// one in its place. Nothing is set.
  /// - Throws: what is wrong with the value.
  public final func validateValue(
    _ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String
  ) throws {
    var checked = inward(value.pointee, key)
    let before = checked.map { $0 as AnyObject }
    try validateKnownValue(&checked, forKey: key)
    let after = checked.map { $0 as AnyObject }
    if after !== before { value.pointee = outward(checked, key).map { $0 as AnyObject } }
  }

  /// The value as it lies in the object, without reading a fault's row first. Call `willAccessValue(forKey:)` before it. Of a
  /// to-many relationship it is the set that `mutableSetValue(forKey:)` gives, of an ordered one that of
  /// `mutableOrderedSetValue(forKey:)`: a change of it changes the object.
  public final func primitiveValue(forKey key: String) -> Any? {
    if let relationship = entity.relationshipsByName[key], relationship.isToMany {
      return relationship.isOrdered
        ? mutableOrderedSetValue(forKey: key) : mutableSetValue(forKey: key)
    }
    return storedPrimitiveValue(key)
  }

  /// ``primitiveValue(forKey:)`` with the objects of a relationship as a set of Swift's.
  final func storedPrimitiveValue(_ key: String) -> Any? {
    var value: Any?
    deferError { value = try knownPrimitiveValue(forKey: key) }
    return outward(value, key)
  }

  /// Sets a value without noting a change. Call `willChangeValue(forKey:)` before it, for a change that counts. A to-many
  /// relationship takes a set or an array of objects, whose other ends follow.
  public final func setPrimitiveValue(_ value: Any?, forKey key: String) {
    if let relationship = entity.relationshipsByName[key], relationship.isToMany {
      return setStoredValue(value, key)
    }
    deferError { try setKnownPrimitiveValue(inward(value, key), forKey: key) }
  }

  /// The properties whose values differ from the last read or save, with their present values; `NSNull` for none.
  public final func changedValues() -> [String: Any] {
    outward(knownChangedValues())
  }

  /// The properties that changed since the last event ended, with the values that they had then; `NSNull` for none.
  public final func changedValuesForCurrentEvent() -> [String: Any] {
    outward(knownValuesBeforeEvent())
  }

  /// Values as last read or saved; of all attributes and to-one relationships for nil. `NSNull` for none. What is transient is in
  /// no store, and not among them.
  public final func committedValues(forKeys keys: [String]?) -> [String: Any] {
    // A new object has none.
    if isInserted { return [:] }
    return outward(
      knownCommittedValues(forKeys: keys).filter {
        entity.propertiesByName[$0.key]?.isTransient != true
      })
  }

  /// The IDs at the other end of a relationship, without reading these objects.
  public final func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] {
    var ids: [NSManagedObjectID] = []
    deferError { ids = try knownObjectIDs(forRelationshipNamed: key) }
    return ids
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

  /// A value as Core Data gives it: by the property, for an empty list of anything looks like one of objects.
  final func outward(_ value: Any?, _ key: String) -> Any? {
    switch value {
    case nil, is String: return value
    case let objects as [ManagedObject]:
      // What a fetched property finds is a list in its order, and a transformable attribute holds what was set.
      guard let relationship = entity.relationshipsByName[key] else { return value }
      return relationship.isOrdered ? NSOrderedSet(array: objects) : Set(objects)
    case let value as Double where entity.attributesByName[key]?.type == .float:
      return NSNumber(value: Float(value))
    case let data as Data:
      return entity.attributesByName[key]?.isArchived == true ? PlainArchive.value(of: data) : data
    case is [String: any Sendable]
    where entity.attributesByName[key]?.type == .transformable: return value
    default: return foundationValue(value)
    }
  }

  /// A value as the library takes it: lists of objects of a relationship as arrays.
  final func inward(_ value: Any?, _ key: String) -> Any? {
    // A large value that is not here, as lists of values and snapshots have it, stands for itself.
    guard let value, !(value is NSNull), !(value is PropertyValue) else { return value }
    switch entity.propertiesByName[key] {
    case is RelationshipDescription:
      return value is ManagedObject ? value : Self.objects(of: value) ?? value
    case let attribute as AttributeDescription: return attribute.archived(value)
    default: return value
    }
  }

  /// The objects of a list of Foundation's or Swift's; nil for what is none.
  static func objects(of value: Any?) -> [ManagedObject]? {
    switch value {
    case let objects as [ManagedObject]: objects
    case let objects as Set<ManagedObject>: Array(objects)
    case let set as RelatedOrderedSet: set.objects
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

extension AttributeDescription {
  /// Whether values are archived for want of a transformer that the attribute names, as Core Data does.
  var isArchived: Bool {
    type == .transformable
      && ["", "NSKeyedUnarchiveFromData"].contains(valueTransformerName ?? "")
      && valueTransformer == nil
  }

  /// A value as the library takes it: an archive of it where values are archived. One that is the library's own stands for itself,
  /// and one that cannot be archived is refused by who takes it.
  func archived(_ value: Any?) -> Any? {
    guard isArchived, let value, !(value is NSNull), !(value is PropertyValue) else { return value }
    return PlainArchive.data(of: value) ?? value
  }

  /// A value of a snapshot as Core Data gives it: what a transformable attribute's bytes stand for. Bytes that are not here stand
  /// for themselves, so that who sets the values of a snapshot keeps them.
  func snapshotValue(_ value: PropertyValue) -> Any {
    if type == .transformable, case .data(let data) = value, !value.isInZone {
      return self.value(inArchive: data)
    }
    return foundationValue(value.plainOrName) ?? NSNull()
  }
}

/// Archives of property lists' values, and of objects that can be archived: a transformable attribute that names no transformer
/// keeps its values in them.
enum PlainArchive {
  /// The archive of a value; nil for an object that cannot be archived, or whose class lies within another type.
  static func data(of value: Any) -> Data? {
    SecureUnarchiveFromData().reverseTransformedValue(value) as? Data
  }

  /// The value in an archive, which may be of classes of the application; of other bytes these.
  static func value(of data: Data) -> Any {
    SecureUnarchiveFromData.value(in: data, ofAnyClass: true) ?? data
  }
}
