package import Foundation

/// Decimals and their texts. Foundation takes microseconds for either way, and a store reads and writes each decimal by its
/// text; the short ones, which nearly all are, are told here digit by digit.
extension Decimal {
  /// The decimal that a whole text stands for: as numbers print themselves, "NaN" included. Nil for any other text, where
  /// Foundation reads "1.2x" as 1.2 and "NaN" not at all.
  package init?(wholeText text: String) {
    if let value = Self(shortText: text) {
      self = value
      return
    }
    if text == "NaN" {
      self = .nan
      return
    }
    guard Self.isNumber(text), let value = Decimal(string: text) else { return nil }
    self = value
  }

  /// The decimal of `-?DIGITS(.DIGITS)?` with at most 18 digits; nil for any other text, a longer number too.
  package init?(shortText text: String) {
    var text = text
    guard let value = text.withUTF8({ Decimal(shortText: $0) }) else { return nil }
    self = value
  }

  /// As above, of UTF-8.
  package init?(shortText bytes: UnsafeBufferPointer<UInt8>) {
    var (digits, count, decimals) = (UInt64(0), 0, 0)
    var point: Int?
    let isNegative = bytes.first == UInt8(ascii: "-")
    let start = isNegative ? 1 : 0
    for place in start..<max(start, bytes.count) {
      let byte = bytes[place]
      if byte == UInt8(ascii: "."), point == nil, count > 0 {
        point = place
        continue
      }
      guard UInt8(ascii: "0") <= byte, byte <= UInt8(ascii: "9"), count < Self.shortDigitsMax else {
        return nil
      }
      digits = digits * 10 + UInt64(byte - UInt8(ascii: "0"))
      count += 1
      if point != nil { decimals += 1 }
    }
    guard count > 0, point == nil || decimals > 0 else { return nil }
    // Zero has no sign: its bits with one are those of NaN.
    self =
      digits == 0
      ? Decimal()
      : Decimal(
        sign: isNegative ? .minus : .plus, exponent: -decimals, significand: Decimal(digits))
  }

  /// What `description` says.
  package var wholeText: String {
    guard let short = shortNumber else { return description }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(2 * Self.shortDigitsMax)
    var rest = short.digits
    // From the last digit to the first.
    for _ in 0..<max(0, short.exponent) { bytes.append(UInt8(ascii: "0")) }
    var decimals = max(0, -short.exponent)
    while rest > 0 || decimals > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
      if decimals > 0 {
        decimals -= 1
        if decimals == 0 {
          bytes.append(UInt8(ascii: "."))
          if rest == 0 { bytes.append(UInt8(ascii: "0")) }
        }
      }
    }
    if short.isNegative { bytes.append(UInt8(ascii: "-")) }
    bytes.reverse()
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The nearest double of a number of at most 15 digits, which names it; nil for others. Digits and power of ten are exact
  /// as doubles, so that one rounding gives it.
  var shortDouble: Double? {
    guard let short = shortNumber else { return nil }
    let power = Self.powersOfTen[abs(short.exponent)]
    let digits = Double(short.digits)
    let number = short.exponent < 0 ? digits / power : digits * power
    guard digits < 1e15, number < 1e15 else { return nil }
    return short.isNegative ? -number : number
  }

  private static let shortDigitsMax = 18
  private static let powersOfTen = (0...shortDigitsMax).map { Double("1e\($0)") ?? .nan }

  private typealias ShortNumber = (isNegative: Bool, digits: UInt64, exponent: Int)

  /// Digits and exponent of a number that `shortText` reads; nil for zero, NaN and longer ones.
  private var shortNumber: ShortNumber? {
    guard Self.hasKnownBits, !isNaN, (-Self.shortDigitsMax...12).contains(exponent) else {
      return nil
    }
    let (digits, isMore) = lowDigits
    // One that ends with zeros behind the point prints without them.
    guard !isMore, digits > 0, digits < 1_000_000_000_000_000_000,
      exponent >= 0 || digits % 10 != 0
    else { return nil }
    return (isNegative: sign == .minus, digits: digits, exponent: exponent)
  }

  /// The lowest 64 bits of the digits, and whether there are others: Foundation hands them out as another decimal alone.
  private var lowDigits: (UInt64, isMore: Bool) {
    withUnsafeBytes(of: self) { bytes in
      let low = bytes.loadUnaligned(fromByteOffset: 4, as: UInt64.self)
      let high = bytes.loadUnaligned(fromByteOffset: 12, as: UInt64.self)
      return (UInt64(littleEndian: low), high != 0)
    }
  }

  /// Whether a decimal's bits lie where `lowDigits` looks for them: two numbers tell.
  private static let hasKnownBits: Bool = {
    guard MemoryLayout<Decimal>.size == 20 else { return false }
    let digits: UInt64 = 0x0102_0304_0506_0709
    let low = Decimal(sign: .minus, exponent: -3, significand: Decimal(digits)).lowDigits
    let high = (Decimal(digits) * Decimal(digits)).lowDigits
    return low == (digits, isMore: false) && high.isMore
  }()

  /// Whether a text is `-?DIGITS(.DIGITS)?(e[+-]?DIGITS)?`. Read byte by byte: this is asked of each decimal of a store.
  private static func isNumber(_ text: String) -> Bool {
    var bytes = text.utf8[...]
    func take(_ wanted: UInt8, _ other: UInt8? = nil) -> Bool {
      guard let first = bytes.first, first == wanted || first == other else { return false }
      bytes.removeFirst()
      return true
    }
    func takeDigits() -> Bool {
      let rest = bytes.drop { UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") }
      defer { bytes = rest }
      return rest.startIndex != bytes.startIndex
    }
    _ = take(UInt8(ascii: "-"))
    guard takeDigits() else { return false }
    if take(UInt8(ascii: ".")), !takeDigits() { return false }
    if take(UInt8(ascii: "e"), UInt8(ascii: "E")) {
      _ = take(UInt8(ascii: "+"), UInt8(ascii: "-"))
      guard takeDigits() else { return false }
    }
    return bytes.isEmpty
  }
}
