public import Driftless
import Foundation

// Key-value coding through members of a class. Swift on Linux finds no member by a name that it reads, so that a class has to
// say which ones it has: `CoreDataPlugin` writes that at a build.
extension NSManagedObjectMaking {
  /// Has `value(forKey:)` and `setValue(_:forKey:)` of the class's objects go through a property of the class: that of a key of
  /// the model, or a key of its own. Call it once, at start.
  ///
  /// ```swift
  /// Person.registerAccessor(\.fullName, forKey: "fullName")
  /// ```
  /// - Parameters:
  ///   - path: A property that cannot be set leaves `setValue(_:forKey:)` with what is stored. One that can be set is read
  ///     first, as Swift's key paths do.
  ///   - key: By which the property is found.
  public static func registerAccessor<Value>(_ path: KeyPath<Self, Value>, forKey key: String) {
    KeyedAccessor.all.add(KeyedAccessor(path), named: key, of: Self.self)
  }

  /// Has a method check values of a property, as Core Data does with a method `validate<Key>`: before each save of a
  /// changed object and in `validateValue(_:forKey:)`, after the model's own rules. Call it once, at start.
  ///
  /// ```swift
  /// Person.registerValidator(forKey: "age") { try $0.validateAge($1) }
  /// ```
  /// - Parameters:
  ///   - key: The property's.
  ///   - method: May put another value in place of the one that it gets, and throws what is wrong.
  public static func registerValidator(
    forKey key: String,
    _ method: @escaping (Self, AutoreleasingUnsafeMutablePointer<AnyObject?>) throws -> Void
  ) {
    // It runs where the object's context is, as the method that it stands for.
    nonisolated(unsafe) let method = method
    let whole: PropertyRules.Method = { object, value in
      guard let object = object as? Self else { return false }
      let before = object.outward(value, key).map { $0 as AnyObject }
      var pointee = before
      try method(object, &pointee)
      guard pointee !== before else { return false }
      value = object.inward(pointee, key)
      return true
    }
    PropertyRules.methods.add(whole, named: key, of: Self.self)
  }
}

extension KeyedMembers {
  /// A property of a class that `value(forKey:)` finds, where it is of a type that Objective-C has.
  public static func accessor<Root: NSManagedObjectMaking, Value>(
    _ path: KeyPath<Root, Value>, _ key: String
  ) {
    if isOfObjectiveC(Value.self) { Root.registerAccessor(path, forKey: key) }
  }

  /// A property of what is no object.
  @_disfavoredOverload
  public static func accessor<Root, Value>(_ path: KeyPath<Root, Value>, _ key: String) {}

  /// A method `validate<Key>`.
  public static func validator<Root: NSManagedObjectMaking>(
    _ key: String,
    _ method: @escaping (Root, AutoreleasingUnsafeMutablePointer<AnyObject?>) throws -> Void
  ) {
    Root.registerValidator(forKey: key, method)
  }
}

/// A property of a class by which its objects answer to a key.
struct KeyedAccessor: Sendable {
  static let all = ClassMembers<KeyedAccessor>()

  /// The accessors that are at work, the last one first.
  final class Call: Sendable {
    private let object: ObjectIdentifier
    private let key: String
    private let isSet: Bool
    private let outer: Call?

    init(_ object: ManagedObject, _ key: String, isSet: Bool, in outer: Call?) {
      self.object = ObjectIdentifier(object)
      (self.key, self.isSet, self.outer) = (key, isSet, outer)
    }

    func isOf(_ object: ManagedObject, _ key: String, isSet: Bool) -> Bool {
      self.object == ObjectIdentifier(object) && self.key == key && self.isSet == isSet
        || outer?.isOf(object, key, isSet: isSet) == true
    }
  }

  @TaskLocal private static var current: Call?

  /// Whether it holds a number, and never nothing.
  private let isOfNumber: Bool
  private let read: @Sendable (ManagedObject) -> Any?
  private let write: (@Sendable (ManagedObject, Any?) throws(ObjectError) -> Void)?

  init<Root: ManagedObject, Value>(_ path: KeyPath<Root, Value>) {
    // Key paths do not change, and those of objects' properties capture nothing.
    nonisolated(unsafe) let path = path
    isOfNumber = isNumber(Value.self)
    read = { object in (object as? Root).flatMap { foundationForm($0[keyPath: path]) } }
    guard let settable = path as? ReferenceWritableKeyPath<Root, Value> else {
      write = nil
      return
    }
    // The same path.
    nonisolated(unsafe) let setter = settable
    write = { object, value throws(ObjectError) in
      guard let object = object as? Root else { return }
      guard let value = declared(value, as: Value.self) else {
        throw ObjectError(
          .typeMismatch,
          "\(path) of \(object.entity.knownName) is \(Value.self) and cannot hold \(value ?? "nil")",
          suggestion: "Set a value of the property's type.")
      }
      object[keyPath: setter] = value
    }
  }

