import DriftlessProtocol
import Foundation
import TestSupport

/// Makes columns of every kind at random, with the values that codecs get wrong.
enum RandomColumn {
  static func make(
    rows: Int, objectCount: Int, kind: Int? = nil, hasLarge: Bool = false,
    _ numbers: inout SeededNumbers
  ) -> Column {
    let hasNulls = numbers.chance(30)
    let nulls = RowBitmap((0..<rows).filter { _ in hasNulls && numbers.chance(40) })
    func each<Value>(
      _ null: Value, _ numbers: inout SeededNumbers, _ make: (inout SeededNumbers) -> Value
    ) -> [Value] {
      (0..<rows).map { nulls.contains($0) ? null : make(&numbers) }
    }
    let values: Column.Values
    var large = RowBitmap()
    let kind = kind ?? numbers.number(below: 12)
    switch kind {
    case 0: values = .integers(each(0, &numbers, integer))
    case 1: values = .doubles(each(0, &numbers, double))
    case 2: values = .dates(each(0, &numbers, numbers.chance(80) ? date : double))
    case 3: values = .booleans(each(false, &numbers) { $0.chance(50) })
    case 4: values = .strings(ByteRows(each("", &numbers, text)))
    case 5: values = .decimals(ByteRows(each("", &numbers) { "\(integer(&$0)).5" }))
    case 6: values = .uris(ByteRows(each("", &numbers) { "urn:\(text(&$0))" }))
    case 7, 11:
      let rows = each(Data(), &numbers) { numbers in
        Data((0..<numbers.number(below: 9)).map { _ in UInt8.random(in: 0...255, using: &numbers) })
      }
      var cells = ByteRows()
      for (row, bytes) in rows.enumerated() {
        if hasLarge, !nulls.contains(row), numbers.chance(20),
          let value = LargeValue(of: bytes + Data(count: 41))
        {
          cells.append(Data(value.bytes))
          large.insert(row)
        } else {
          cells.append(bytes)
        }
      }
      values = kind == 7 ? .bytes(cells) : .sealed(cells)
    case 8: values = .uuids(each(Samples.minted, &numbers) { _ in UUID() })
    case 9:
      values = .references(
        each(Column.noReference, &numbers) { Int32($0.number(below: objectCount + 1)) - 1 })
    default:
      var elements = ElementRows()
      for _ in 0..<rows {
        elements.append(
          added: indexes(below: objectCount, &numbers),
          removed: indexes(below: objectCount, &numbers))
      }
      values = .elements(elements)
    }
    return Column(values, nulls: nulls, large: large)
  }

  static func integer(_ numbers: inout SeededNumbers) -> Int64 {
    switch numbers.number(below: 4) {
    case 0: [.min, .max, 0, -1, 127, 128, -64, -65].randomElement(using: &numbers) ?? 0
    case 1: Int64(bitPattern: numbers.next())
    default: Int64(numbers.number(below: 1_000))
    }
  }

  static func double(_ numbers: inout SeededNumbers) -> Double {
    switch numbers.number(below: 4) {
    case 0:
      [.nan, .signalingNaN, -.nan, .infinity, -.infinity, -0.0, .leastNonzeroMagnitude, 0.1]
        .randomElement(using: &numbers) ?? 0
    case 1: Double(bitPattern: numbers.next())
    default: Double(numbers.number(below: 1_000)) / 10
    }
  }

  static func date(_ numbers: inout SeededNumbers) -> Double {
    Double(800_000_000_000_000 + numbers.number(below: 1_000_000_000)) / 1e6
  }

  static func text(_ numbers: inout SeededNumbers) -> String {
    let characters: [Unicode.Scalar] = ["a", "é", "書", "🌊", "\u{0}", "\u{301}", "\u{202e}"]
    var text = String.UnicodeScalarView()
    for _ in 0..<numbers.number(below: 9) {
      text.append(characters[numbers.number(below: characters.count)])
    }
    return String(text)
  }

  private static func indexes(below count: Int, _ numbers: inout SeededNumbers) -> [Int32] {
    (0..<numbers.number(below: 4)).map { _ in Int32(numbers.number(below: count)) }
  }
}
