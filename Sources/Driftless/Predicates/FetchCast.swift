import Foundation

/// The types that `CAST` converts to. The raw values are how format strings write them.
public enum FetchCast: String, Hashable, Sendable, CaseIterable {
  /// Of a number: seconds since 2001.
  case date = "NSDate"
  /// Of a date: seconds since 2001. Of a text: the number that it spells.
  case number = "NSNumber"
  case decimal = "NSDecimalNumber"
  /// Of a number, UUID or URL.
  case string = "NSString"
  case uuid = "NSUUID"
  case url = "NSURL"
  /// Of a text: the bytes that it spells in Base64.
  case data = "NSData"

  /// Reads `NSDate` and `Date` alike.
  init?(name: String) {
    let bare = name.hasPrefix("NS") ? String(name.dropFirst(2)) : name
    switch bare {
    case "Decimal": self = .decimal
    case "Int", "Double": self = .number
    default: self.init(rawValue: "NS" + bare)
    }
  }

  /// Whether values of the kind convert at all.
  func takes(_ kind: ValueKind) -> Bool {
    switch (kind, self) {
    case (.number, .date), (.number, .number), (.number, .decimal), (.number, .string): true
    case (.decimal, .number), (.decimal, .decimal), (.decimal, .string): true
    case (.date, .date), (.date, .number): true
    case (.text, .date), (.data, .date), (.uuid, .date), (.reference, _): false
    case (.text, _): true
    case (.uuid, .uuid), (.uuid, .string), (.data, .data): true
    default: false
    }
  }

  /// The value as that type; null when the text spells none.
  func apply(to value: PropertyValue) throws(FetchError) -> PropertyValue {
    guard let kind = value.kind else { return .null }
    guard takes(kind) else {
      throw FetchError(
        .typeMismatch, "CAST cannot make a \(rawValue) of \(kind.name)",
        suggestion: "Numbers become dates, decimals and texts; texts become any but dates.")
    }
    switch (self, value) {
    case (.date, .date), (.decimal, .decimal), (.uuid, .uuid), (.data, .data): return value
    case (.date, _):
      return value.number.map { .date(Date(timeIntervalSinceReferenceDate: $0)) } ?? .null
    case (.number, .date(let date)): return .double(date.timeIntervalSinceReferenceDate)
    case (.number, .string(let text)), (.decimal, .string(let text)): return number(text)
    case (.number, .uri), (.decimal, .uri): return .null
    case (.number, _):
      return value.wholeNumber.map { .integer($0) } ?? value.number.map { .double($0) } ?? .null
    case (.decimal, _):
      if let whole = value.wholeNumber { return .decimal(Decimal(whole)) }
      return value.number.flatMap { Decimal(string: "\($0)") }.map { .decimal($0) } ?? .null
    case (.string, _): return .string(Self.text(value))
    case (.url, _): return value.text.flatMap(URL.init(string:)).map { .uri($0) } ?? .null
    case (.uuid, _): return value.text.flatMap(UUID.init(uuidString:)).map { .uuid($0) } ?? .null
    case (.data, _):
      return value.text.flatMap { Data(base64Encoded: $0) }.map { .data($0) } ?? .null
    }
  }

  private func number(_ text: String) -> PropertyValue {
    guard let number = Double(text), number.isFinite else { return .null }
    if self == .number { return Int64(text).map { .integer($0) } ?? .double(number) }
    return Decimal(string: text).map { .decimal($0) } ?? .null
  }

  private static func text(_ value: PropertyValue) -> String {
    if let text = value.text { return text }
    if let whole = value.wholeNumber { return "\(whole)" }
    switch value {
    case .double(let number):
      return Int64(exactly: number).flatMap { $0.magnitude < 1 << 53 ? "\($0)" : nil }
        ?? "\(number)"
    case .decimal(let number): return "\(number)"
    case .uuid(let uuid): return uuid.uuidString
    default: return ""
    }
  }
}