  /// What an object's accessor gives; nil where it has none, or that one asks itself.
  static func value(of object: ManagedObject, _ key: String) -> Any?? {
    guard let accessor = find(object, key, isSet: false) else { return nil }
    let call = Call(object, key, isSet: false, in: current)
    return .some($current.withValue(call) { accessor.read(object) })
  }

  /// Whether a value comes by an accessor.
  static func isThere(for key: String, of object: ManagedObject) -> Bool {
    find(object, key, isSet: false) != nil
  }

  /// Sets a value by an object's accessor; whether it has one.
  static func set(
    _ value: Any?, _ object: ManagedObject, _ key: String
  ) throws(ObjectError) -> Bool {
    guard let accessor = find(object, key, isSet: true), let write = accessor.write else {
      return false
    }
    if value == nil, accessor.isOfNumber {
      object.setNilValueForKey(key)
      return true
    }
    let call = Call(object, key, isSet: true, in: current)
    // What the accessor throws is thrown behind the task's value.
    let failure = $current.withValue(call) { () -> ObjectError? in
      do throws(ObjectError) { try write(object, value) } catch { return error }
      return nil
    }
    if let failure { throw failure }
    return true
  }

  private static func find(
    _ object: ManagedObject, _ key: String, isSet: Bool
  ) -> KeyedAccessor? {
    guard !all.isEmpty, let accessor = all.all(of: type(of: object))[key]?.last,
      current?.isOf(object, key, isSet: isSet) != true
    else { return nil }
    return accessor
  }
}

// MARK: Types

/// A type with a value or none.
private protocol OptionalType {
  static var wrapped: Any.Type { get }
  var content: Any? { get }
}

extension Optional: OptionalType {
  fileprivate static var wrapped: Any.Type { Wrapped.self }
  fileprivate var content: Any? { self }
}

/// Whether properties of a type are members for Objective-C: objects and what becomes one, optional or not, numbers, truth
/// values, and enumerations of integers.
private func isOfObjectiveC(_ type: Any.Type) -> Bool {
  if let optional = type as? any OptionalType.Type {
    let wrapped = optional.wrapped
    return !isNumber(wrapped) && !(wrapped is any OptionalType.Type) && isObject(wrapped)
  }
  return isNumber(type) || isObject(type) || isChoice(type)
}

private func isNumber(_ type: Any.Type) -> Bool {
  type is any BinaryInteger.Type || type is any BinaryFloatingPoint.Type || type == Bool.self
}

private func isObject(_ type: Any.Type) -> Bool {
  type is AnyClass || type == Any.self || type == AnyObject.self
    || type is any _ObjectiveCBridgeable.Type
}

private func isChoice(_ type: Any.Type) -> Bool {
  func isOfIntegers<Choice: RawRepresentable>(_ type: Choice.Type) -> Bool {
    Choice.RawValue.self is any FixedWidthInteger.Type
  }
  return (type as? any RawRepresentable.Type).map { isOfIntegers($0) } ?? false
}

/// What Core Data gives of a property's value: numbers as `NSNumber`, a case as its number.
private func foundationForm(_ value: Any) -> Any? {
  switch value {
  case let optional as any OptionalType: optional.content.flatMap(foundationForm)
  case let value as Bool where type(of: value as Any) == Bool.self: NSNumber(value: value)
  case let value as UInt64 where type(of: value as Any) == UInt64.self: NSNumber(value: value)
  case let value as any FixedWidthInteger: NSNumber(value: Int64(truncatingIfNeeded: value))
  case let value as Float where type(of: value as Any) == Float.self: NSNumber(value: value)
  case let value as any BinaryFloatingPoint: NSNumber(value: Double(value))
  case let value as any RawRepresentable where isChoice(type(of: value)):
    foundationForm(value.rawValue)
  default: value
  }
}

/// A value as the type that a property is declared with; nil where it is none of it.
private func declared<Value>(_ value: Any?, as type: Value.Type) -> Value? {
  let value = value is NSNull ? nil : value
  if let value = value as? Value { return value }
  if let value = foundationValue(value) as? Value { return value }
  if let number = foundationValue(value) as? NSNumber,
    let choices = type as? any RawRepresentable.Type
  {
    return choice(choices, number) as? Value
  }
  guard let objects = ManagedObject.objects(of: value) else { return nil }
  return objects as? Value ?? Set(objects) as? Value ?? NSSet(array: objects) as? Value
    ?? NSOrderedSet(array: objects) as? Value
}

private func choice<Choice: RawRepresentable>(_ type: Choice.Type, _ number: NSNumber) -> Any? {
  func raw<Raw: FixedWidthInteger>(_ type: Raw.Type) -> Any? { Raw(exactly: number.int64Value) }
  guard let integer = Choice.RawValue.self as? any FixedWidthInteger.Type,
    let value = raw(integer) as? Choice.RawValue
  else { return nil }
  return Choice(rawValue: value)
}
