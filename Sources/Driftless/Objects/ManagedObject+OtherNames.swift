/// For the module that gives the library under Core Data's names: its members take no errors where Core Data's take none,
/// and hide those of the same name here.
extension ManagedObject {
  /// ``value(forKey:)``.
  package final func knownValue(forKey name: String) throws(ObjectError) -> Any? {
    try value(forKey: name)
  }

  /// ``setValue(_:forKey:)``.
  package final func setKnownValue(_ value: Any?, forKey name: String) throws(ObjectError) {
    try setValue(value, forKey: name)
  }

  /// ``primitiveValue(forKey:)``.
  package final func knownPrimitiveValue(forKey name: String) throws(ObjectError) -> Any? {
    try primitiveValue(forKey: name)
  }

  /// ``setPrimitiveValue(_:forKey:)``.
  package final func setKnownPrimitiveValue(
    _ value: Any?, forKey name: String
  ) throws(ObjectError) {
    try setPrimitiveValue(value, forKey: name)
  }

  /// ``objectIDs(forRelationshipNamed:)``.
  package final func knownObjectIDs(
    forRelationshipNamed name: String
  ) throws(ObjectError) -> [ManagedObjectID] {
    try objectIDs(forRelationshipNamed: name)
  }

  /// ``validateValue(_:forKey:)``, which may put another value in place of the one that it gets.
  package final func validateKnownValue(_ value: inout Any?, forKey name: String) throws {
    try validateValue(&value, forKey: name)
  }

  /// ``changedValues()``.
  package final func knownChangedValues() -> [String: Any?] { changedValues() }

  /// ``committedValues(forKeys:)``.
  package final func knownCommittedValues(forKeys names: [String]?) -> [String: Any?] {
    committedValues(forKeys: names)
  }
}
