import Foundation
import TestSupport

/// Changes of bytes and of words, drawn by a seed.
enum Mutant {
  /// What sizes and counts are like that nobody expects.
  private static let extremes: [UInt64] = [
    0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff,
    0x7fff_ffff_ffff_ffff, 0x8000_0000_0000_0000, .max,
  ]
  /// No mutant is larger, but for what its sample was.
  private static let bytesMax = 1 << 20

  /// Of a word that is repeated, no more bytes.
  private static let textMax = 100_000

  /// A few changes of bytes.
  ///
  /// - Parameter other: What pieces are taken from as well.
  static func bytes(
    of sample: Data, with other: Data, words: [String], _ numbers: inout SeededNumbers
  ) -> Data {
    var bytes = Array(sample)
    let pieces = Array(other)
    for _ in 0...numbers.number(below: 4) where !bytes.isEmpty {
      change(&bytes, pieces, words, &numbers)
    }
    return Data(bytes)
  }

  private static func change(
    _ bytes: inout [UInt8], _ other: [UInt8], _ words: [String], _ numbers: inout SeededNumbers
  ) {
    let place = numbers.number(below: bytes.count)
    switch numbers.number(below: 11) {
    case 0: bytes[place] ^= 1 << UInt8(numbers.number(below: 8))
    case 1: bytes[place] = UInt8.random(in: .min ... .max, using: &numbers)
    case 2: bytes[place] = numbers.chance(50) ? 0 : 0xff
    case 3:
      let more = (0...numbers.number(below: 8)).map { _ in
        UInt8.random(in: .min ... .max, using: &numbers)
      }
      bytes.insert(contentsOf: more, at: place)
    case 4: bytes.removeSubrange(place..<min(bytes.count, place + 1 + numbers.number(below: 16)))
    case 5: bytes.insert(contentsOf: slice(bytes, &numbers), at: place)
    case 6: bytes.insert(contentsOf: slice(other, &numbers), at: place)
    case 7: bytes.removeSubrange(place...)
    case 8:
      let width = [1, 2, 4, 8][numbers.number(below: 4)]
      let value = extremes[numbers.number(below: extremes.count)]
      for index in 0..<min(width, bytes.count - place) {
        bytes[place + index] = UInt8(truncatingIfNeeded: value >> UInt64((width - 1 - index) * 8))
      }
    case 9:
      let piece = slice(bytes, &numbers)
      let times = [2, 10, 100, 10_000][numbers.number(below: 4)]
      let count = min(times, bytesMax / max(1, piece.count))
      bytes.insert(contentsOf: (0..<count).flatMap { _ in piece }, at: place)
    default:
      guard !words.isEmpty else { return }
      bytes.insert(contentsOf: words[numbers.number(below: words.count)].utf8, at: place)
    }
  }

  private static func slice(_ bytes: [UInt8], _ numbers: inout SeededNumbers) -> ArraySlice<UInt8> {
    guard !bytes.isEmpty else { return [] }
    let start = numbers.number(below: bytes.count)
    return bytes[start..<min(bytes.count, start + 1 + numbers.number(below: 64))]
  }

  // MARK: Property lists

  /// Lets an object of a binary property list be another one, or refer to another one: what is of the wrong kind then, or holds
  /// itself, has the right form.
  static func objects(of sample: Data, _ numbers: inout SeededNumbers) -> Data {
    var bytes = Array(sample)
    guard bytes.count > 40 else { return sample }
    func number(_ place: Int, _ width: Int) -> Int {
      bytes[place..<place + width].reduce(0) { $0 << 8 | Int($1) }
    }
    let trailer = bytes.count - 32
    let (width, count, table) = (
      Int(bytes[trailer + 6]), number(trailer + 12, 4), number(trailer + 28, 4)
    )
    guard count > 1, width > 0, table + count * width <= trailer else { return sample }
    for _ in 0...numbers.number(below: 3) {
      let (one, two) = (numbers.number(below: count), numbers.number(below: count))
      if numbers.chance(60) {
        for index in 0..<width {
          bytes[table + one * width + index] = bytes[table + two * width + index]
        }
      } else {
        // Somewhere in what an object holds: a reference, a length, or a piece of a text.
        let start = number(table + one * width, width)
        let place = start + 1 + numbers.number(below: 12)
        if place < table { bytes[place] = UInt8(truncatingIfNeeded: two) }
      }
    }
    return Data(bytes)
  }

  // MARK: Words

  /// A few changes of words: other ones, more of them, their order, and a great number of one.
  static func text(
    of sample: String, with other: String, words: [String], _ numbers: inout SeededNumbers
  ) -> String {
    var tokens = Self.tokens(of: sample)
    let pieces = Self.tokens(of: other)
    for _ in 0...numbers.number(below: 3) where !tokens.isEmpty {
      let place = numbers.number(below: tokens.count)
      switch numbers.number(below: 8) {
      case 0: tokens.remove(at: place)
      case 1: tokens.insert(words[numbers.number(below: words.count)], at: place)
      case 2: tokens[place] = words[numbers.number(below: words.count)]
      case 3: tokens.swapAt(place, numbers.number(below: tokens.count))
      case 4: tokens.insert(pieces[numbers.number(below: pieces.count)], at: place)
      case 5: tokens = Array(tokens.prefix(place)) + pieces.suffix(numbers.number(below: 20))
      case 6:
        let times = [2, 50, 600, 20_000][numbers.number(below: 4)]
        let count = min(times, textMax / max(1, tokens[place].utf8.count))
        tokens.insert(contentsOf: (0..<count).map { _ in tokens[place] }, at: place)
      default:
        let times = [1, 60, 200, 5_000][numbers.number(below: 4)]
        let (open, close) = [("(", ")"), ("{", "}"), ("NOT (", ")"), ("-(", ")")][
          numbers.number(below: 4)]
        tokens.insert(String(repeating: close, count: times), at: place)
        tokens.insert(String(repeating: open, count: times), at: numbers.number(below: place + 1))
      }
    }
    return tokens.joined(separator: numbers.chance(80) ? " " : "")
  }

  /// Runs of letters, of the signs that operators are made of, and other signs.
  private static func tokens(of text: String) -> [String] {
    func kind(_ character: Character) -> Int {
      if character.isLetter || character.isNumber || "_.@$%#".contains(character) { return 1 }
      return "=<>!&|*:".contains(character) ? 2 : 0
    }
    var tokens: [String] = []
    var last = 0
    for character in text {
      let kind = character.isWhitespace ? 0 : kind(character)
      if kind > 0, kind == last {
        tokens[tokens.count - 1].append(character)
      } else if !character.isWhitespace {
        tokens.append(String(character))
      }
      last = kind
    }
    return tokens
  }
}
