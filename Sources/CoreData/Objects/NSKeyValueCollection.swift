import Driftless
public import Foundation

/// A collection of objects that key-value coding reads and sets as one.
public protocol NSKeyValueCollection {}

extension NSArray: NSKeyValueCollection {}
extension NSSet: NSKeyValueCollection {}
extension NSOrderedSet: NSKeyValueCollection {}
extension Array: NSKeyValueCollection where Element: NSManagedObject {}
extension Set: NSKeyValueCollection where Element: NSManagedObject {}

extension NSKeyValueCollection {
  /// The values of a property of all objects, in a collection of the same kind: a list has `NSNull` for one without, sets leave it
  /// out. `@count` and other operators give what they make of the objects themselves.
  ///
  /// ```swift
  /// let names = (items as NSArray).value(forKey: "name") as? [String]
  /// ```
  public func value(forKey key: String) -> Any {
    ValuePath(refuse).value(at: [key], of: self) ?? NSNull()
  }

  /// The values at the end of a path of names, or what an operator makes of them: `@sum.price`.
  ///
  /// What operators there are `NSManagedObject/value(forKeyPath:)` says.
  public func value(forKeyPath keyPath: String) -> Any? {
    ValuePath(refuse).value(at: ValuePath.keys(of: keyPath), of: self)
  }

  /// Sets a property of all objects.
  public func setValue(_ value: Any?, forKey key: String) {
    ValuePath(refuse).set(value, at: [key], of: self)
  }

  /// Sets the property at the end of a path of names, from all objects.
  public func setValue(_ value: Any?, forKeyPath keyPath: String) {
    ValuePath(refuse).set(value, at: ValuePath.keys(of: keyPath), of: self)
  }

  /// The first object's context says it with its next save. A collection of other things leads nowhere, as what has no such key.
  private func refuse(_ key: String) { ManagedObject.objects(of: self)?.first?.refuse(key) }
}
