import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Decimals that are read and written digit by digit are those of Foundation.
@Suite struct DecimalTextTests {
  private func check(_ text: String) throws {
    guard let expected = Decimal(string: text) else {
      #expect(Decimal(wholeText: text) == nil, "\(text)")
      return
    }
    if let short = Decimal(shortText: text) {
      #expect(short == expected, "\(text)")
      #expect(short.hashValue == expected.hashValue, "\(text)")
      #expect(short.description == expected.description, "\(text)")
    }
    #expect(expected.wholeText == expected.description, "\(text)")
    if let double = expected.shortDouble {
      #expect(double == Double(expected.description), "\(text)")
      #expect(Decimal(string: "\(double)") == expected, "\(text)")
    }
  }

  @Test("Numbers at the bounds of what is short")
  func bounds() throws {
    for text in [
      "0", "-0", "0.0", "-0.00", "00", "1.50", "100", "-100.00", "0.001", "-0.1", "3400000",
      "999999999999999", "1000000000000000", "999999999999999.9", "123456789012345678",
      "0.000000000000000001", "0.0000000000000000001", "1234567890123456789", "1e5", "1.5e-3",
      "99999999999999999999999999999999999999",
    ] {
      try check(text)
    }
    for text in ["0", "-12.5", "0.001", "123456789012345678"] {
      #expect(Decimal(shortText: text) != nil, "\(text)")
    }
    #expect(Decimal.nan.wholeText == Decimal.nan.description)
    #expect(Decimal.nan.shortDouble == nil)
    #expect(Decimal(string: "12.5")?.shortDouble == 12.5)
  }

  @Test(
    "What is no number is none",
    arguments: ["", "-", ".", "1.", ".5", "1.2.3", "--1", "1 ", "+1", "1x", "١"])
  func refused(text: String) {
    #expect(Decimal(shortText: text) == nil)
    #expect(Decimal(wholeText: text) == nil)
  }

  @Test("Any digits with a point anywhere")
  func random() throws {
    var numbers = SeededNumbers(seed: 11)
    for _ in 0..<20_000 {
      var text = numbers.chance(50) ? "-" : ""
      let point = numbers.number(below: 24)
      for place in 0...numbers.number(below: 20) {
        if place == point, place > 0 { text += "." }
        text += numbers.chance(40) ? "0" : "\(numbers.number(below: 10))"
      }
      try check(text)
    }
  }
}
