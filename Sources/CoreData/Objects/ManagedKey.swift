public import Driftless
public import Foundation

/// The name of a property as accessors ask for it, looked up once in the life of the process.
///
/// The plugin's accessors have one each; what `syncctl code port` writes asks by text.
public struct ManagedKey: Sendable {
  @usableFromInline let property: PropertyName

  /// - Parameter name: As the model has it.
  public init(_ name: String) { property = PropertyName(name) }

  @usableFromInline var name: String { property.name }
}

// They are inlined into the accessors that call them, and ask by the name's number: a read is then one call more than by a typed
// key.
//
// Types that an attribute holds as they are need no box and no look at text. What is of another type than the model's is
// left to the members that ask by text, which convert it.
extension ManagedObject {
  /// As `managedValue(forKey:)`: an object, a collection, and each type that has no member of its own.
  @inlinable
  public final func managedValue<Value>(for key: ManagedKey) -> Value {
    managedValue(forKey: key.name)
  }

  /// As `managedValue(forKey:)`: an integer.
  @inlinable
  public final func managedValue<Value: FixedWidthInteger>(for key: ManagedKey) -> Value {
    guard case .integer(let value)? = heldValue(named: key.property.id) else {
      return managedValue(forKey: key.name)
    }
    return Value(truncatingIfNeeded: value)
  }

  /// As `managedValue(forKey:)`: a truth value.
  @inlinable
  public final func managedValue(for key: ManagedKey) -> Bool {
    guard case .bool(let value)? = heldValue(named: key.property.id) else {
      return managedValue(forKey: key.name)
    }
    return value
  }

  /// As `managedValue(forKey:)`: a number with a fraction.
  @inlinable
  public final func managedValue<Value: BinaryFloatingPoint>(for key: ManagedKey) -> Value {
    guard case .double(let value)? = heldValue(named: key.property.id) else {
      return managedValue(forKey: key.name)
    }
    return Value(value)
  }

  /// As `managedValue(forKey:)`: an enumeration.
  @inlinable
  public final func managedValue<Value: RawRepresentable>(for key: ManagedKey) -> Value
  where Value.RawValue: FixedWidthInteger {
    managedValue(forKey: key.name)
  }

  /// As `managedValue(forKey:)`: a text.
  @inlinable
  public final func managedValue(for key: ManagedKey) -> String? {
    switch heldValue(named: key.property.id) {
    case .string(let value)?: value
    case .null?: nil
    default: managedValue(forKey: key.name)
    }
  }

  /// As `managedValue(forKey:)`: a text, empty where there is none.
  @inlinable
  public final func managedValue(for key: ManagedKey) -> String {
    guard case .string(let value)? = heldValue(named: key.property.id) else {
      return managedValue(forKey: key.name)
    }
    return value
  }

  /// As `managedValue(forKey:)`: a date.
  @inlinable
  public final func managedValue(for key: ManagedKey) -> Date? {
    switch heldValue(named: key.property.id) {
    case .date(let value)?: value
    case .null?: nil
    default: managedValue(forKey: key.name)
    }
  }

  /// As `managedValue(forKey:)`: a date.
  @inlinable
  public final func managedValue(for key: ManagedKey) -> Date {
    guard case .date(let value)? = heldValue(named: key.property.id) else {
      return managedValue(forKey: key.name)
    }
    return value
  }

  /// As `managedValue(forKey:)`: a UUID.
  @inlinable
  public final func managedValue(for key: ManagedKey) -> UUID? {
    switch heldValue(named: key.property.id) {
    case .uuid(let value)?: value
    case .null?: nil
    default: managedValue(forKey: key.name)
    }
  }

  // MARK: Changes

  /// As `setManagedValue(_:forKey:)`.
  @inlinable
  public final func setManagedValue<Value>(_ value: Value?, for key: ManagedKey) {
    setManagedValue(value, forKey: key.name)
  }

  /// As `setManagedValue(_:forKey:)`: an integer.
  @inlinable
  public final func setManagedValue<Value: FixedWidthInteger>(_ value: Value, for key: ManagedKey) {
    if let whole = Int64(exactly: value), hold(.integer(whole), named: key.property.id) { return }
    setManagedValue(value, forKey: key.name)
  }

  /// As `setManagedValue(_:forKey:)`: a truth value.
  @inlinable
  public final func setManagedValue(_ value: Bool, for key: ManagedKey) {
    if hold(.bool(value), named: key.property.id) { return }
    setManagedValue(value, forKey: key.name)
  }

  /// As `setManagedValue(_:forKey:)`: a number with a fraction.
  @inlinable
  public final func setManagedValue<Value: BinaryFloatingPoint>(_ value: Value, for key: ManagedKey)
  {
    if hold(.double(Double(value)), named: key.property.id) { return }
    setManagedValue(value, forKey: key.name)
  }

  /// As `setManagedValue(_:forKey:)`: an enumeration.
  @inlinable
  public final func setManagedValue<Value: RawRepresentable>(_ value: Value, for key: ManagedKey)
  where Value.RawValue: FixedWidthInteger {
    setManagedValue(value.rawValue, for: key)
  }

  /// As `setManagedValue(_:forKey:)`: a text.
  @inlinable
  public final func setManagedValue(_ value: String?, for key: ManagedKey) {
    if hold(value.map { .string($0) } ?? .null, named: key.property.id) { return }
    setManagedValue(value, forKey: key.name)
  }

  /// As `setManagedValue(_:forKey:)`: a date.
  @inlinable
  public final func setManagedValue(_ value: Date?, for key: ManagedKey) {
    if hold(value.map { .date($0) } ?? .null, named: key.property.id) { return }
    setManagedValue(value, forKey: key.name)
  }

  /// As `setManagedValue(_:forKey:)`: a UUID.
  @inlinable
  public final func setManagedValue(_ value: UUID?, for key: ManagedKey) {
    if hold(value.map { .uuid($0) } ?? .null, named: key.property.id) { return }
    setManagedValue(value, forKey: key.name)
  }
}
