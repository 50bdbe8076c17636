import Driftless
public import Foundation

// What a property that is `@NSManaged` on Apple reads and writes here: `syncctl code port` writes the calls. The type asked
// for picks the member, so that a number is made without `NSNumber`.
extension ManagedObject {
  /// The value of a property as the type that it is declared with: an attribute of any type, an object, or a set of them.
  ///
  /// An absent value is nil for an optional type, and for others what Core Data gives: no text, no bytes, an empty
  /// collection. Where there is no such value, and where the model's type is another one, it is a precondition failure.
  public final func managedValue<Value>(forKey key: String) -> Value {
    // A set of the type is made once for as long as the relationship holds the same objects.
    let set: Value? = members(forKey: key) { managed(outward($0, key), key) }
    return set ?? managed(storedValue(key), key)
  }

  /// An integer; 0 for an absent one.
  public final func managedValue<Value: FixedWidthInteger>(forKey key: String) -> Value {
    Self.integer(plainValue(key))
  }

  /// A truth value; false for an absent one.
  public final func managedValue(forKey key: String) -> Bool { Self.truth(plainValue(key)) }

  /// A number with a fraction; 0 for an absent one. A date is its seconds since 2001.
  public final func managedValue<Value: BinaryFloatingPoint>(forKey key: String) -> Value {
    Self.fraction(plainValue(key))
  }

  /// An enumeration that an integer attribute holds; an absent one is the case for 0. A number without a case is a
  /// precondition failure.
  public final func managedValue<Value: RawRepresentable>(forKey key: String) -> Value
  where Value.RawValue: FixedWidthInteger {
    choice(Self.integer(plainValue(key)), key)
  }

  /// Sets a property; nil takes its value away. What does not fit keeps the context's next save from being done.
  public final func setManagedValue<Value>(_ value: Value?, forKey key: String) {
    setStoredValue(value, key)
  }

  /// Sets a number with a fraction, or, in an attribute for dates, the seconds since 2001.
  public final func setManagedValue<Value: BinaryFloatingPoint>(_ value: Value, forKey key: String)
  {
    setStoredValue(inFull(value, key), key)
  }

  /// Sets an integer attribute to the number of a case.
  public final func setManagedValue<Value: RawRepresentable>(_ value: Value, forKey key: String)
  where Value.RawValue: FixedWidthInteger {
    setStoredValue(value.rawValue, key)
  }

  // MARK: Primitive values

  /// A property's primitive value: as `managedValue(forKey:)`, without noting an access.
  public final func managedPrimitiveValue<Value>(forKey key: String) -> Value {
    let stored = storedPrimitiveValue(key)
    // A cast of the live set to one of Swift's would give an empty one.
    if let value = stored as? Value { return value }
    if let set = primitiveValue(forKey: key) as? Value { return set }
    return managed(stored, key)
  }

  /// An integer as its primitive value; 0 for an absent one.
  public final func managedPrimitiveValue<Value: FixedWidthInteger>(forKey key: String) -> Value {
    Self.integer(plainPrimitiveValue(key))
  }

  /// A truth value as its primitive value; false for an absent one.
  public final func managedPrimitiveValue(forKey key: String) -> Bool {
    Self.truth(plainPrimitiveValue(key))
  }

  /// A number with a fraction as its primitive value; 0 for an absent one. A date is its seconds since 2001.
  public final func managedPrimitiveValue<Value: BinaryFloatingPoint>(
    forKey key: String
  ) -> Value {
    Self.fraction(plainPrimitiveValue(key))
  }

  /// The enumeration's case for a primitive value; an absent one is the case for 0. A number without a case is a
  /// precondition failure.
  public final func managedPrimitiveValue<Value: RawRepresentable>(forKey key: String) -> Value
  where Value.RawValue: FixedWidthInteger {
    choice(Self.integer(plainPrimitiveValue(key)), key)
  }

  /// Sets a property's primitive value, without noting a change; nil takes it away.
  public final func setManagedPrimitiveValue<Value>(_ value: Value?, forKey key: String) {
    setPrimitiveValue(value, forKey: key)
  }

