package import Foundation

extension Decimal {
  /// The decimal that a whole text stands for: as numbers print themselves, "NaN" included. Nil for any other text, where
  /// Foundation reads "1.2x" as 1.2 and "NaN" not at all.
  package init?(wholeText text: String) {
    if text == "NaN" {
      self = .nan
      return
    }
    guard Self.isNumber(text), let value = Decimal(string: text) else { return nil }
    self = value
  }

  /// Whether a text is `-?DIGITS(.DIGITS)?(e[+-]?DIGITS)?`. Read byte by byte: this is asked of each decimal of a store.
  private static func isNumber(_ text: String) -> Bool {
    var bytes = text.utf8[...]
    func take(_ wanted: UInt8...) -> Bool {
      guard let first = bytes.first, wanted.contains(first) else { return false }
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
