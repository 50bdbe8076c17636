import Foundation

/// Bytes that sort as the decimal numbers do that they stand for.
///
/// The store keeps a decimal as a double where that is exact, else as text; its own comparison would
/// put every text behind every number. Layout: a sign byte (0 negative, 1 zero, 2 positive), the
/// position of the decimal point, and the digits without zeros at the ends; all bytes behind
/// the sign are inverted for a negative number, which ends with 0xFF so that the shorter is the
/// larger.
enum DecimalKey {
  /// nil for NaN.
  static func bytes(of decimal: Decimal) -> Data? {
    guard !decimal.isNaN else { return nil }
    guard !decimal.isZero else { return Data([1]) }
    let isNegative = decimal.sign == .minus
    var digits = Array("\(decimal.magnitude)".utf8)
    var point = digits.count
    if let dot = digits.firstIndex(of: UInt8(ascii: ".")) {
      digits.remove(at: dot)
      point = dot
    }
    let leading = digits.prefix { $0 == UInt8(ascii: "0") }.count
    digits.removeFirst(leading)
    point -= leading
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    // Decimal's exponent lies in -128...127 with 38 digits: the point fits 16 bits with room.
    let place = UInt16(truncatingIfNeeded: point + 0x4000)
    let body = [UInt8(place >> 8), UInt8(place & 0xFF)] + digits
    return isNegative ? Data([0] + body.map { ~$0 } + [0xFF]) : Data([2] + body)
  }

  /// The key of a double by its shortest decimal text; nil for NaN and values beyond Decimal's
  /// range.
  static func bytes(of double: Double) -> Data? {
    guard double.isFinite, let decimal = Decimal(string: "\(double)") else { return nil }
    return bytes(of: decimal)
  }
}
