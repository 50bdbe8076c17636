import Driftless
import Foundation
import Testing

@Suite("Sortable keys of decimal numbers")
struct DecimalKeyTests {
  @Test("Keys sort as the numbers do")
  func order() throws {
    let texts = [
      "-12345678901234567890.5", "-100", "-99.99", "-1.5", "-1.25", "-1.2", "-1", "-0.5", "-0.05",
      "-0.049", "0", "0.0001", "0.001", "0.0012", "0.1", "0.12", "1", "1.2", "1.25", "9", "10",
      "99.99", "100", "12345678901234567890.123", "12345678901234567890.1231",
    ]
    let keys = texts.compactMap { Decimal(string: $0).flatMap(DecimalKey.bytes(of:)) }
    #expect(keys.count == texts.count)
    for (left, right) in zip(keys, keys.dropFirst()) {
      #expect(left.lexicographicallyPrecedes(right))
    }
  }

  @Test("A double has the key of its shortest text, at all magnitudes")
  func doubles() throws {
    let numbers = [
      -Double.infinity, -1e300, -1e20, -2.5, -Double.leastNonzeroMagnitude, 0,
      .leastNonzeroMagnitude, 1e-7, 0.1, 12.3, 1e16, 1.5e16, 1e300,
      .greatestFiniteMagnitude, .infinity,
    ]
    let keys = numbers.compactMap(DecimalKey.bytes(of:))
    #expect(keys.count == numbers.count)
    for (left, right) in zip(keys, keys.dropFirst()) {
      #expect(left.lexicographicallyPrecedes(right))
    }
    for text in ["12.3", "0.1", "-2.5", "10000000000000000", "0", "0.0000001"] {
      let decimal = Decimal(string: text).flatMap(DecimalKey.bytes(of:))
      #expect(decimal == Double(text).flatMap(DecimalKey.bytes(of:)), "\(text)")
    }
    #expect(DecimalKey.bytes(of: Double.nan) == nil)
    #expect(DecimalKey.bytes(of: Decimal.nan) == nil)
    #expect(DecimalKey.bytes(of: -0.0) == DecimalKey.bytes(of: Decimal(0)))
  }
}
