import Driftless
import DriftlessTesting
import Foundation
import Testing

@testable import DriftlessSync

/// What is sealed is read as it was, and no bytes whatever are read as what they are not.
struct PlainValueTests {
  private static func value(_ generator: inout SeededGenerator) -> PropertyValue {
    let word = generator.next()
    let scalars = ["a", "é", "書", "🌊", "\u{0}", "\u{301}", "\u{202e}"]
    let text = (0..<Int(word % 12)).map { _ in scalars[Int(generator.next() % 7)] }.joined()
    switch generator.next() % 9 {
    case 0: return .integer(Int64(bitPattern: word))
    case 1: return .double(Double(bitPattern: word))
    case 2:
      return .date(Date(timeIntervalSinceReferenceDate: Double(Int64(bitPattern: word) >> 20) / 8))
    case 3: return .bool(word % 2 == 0)
    case 4: return .string(text)
    case 5: return .data(Data(text.utf8) + withUnsafeBytes(of: word) { Data($0) })
    case 6: return .decimal(Decimal(Int64(bitPattern: word)) / 1_000_000)
    case 7: return URL(string: "https://example.com/\(word)").map { .uri($0) } ?? .null
    default: return .uuid(UUID())
    }
  }

  @Test(
    "Values of every type at random come back bit for bit", arguments: 1...40 as ClosedRange<UInt64>
  )
  func random(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let value = Self.value(&generator)
      let bytes = try #require(PlainValue.bytes(of: value))
      let back = try #require(PlainValue.value(bytes), "\(value)")
      if case .double(let wanted) = value, case .double(let found) = back {
        #expect(found.bitPattern == wanted.bitPattern)
      } else {
        #expect(back == value)
      }
      #expect(PlainValue.bytes(of: back) == bytes)
    }
  }

  @Test("Null and references have no bytes, and any bytes give a value that has these, or none")
  func hostile() throws {
    #expect(PlainValue.bytes(of: .null) == nil)
    #expect(PlainValue.bytes(of: .reference(ObjectKey(entity: 1, key: 1))) == nil)
    var generator = SeededGenerator(seed: 7)
    for length in 0..<400 {
      var bytes = (0..<length % 20).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      if !bytes.isEmpty { bytes[0] %= 12 }
      guard let value = PlainValue.value(bytes) else { continue }
      // Of decimals and addresses there are texts that are another's.
      if bytes[0] != 7, bytes[0] != 8 { #expect(PlainValue.bytes(of: value) == bytes) }
    }
    #expect(PlainValue.value([5, 0xff]) == nil && PlainValue.value([4, 2]) == nil)
    #expect(PlainValue.value([7] + Array("no number".utf8)) == .string("no number"))
  }

  @Test("A cell on its way is taken for no value by any type of attribute")
  func wrapped() throws {
    let value = SealedValue.value(ofCell: [1, 2, 3])
    #expect(SealedValue.cell(in: value) == [1, 2, 3])
    #expect(SealedValue.cell(in: .data(Data([1, 2, 3]))) == nil)
    #expect(SealedValue.cell(in: .data(Data())) == nil)
    let model = shopModel()
    try model.freeze()
    let item = try #require(model.entitiesByName["Item"])
    for slot in item.layout.slots {
      guard let standIn = StandIn(slot) else { continue }
      #expect(standIn.refusal(of: value) != nil, "\(slot.name)")
      #expect(!standIn.crosses(value), "\(slot.name)")
    }
  }
}
