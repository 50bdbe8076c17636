/// One row of a fetch that gives dictionaries: values by name, those that are missing left out.
///
/// ```swift
/// for row in try context.fetchRows(request) { print(row["title", as: String.self] ?? "untitled") }
/// ```
public struct FetchedRow: Sendable, Hashable {
  /// A to-one relationship's value is a `.reference`; see ``objectID(_:)``.
  public let values: [String: PropertyValue]
  private let objectIDs: [String: ManagedObjectID]

  init(values: [String: PropertyValue], objectIDs: [String: ManagedObjectID]) {
    self.values = values
    self.objectIDs = objectIDs
  }

  /// The value as a Swift type; nil when it is missing or of another type.
  public subscript<Value: AttributeConvertible>(name: String, as type: Value.Type) -> Value? {
    values[name].flatMap(Value.init(propertyValue:))
  }

  /// The object that a to-one relationship refers to.
  public func objectID(_ name: String) -> ManagedObjectID? { objectIDs[name] }

  /// Plain Swift values by name, ``ManagedObjectID`` for objects.
  public var dictionary: [String: any Sendable] {
    values.reduce(into: [:]) { result, entry in
      result[entry.key] = objectIDs[entry.key] ?? entry.value.plain
    }
  }
}
