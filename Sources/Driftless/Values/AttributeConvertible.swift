public import Foundation

/// A Swift type that an attribute's value is read and written as.
///
/// The library's own: `Bool`, the integers, `Double`, `Float`, `Decimal`, `String`, `Date`, `Data`,
/// `UUID`, `URL`, and optionals of these. An enumeration with one of these as its raw value needs
/// no more than the conformance:
///
/// ```swift
/// enum Genre: String, AttributeConvertible { case novel, poetry }
/// ```
public protocol AttributeConvertible: Sendable {
  /// The types of attributes whose values convert.
  static var attributeTypes: Set<AttributeType> { get }
  /// nil when the value is of another kind, or out of range.
  init?(propertyValue: PropertyValue)
  /// The value as the library keeps it.
  var propertyValue: PropertyValue { get }
}

/// A type with a value to show for an attribute that has none.
public protocol AttributeDefaulting: AttributeConvertible {
  /// What an object shows where it has none.
  static var attributeDefault: Self { get }
}

extension Bool: AttributeDefaulting {
  public static var attributeTypes: Set<AttributeType> { [.boolean] }
  public static var attributeDefault: Bool { false }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .bool(let value) = propertyValue else { return nil }
    self = value
  }

  @inlinable public var propertyValue: PropertyValue { .bool(self) }
}

extension String: AttributeDefaulting {
  public static var attributeTypes: Set<AttributeType> { [.string] }
  public static var attributeDefault: String { "" }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .string(let value) = propertyValue else { return nil }
    self = value
  }

  @inlinable public var propertyValue: PropertyValue { .string(self) }
}

extension Date: AttributeDefaulting {
  public static var attributeTypes: Set<AttributeType> { [.date] }
  public static var attributeDefault: Date { Date(timeIntervalSinceReferenceDate: 0) }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .date(let value) = propertyValue else { return nil }
    self = value
  }

  @inlinable public var propertyValue: PropertyValue { .date(self) }
}

extension Data: AttributeDefaulting {
  public static var attributeTypes: Set<AttributeType> { [.binaryData, .transformable] }
  public static var attributeDefault: Data { Data() }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .data(let value) = propertyValue else { return nil }
    self = value
  }

  @inlinable public var propertyValue: PropertyValue { .data(self) }
}

extension UUID: AttributeDefaulting {
  public static var attributeTypes: Set<AttributeType> { [.uuid] }
  public static var attributeDefault: UUID {
    UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .uuid(let value) = propertyValue else { return nil }
    self = value
  }

  @inlinable public var propertyValue: PropertyValue { .uuid(self) }
}

extension URL: AttributeDefaulting {
  public static var attributeTypes: Set<AttributeType> { [.uri] }
  public static var attributeDefault: URL { URL(filePath: "/") }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .uri(let value) = propertyValue else { return nil }
    self = value
  }

  @inlinable public var propertyValue: PropertyValue { .uri(self) }
}

extension Optional: AttributeConvertible where Wrapped: AttributeConvertible {
  public static var attributeTypes: Set<AttributeType> { Wrapped.attributeTypes }

  @inlinable public init?(propertyValue: PropertyValue) {
    if case .null = propertyValue {
      self = .none
      return
    }
    guard let value = Wrapped(propertyValue: propertyValue) else { return nil }
    self = .some(value)
  }

  @inlinable public var propertyValue: PropertyValue {
    switch self {
    case .none: .null
    case .some(let value): value.propertyValue
    }
  }
}

extension Optional: AttributeDefaulting where Wrapped: AttributeConvertible {
  public static var attributeDefault: Wrapped? { nil }
}

extension AttributeConvertible where Self: RawRepresentable, RawValue: AttributeConvertible {
  public static var attributeTypes: Set<AttributeType> { RawValue.attributeTypes }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard let raw = RawValue(propertyValue: propertyValue) else { return nil }
    self.init(rawValue: raw)
  }

  @inlinable public var propertyValue: PropertyValue { rawValue.propertyValue }
}

// MARK: Numbers

extension AttributeConvertible where Self: FixedWidthInteger {
  public static var attributeTypes: Set<AttributeType> { [.integer16, .integer32, .integer64] }
  public static var attributeDefault: Self { 0 }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .integer(let value) = propertyValue else { return nil }
    self.init(exactly: value)
  }
}

extension Int: AttributeDefaulting {
  @inlinable public var propertyValue: PropertyValue { .integer(Int64(self)) }
}

extension Int64: AttributeDefaulting {
  @inlinable public var propertyValue: PropertyValue { .integer(self) }
}

extension Int32: AttributeDefaulting {
  @inlinable public var propertyValue: PropertyValue { .integer(Int64(self)) }
}

extension Int16: AttributeDefaulting {
  @inlinable public var propertyValue: PropertyValue { .integer(Int64(self)) }
}

extension Double: AttributeDefaulting {
  public static var attributeTypes: Set<AttributeType> { [.double, .float] }
  public static var attributeDefault: Double { 0 }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .double(let value) = propertyValue else { return nil }
    self = value
  }

  @inlinable public var propertyValue: PropertyValue { .double(self) }
}

extension Float: AttributeDefaulting {
  public static var attributeTypes: Set<AttributeType> { [.float, .double] }
  public static var attributeDefault: Float { 0 }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .double(let value) = propertyValue else { return nil }
    self.init(value)
  }

  @inlinable public var propertyValue: PropertyValue { .double(Double(self)) }
}

extension Decimal: AttributeDefaulting {
  public static var attributeTypes: Set<AttributeType> { [.decimal] }
  public static var attributeDefault: Decimal { 0 }

  @inlinable public init?(propertyValue: PropertyValue) {
    guard case .decimal(let value) = propertyValue else { return nil }
    self = value
  }

  @inlinable public var propertyValue: PropertyValue { .decimal(self) }
}
