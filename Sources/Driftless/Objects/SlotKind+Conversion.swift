import Foundation

/// Values as callers pass them by name, brought into a slot's own type.
extension SlotKind {
  /// The value if it fits without loss; nil if not.
  ///
  /// Foundation's classes count as the Swift types that they stand for: code that comes from Core Data passes them.
  func value(of plain: Any) -> PropertyValue? {
    Self.value(of: plain).flatMap(fitting)
  }

  /// A value of the very type that the slot's kind has, which most are: told by the type alone, since to ask a value whether it is
  /// optional, and for a protocol, costs some ten times as much. Nil for all others, which ``value(of:)`` looks at.
  func common(_ plain: Any) -> PropertyValue? {
    let type = type(of: plain)
    switch self {
    case .string where type == String.self: return (plain as? String).map { .string($0) }
    case .integer64 where type == Int64.self: return (plain as? Int64).map { .integer($0) }
    case .integer16 where type == Int16.self: return (plain as? Int16).map { .integer(Int64($0)) }
    case .integer32 where type == Int32.self: return (plain as? Int32).map { .integer(Int64($0)) }
    case .integer64 where type == Int.self: return (plain as? Int).map { .integer(Int64($0)) }
    case .double where type == Double.self: return (plain as? Double).map { .double($0) }
    case .bool where type == Bool.self: return (plain as? Bool).map { .bool($0) }
    case .date where type == Date.self: return (plain as? Date).map { .date($0) }
    case .uuid where type == UUID.self: return (plain as? UUID).map { .uuid($0) }
    default: return nil
    }
  }

  private static func value(of plain: Any) -> PropertyValue? {
    switch plain {
    case let value as PropertyValue: return value
    case let value as any AttributeConvertible: return value.propertyValue
    case let value as any BinaryInteger: return Int64(exactly: value).map { .integer($0) }
    case let value as any StringProtocol: return .string(String(value))
    case let value as NSString: return .string(String(describing: value))
    case let value as NSDecimalNumber: return .decimal(value.decimalValue)
    case let value as NSNumber: return number(value)
    case let value as NSDate:
      return .date(Date(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate))
    case let value as NSData: return .data(Data(referencing: value))
    case let value as NSUUID: return UUID(uuidString: value.uuidString).map { .uuid($0) }
    case let value as NSURL: return URL(string: value.absoluteString).map { .uri($0) }
    default: return nil
    }
  }

  private static func number(_ number: NSNumber) -> PropertyValue? {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): .double(number.doubleValue)
    case UInt8(ascii: "Q"): Int64(exactly: number.uint64Value).map { .integer($0) }
    default: .integer(number.int64Value)
    }
  }

  /// A number as the slot's kind of number; any other value as it is, if the slot takes it.
  private func fitting(_ value: PropertyValue) -> PropertyValue? {
    let converted: PropertyValue?
    switch (self, value) {
    case (.bool, .integer(let number)) where number == 0 || number == 1:
      converted = .bool(number == 1)
    case (.integer16, .double(let number)), (.integer32, .double(let number)),
      (.integer64, .double(let number)):
      converted = Int64(exactly: number).map { .integer($0) }
    case (.integer16, .decimal(let number)), (.integer32, .decimal(let number)),
      (.integer64, .decimal(let number)):
      converted = Int64(number.description).map { .integer($0) }
    case (.double, .integer(let number)): converted = Double(exactly: number).map { .double($0) }
    case (.double, .decimal(let number)):
      // What prints as the same digits is the same number to whoever wrote it.
      converted = Double(number.description).flatMap {
        Self.decimal($0) == number ? .double($0) : nil
      }
    case (.decimal, .integer(let number)): converted = .decimal(Decimal(number))
    case (.decimal, .double(let number)): converted = Self.decimal(number).map { .decimal($0) }
    default: converted = value
    }
    return converted.flatMap { accepts($0) ? $0 : nil }
  }

  private static func decimal(_ number: Double) -> Decimal? {
    guard number.isFinite else { return nil }
    return Decimal(string: number.description, locale: Locale(identifier: "en_US_POSIX"))
  }
}
