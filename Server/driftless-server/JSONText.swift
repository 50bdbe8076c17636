import Foundation

/// How commands write times and identities, as JSON and for people.
enum JSONText {
  private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  /// ISO 8601 in UTC.
  static func time(_ milliseconds: Int64) -> String {
    // Years 1 … 9999: a database that was written by hand may say any.
    let told = min(max(-62_135_596_800_000, milliseconds), 253_402_300_799_999)
    return style.format(Date(timeIntervalSince1970: Double(told) / 1000))
  }

  static func id(_ id: UUID) -> String { id.uuidString.lowercased() }

  /// A span of time in words: its two largest units.
  static func span(_ milliseconds: Int64, times factor: UInt64 = 1) -> String {
    let seconds = milliseconds.magnitude / 1000 * factor
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60)
    if days > 0 { return "\(days) d \(hours) h" }
    if hours > 0 { return "\(hours) h \(minutes) min" }
    return minutes > 0 ? "\(minutes) min \(seconds % 60) s" : "\(seconds) s"
  }
}

/// What may not be known: JSON has its key all the same, with null.
@propertyWrapper
struct OrNull<Value: Encodable>: Encodable {
  var wrappedValue: Value?

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}
