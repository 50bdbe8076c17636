package import Foundation

/// Bytes that sort as the decimal numbers do that they stand for.
///
/// The store keeps a decimal as a double where that is exact, else as text; its own order would
/// put every text behind every number. Layout: a sign byte (0 negative, 1 zero, 2 positive), the
/// position of the decimal point, and the digits without zeros at the ends; all bytes behind
/// the sign are inverted for a negative number, which ends with 0xFF so that the shorter is the
/// larger.
package enum DecimalKey {
  /// nil for NaN.
  package static func bytes(of decimal: Decimal) -> Data? {
    decimal.isNaN ? nil : bytes(ofNumber: decimal.wholeText)
  }

  /// The key of a double by its shortest decimal text; nil for NaN.
  package static func bytes(of double: Double) -> Data? {
    guard double.isInfinite else { return double.isNaN ? nil : bytes(ofNumber: "\(double)") }
    return key(isNegative: double < 0, place: .max, digits: [])
  }

  /// - Parameter text: digits with a point or an exponent or both, as numbers print themselves.
  private static func bytes(ofNumber text: String) -> Data {
    var digits = Array(text.utf8)
    var exponent = 0
    if let mark = digits.firstIndex(of: UInt8(ascii: "e")) {
      exponent = Int(String(decoding: digits[(mark + 1)...], as: UTF8.self)) ?? 0
      digits.removeSubrange(mark...)
    }
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits.removeFirst() }
    var point = digits.count
    if let dot = digits.firstIndex(of: UInt8(ascii: ".")) {
      digits.remove(at: dot)
      point = dot
    }
    let leading = digits.prefix { $0 == UInt8(ascii: "0") }.count
    digits.removeFirst(leading)
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    if digits.isEmpty { return Data([1]) }
    // A double's exponent lies within 324 of 0, a decimal's within 128: the place fits with room.
    let place = UInt16(clamping: point - leading + exponent + 0x4000)
    return key(isNegative: isNegative, place: place, digits: digits)
  }

  /// The number of a key; nil for bytes that are none, and for an infinite one.
  static func decimal(of key: Data) -> Decimal? {
    guard let sign = key.first else { return nil }
    if sign == 1 { return 0 }
    var body = Array(key.dropFirst())
    if sign == 0 { body = body.dropLast().map { ~$0 } }
    guard body.count > 2 else { return nil }
    let exponent = Int(body[0]) << 8 + Int(body[1]) - 0x4000 - (body.count - 2)
    let digits = String(decoding: body[2...], as: UTF8.self)
    return Decimal(string: (sign == 0 ? "-" : "") + digits + "e\(exponent)")
  }

  private static func key(isNegative: Bool, place: UInt16, digits: [UInt8]) -> Data {
    let body = [UInt8(place >> 8), UInt8(place & 0xFF)] + digits
    return isNegative ? Data([0] + body.map { ~$0 } + [0xFF]) : Data([2] + body)
  }
}
