import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// The three-way merge of texts: real editing histories, and what holds of any three texts.
struct TextMergeTests {
  @Test(
    "Both sides' edits stand",
    arguments: [
      ("", "call Bob", "call Ann", "call Bobcall Ann"),
      ("- a\n", "- a\n- b\n", "- a\n- c\n", "- a\n- b\n- c\n"),
      ("- a\n- z\n", "- a\n- b\n- z\n", "- a\n- c\n- z\n", "- a\n- b\n- c\n- z\n"),
      ("a", "ab", "ac", "abc"),
      ("colour it", "colours it", "Colour it", "Colours it"),
      ("a b c d e", "a d e", "a b e", "a e"),
    ])
  func bothStand(base: String, earlier: String, later: String, merged: String) {
    let merge = ThreeWayText.merge(base: base, earlier: earlier, later: later)
    #expect(merge.text == merged)
    #expect(merge.overlaps == 0)
  }

  @Test("Letters and flags of several scalars are changed whole, and spellings are told apart")
  func clustersStayWhole() {
    let flags = ThreeWayText.merge(
      base: "🇩🇪 und 👩‍👩‍👧", earlier: "🇩🇪🇫🇷 und 👩‍👩‍👧", later: "🇩🇪 und 👩‍👩‍👧‍👦")
    #expect(flags.text == "🇩🇪🇫🇷 und 👩‍👩‍👧‍👦")
    let spelling = ThreeWayText.merge(
      base: "e\u{301}te", earlier: "e\u{301}tes", later: "\u{e9}te")
    #expect(Array(spelling.text.utf8) == Array("\u{e9}tes".utf8))
  }

  @Test("S11 Five changed words of twenty thousand are merged word by word")
  func longText() {
    let words = (0..<20_000).map { "word\($0 % 977)" }
    var (earlier, later, both) = (words, words, words)
    for (place, isEarlier) in [
      (3, true), (4_001, false), (9_000, true), (9_002, false), (19_999, true),
    ] {
      if isEarlier { earlier[place] = "new\(place)" } else { later[place] = "new\(place)" }
      both[place] = "new\(place)"
    }
    func text(_ words: [String]) -> String { words.joined(separator: " ") }
    let merge = ThreeWayText.merge(
      base: text(words), earlier: text(earlier), later: text(later))
    #expect(merge.text == text(both))
    #expect(merge.overlaps == 0)
  }

  @Test("Where both rewrote a sentence, the later one stands whole, and it is said once")
  func rewrittenSentence() {
    let merge = ThreeWayText.merge(
      base: "Dear all. I like green apples. Bye.", earlier: "Dear all. You hate red pears. Bye!",
      later: "Dear Ann. We love apples. Bye.")
    #expect(merge.text == "Dear Ann. We love apples. Bye!")
    #expect(merge.overlaps == 1)
  }

  private static let pieces = ["a", "b", " ", "\n", "cd", "é", "👩‍👩‍👧", ".", "1"]

  private func text(_ numbers: inout SeededNumbers, max: Int) -> String {
    (0..<numbers.number(below: max + 1)).map { _ in
      Self.pieces[numbers.number(below: Self.pieces.count)]
    }.joined()
  }

  @Test(
    "One side's edits alone are that side's text; equal edits are one", arguments: UInt64(1)...8)
  func oneSide(seed: UInt64) {
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<400 {
      let (base, edited) = (text(&numbers, max: 14), text(&numbers, max: 14))
      for merge in [
        ThreeWayText.merge(base: base, earlier: edited, later: base),
        ThreeWayText.merge(base: base, earlier: base, later: edited),
        ThreeWayText.merge(base: base, earlier: edited, later: edited),
      ] {
        #expect(merge.text == edited)
        #expect(merge.overlaps == 0)
      }
    }
  }

  @Test("No word that a side inserted is lost, unless it is said", arguments: UInt64(1)...8)
  func nothingLost(seed: UInt64) {
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<300 {
      let base = text(&numbers, max: 20)
      let (one, other) = (edit(base, "X", &numbers), edit(base, "Y", &numbers))
      let merge = ThreeWayText.merge(base: base, earlier: one, later: other)
      guard merge.overlaps == 0 else { continue }
      func count(_ text: String, _ mark: Character) -> Int { text.filter { $0 == mark }.count }
      #expect(count(merge.text, "X") == count(one, "X"), "\([base, one, other])")
      #expect(count(merge.text, "Y") == count(other, "Y"), "\([base, one, other])")
    }
  }

  /// The text with some characters removed and marks inserted.
  private func edit(_ text: String, _ mark: String, _ numbers: inout SeededNumbers) -> String {
    var edited = ""
    for character in text {
      if numbers.chance(10) { edited += mark }
      if !numbers.chance(10) { edited.append(character) }
    }
    return numbers.chance(30) ? edited + mark : edited
  }

  @Test("The fewest edits are found, and right ones when the search is cut short")
  func difference() {
    var numbers = SeededNumbers(seed: 5)
    func list(_ max: Int) -> [UInt32] {
      (0..<numbers.number(below: max + 1)).map { _ in UInt32(numbers.number(below: 4)) }
    }
    for _ in 0..<500 {
      let (old, new) = (list(30), list(30))
      let fewest = ListDifference.edits(old, new)
      #expect(
        fewest.reduce(0) { $0 + $1.old.count + $1.new.count } == new.difference(from: old).count)
      for searchMax in [1, 2, 5] {
        var made: [UInt32] = []
        var place = 0
        for edit in ListDifference.edits(old, new, searchMax: searchMax) {
          made += old[place..<edit.old.lowerBound] + new[edit.new]
          place = edit.old.upperBound
        }
        #expect(made + old[place...] == new)
      }
    }
  }
}