  /// Sets a primitive value to a number with a fraction, or, in an attribute for dates, to the seconds since 2001.
  public final func setManagedPrimitiveValue<Value: BinaryFloatingPoint>(
    _ value: Value, forKey key: String
  ) {
    setPrimitiveValue(inFull(value, key), forKey: key)
  }

  /// Sets a primitive value to the number of a case.
  public final func setManagedPrimitiveValue<Value: RawRepresentable>(
    _ value: Value, forKey key: String
  ) where Value.RawValue: FixedWidthInteger {
    setPrimitiveValue(value.rawValue, forKey: key)
  }

  // MARK: Conversion

  private final func plainValue(_ key: String) -> Any? {
    var value: Any?
    deferError { value = try knownValue(forKey: key) }
    return value
  }

  private final func plainPrimitiveValue(_ key: String) -> Any? {
    var value: Any?
    deferError { value = try knownPrimitiveValue(forKey: key) }
    return value
  }

  private final func managed<Value>(_ value: Any?, _ key: String) -> Value {
    if let value = value as? Value { return value }
    // A decimal number is asked for, and the attribute holds another one.
    if let number = value as? NSNumber, let decimal = number.decimalValue as? Value {
      return decimal
    }
    if value == nil, let type = Value.self as? any EmptyWhenAbsent.Type,
      let empty = type.init() as? Value
    {
      return empty
    }
    let place = "\(entity.knownName).\(key)"
    guard let value else {
      preconditionFailure("\(place) has no value, and is declared as \(Value.self)")
    }
    let mismatch = "\(place) is \(type(of: value)), and is declared as \(Value.self)"
    // What a file has need not be what the class expects; where that can be told, it is.
    if let type = Value.self as? any ExpressibleByNilLiteral.Type, let none = type.none as? Value {
      deferError {
        throw ObjectError(
          .typeMismatch, mismatch, suggestion: "Declare the property as what the store has.")
      }
      return none
    }
    preconditionFailure(mismatch)
  }

  private final func choice<Value: RawRepresentable>(
    _ number: Value.RawValue, _ key: String
  ) -> Value
  where Value.RawValue: FixedWidthInteger {
    guard let value = Value(rawValue: number) ?? (isProbe ? Self.anyChoice() : nil) else {
      preconditionFailure("\(entity.knownName).\(key) is \(number), no case of \(Value.self)")
    }
    return value
  }

  /// Some case, for who asks which property this is.
  private static func anyChoice<Value: RawRepresentable>() -> Value?
  where Value.RawValue: FixedWidthInteger {
    (-1...255).lazy.compactMap { Value.RawValue(exactly: $0).flatMap(Value.init) }.first
  }

  private final func inFull(_ value: some BinaryFloatingPoint, _ key: String) -> Any {
    entity.attributesByName[key]?.type == .date
      ? Date(timeIntervalSinceReferenceDate: Double(value)) : Double(value)
  }

  private static func integer<Value: FixedWidthInteger>(_ value: Any?) -> Value {
    if let value = value as? Int64 { return Value(truncatingIfNeeded: value) }
    guard let number = foundationValue(value) as? NSNumber else { return 0 }
    return Value(truncatingIfNeeded: number.int64Value)
  }

  private static func truth(_ value: Any?) -> Bool {
    if let value = value as? Bool { return value }
    return (foundationValue(value) as? NSNumber)?.boolValue ?? false
  }

  private static func fraction<Value: BinaryFloatingPoint>(_ value: Any?) -> Value {
    if let value = value as? Double { return Value(value) }
    if let date = value as? Date { return Value(date.timeIntervalSinceReferenceDate) }
    return Value((foundationValue(value) as? NSNumber)?.doubleValue ?? 0)
  }
}

extension ExpressibleByNilLiteral {
  fileprivate static var none: Self { nil }
}

/// A type whose value for none is an empty one, as where Core Data's nil becomes a Swift value.
private protocol EmptyWhenAbsent {
  init()
}

extension String: EmptyWhenAbsent {}
extension Data: EmptyWhenAbsent {}
extension Set: EmptyWhenAbsent {}
extension Array: EmptyWhenAbsent {}
extension Dictionary: EmptyWhenAbsent {}
