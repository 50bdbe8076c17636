public import Foundation

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
