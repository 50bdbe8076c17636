import Foundation
import Testing

@testable import SyncControl

@Suite struct JSONParserTests {
  @Test("Values are read as they are written")
  func values() throws {
    #expect(
      try JSONParser.parse(#" {"a":[1,-0.50e+3,true,false,null,"x"],"b":{}} "#)
        == .object([
          .init(
            name: "a",
            value: .array([
              .number("1"), .number("-0.50e+3"), .bool(true), .bool(false), .null, .string("x"),
            ])), .init(name: "b", value: .object([])),
        ]))
    #expect(
      try JSONParser.parse(#""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00""#)
        == .string("\"\\/\u{8}\u{c}\n\r\tA😀"))
  }

  @Test(
    "What is no JSON is refused",
    arguments: [
      "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "01", "-", "1.", ".5", "1e",
      "+1",
      "tru", "\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"",
      "\"\t\"",
      "1 2", "{\"a\":1,\"a\":2}", "NaN", "'a'", "[1 2]", "nulll", "\u{feff}1",
    ])
  func refused(text: String) {
    #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(text) }
  }

  @Test("Nesting is bounded, and bytes that are no UTF-8 are refused")
  func hostile() {
    let deep = String(repeating: "[", count: 100_000)
    #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(deep) }
    let bytes: [UInt8] = [0x22, 0xC3, 0x28, 0x22]
    let isRefused = bytes.withUnsafeBufferPointer { (try? JSONParser.parse($0)) == nil }
    #expect(isRefused)
  }

  /// The other way round does not hold: Foundation takes `[null,]` and duplicate names.
  @Test("What is read is JSON to Foundation's reader too, for random texts")
  func agreesWithFoundation() throws {
    var random = SystemRandomNumberGenerator()
    let pieces = [
      "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\\n\"", "1", "-2.5", "true", "null", " ", "0",
    ]
    var taken = 0
    for _ in 0..<20_000 {
      let count = Int.random(in: 1...8, using: &random)
      let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      guard (try? JSONParser.parse(text)) != nil else { continue }
      taken += 1
      #expect(throws: Never.self, "\(text)") {
        try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
      }
    }
    #expect(taken > 100)
  }

  @Test("Texts are compared by their bytes")
  func composition() {
    #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    #expect(JSONValue.array([.string("\u{E9}")]) != .array([.string("e\u{301}")]))
    #expect(JSONValue.string("\u{E9}") == .string("\u{E9}"))
    #expect(JSONValue.null != .bool(false))
  }
}
