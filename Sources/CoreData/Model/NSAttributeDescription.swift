public import Driftless
import Foundation

extension AttributeDescription {
  /// The type under the name that Core Data first gave it.
  public var attributeType: NSAttributeType {
    get { NSAttributeType(type) }
    set {
      type = newValue.known
      // A default that came before the type was known.
      knownDefault = Self.fitting(knownDefault, type)
    }
  }

  /// The value of a new object; nil for none. A value of another type makes loading a store of the model fail.
  public var defaultValue: Any? {
    get {
      if let given = givenDefault as? Carried<Any> { return given.value }
      if case .data(let data) = knownDefault, type == .transformable {
        return value(inArchive: data)
      }
      return foundationValue(knownDefault.plain)
    }
    set {
      var archive: PropertyValue?
      if type == .transformable, let newValue, !(newValue is NSNull) {
        let bytes = valueTransformer?.data(of: newValue) ?? PlainArchive.data(of: newValue)
        archive = bytes.map(PropertyValue.data)
      }
      let value = archive ?? propertyValue(newValue) ?? Self.misfit(type)
      knownDefault = Self.fitting(value, type)
      if archive != nil, let newValue { givenDefault = Carried<Any>(newValue) }
    }
  }

  /// What a transformable attribute's bytes stand for; the bytes where nothing takes them.
  func value(inArchive data: Data) -> Any {
    isArchived ? PlainArchive.value(of: data) : valueTransformer?.value(of: data) ?? data
  }

  /// A value that an attribute of the type cannot have, in place of one that none can.
  private static func misfit(_ type: AttributeType) -> PropertyValue {
    type == .binaryData || type == .transformable ? .bool(false) : .data(Data())
  }

  /// A number as one of the type.
  private static func fitting(_ value: PropertyValue, _ type: AttributeType) -> PropertyValue {
    switch (value, type) {
    case (.integer(let number), .boolean): .bool(number != 0)
    case (.bool(let flag), .integer16), (.bool(let flag), .integer32),
      (.bool(let flag), .integer64):
      .integer(flag ? 1 : 0)
    case (.integer(let number), .double), (.integer(let number), .float): .double(Double(number))
    case (.bool(let flag), .double), (.bool(let flag), .float): .double(flag ? 1 : 0)
    case (.integer(let number), .decimal): .decimal(Decimal(number))
    case (.double(let number), .decimal):
      Decimal(wholeText: "\(number)").map { .decimal($0) } ?? value
    case (.double(let number), .integer16), (.double(let number), .integer32),
      (.double(let number), .integer64):
      Int64(exactly: number).map { .integer($0) } ?? value
    default: value
    }
  }
}
