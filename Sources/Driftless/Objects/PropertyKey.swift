/// The typed key of an attribute: it reads and writes the attribute, and stands for it in
/// predicates and sort orders.
///
/// ```swift
/// final class Book: ManagedObject {
///   static let title = Attribute<Book, String>("title")
///   var title: String { get { self[Book.title] } set { self[Book.title] = newValue } }
/// }
/// ```
public struct Attribute<Root: ManagedObject, Value: AttributeConvertible>: Sendable {
  /// The name of the property.
  public let property: PropertyName
  /// What a read gives when the object holds no such value.
  public let fallback: Value

  /// - Parameters:
  ///   - name: the attribute's name in the model; `location.lat` for a leaf of a composite one.
  ///   - fallback: what a read gives when the object has no value, or one that `Value` cannot hold.
  public init(_ name: String, default fallback: Value) {
    property = PropertyName(name)
    self.fallback = fallback
  }
}

extension Attribute where Value: AttributeDefaulting {
  /// Reads as `nil`, or as zero or empty when `Value` is not optional, when there is no value.
  public init(_ name: String) {
    self.init(name, default: Value.attributeDefault)
  }
}

/// The typed key of a relationship to at most one object.
public struct ToOne<Root: ManagedObject, Destination: ManagedObject>: Sendable {
  /// The name of the property.
  public let property: PropertyName

  /// - Parameter name: the relationship's name in the model.
  public init(_ name: String) { property = PropertyName(name) }
}

/// The typed key of a relationship to any number of objects, ordered or not.
public struct ToMany<Root: ManagedObject, Destination: ManagedObject>: Sendable {
  /// The name of the property.
  public let property: PropertyName

  /// - Parameter name: the relationship's name in the model.
  public init(_ name: String) { property = PropertyName(name) }
}
