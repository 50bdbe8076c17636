public import Driftless

/// What Foundation's root class says of every object, said of the library's own: they are no `NSObject` on Linux.
public protocol NSObjectIdentity: AnyObject {}

extension NSObjectIdentity where Self: Hashable {
  /// Whether the other object is the same, or says the same where the class says that two do.
  public func isEqual(_ object: Any?) -> Bool {
    (object as? AnyHashable).map { $0 == AnyHashable(self) } ?? false
  }

  /// The same number for equal objects.
  public var hash: Int { hashValue }
}

extension NSObjectIdentity {
  /// Whether the object is of the class, or of one below it.
  public func isKind(of aClass: AnyClass) -> Bool {
    var mirror: Mirror? = Mirror(reflecting: self)
    while let current = mirror {
      if current.subjectType == aClass { return true }
      mirror = current.superclassMirror
    }
    return false
  }

  /// Whether the object is of the class itself.
  public func isMember(of aClass: AnyClass) -> Bool { type(of: self) == aClass }
}

extension ManagedObject: NSObjectIdentity {}
extension ManagedObjectID: NSObjectIdentity {}
extension ManagedObjectModel: NSObjectIdentity {}
extension EntityDescription: NSObjectIdentity {}
extension PropertyDescription: NSObjectIdentity {}
extension PersistentStore: NSObjectIdentity {}
extension PersistentStoreCoordinator: NSObjectIdentity {}
