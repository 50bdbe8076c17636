import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// Merges of what people really typed.
@Suite(.enabled(if: SharedData.has("editing-traces"), "no ../shared"))
struct EditingTraceTests {
  private struct Trace: Decodable {
    var startContent: String
    var endContent: String
    var txns: [Transaction]

    struct Transaction: Decodable { var patches: [Patch] }

    /// At this scalar, so many go, and this text comes.
    struct Patch: Decodable {
      var place: Int
      var removed: Int
      var text: String

      init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        place = try container.decode(Int.self)
        removed = try container.decode(Int.self)
        text = try container.decode(String.self)
      }
    }
  }

  private func trace(_ name: String) throws -> Trace {
    try JSONDecoder().decode(
      Trace.self, from: SharedData.unpacked("editing-traces/\(name).json.gz"))
  }

  /// The text at some moments of its history, the last one included.
  private func states(of trace: Trace, count: Int) throws -> [String] {
    var document = Array(trace.startContent.unicodeScalars)
    var states: [String] = []
    let distance = max(1, trace.txns.count / count)
    for (index, transaction) in trace.txns.enumerated() {
      for patch in transaction.patches {
        document.replaceSubrange(
          patch.place..<patch.place + patch.removed, with: Array(patch.text.unicodeScalars))
      }
      if index % distance == 0 || index == trace.txns.count - 1 {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: document)
        states.append(String(text))
      }
    }
    try #require(states.last == trace.endContent)
    return states
  }

  @Test(
    "S11 What was typed between two moments, dealt out to two sides, is one text again",
    arguments: ["clownschool_flat", "friendsforever_flat", "sveltecomponent"])
  func dealtOut(name: String) throws {
    let trace = try trace(name)
    let states = try states(of: trace, count: 12)
    var numbers = SeededNumbers(seed: 11)
    for (old, new) in zip(states, states.dropFirst()) {
      let (one, other) = deal(old, new, &numbers)
      let merge = ThreeWayText.merge(base: old, earlier: one, later: other)
      #expect(merge.overlaps == 0)
      // Where a stretch of code repeats, an insertion may slide; it is never lost.
      let isCode = name == "sveltecomponent"
      #expect(isCode ? merge.text.sorted() == new.sorted() : merge.text == new)
    }
  }

  /// Each edit between two texts goes to one of two sides; edits that lie close together go to the
  /// same one. The edits are the standard library's.
  private func deal(
    _ old: String, _ new: String, _ numbers: inout SeededNumbers
  ) -> (String, String) {
    var tokens = TextTokens()
    let (before, after) = (tokens.list(old), tokens.list(new))
    var (removed, inserted) = (Set<Int>(), Set<Int>())
    for change in after.numbers.difference(from: before.numbers) {
      switch change {
      case .remove(let place, _, _): removed.insert(place)
      case .insert(let place, _, _): inserted.insert(place)
      }
    }
    var (one, other) = ("", "")
    var (place, written, kept, isOne) = (0, 0, 0, true)
    while place < before.words.count || written < after.words.count {
      var (gone, come) = ("", "")
      while removed.contains(place) || inserted.contains(written) {
        if removed.contains(place) {
          gone += before.words[place]
          place += 1
        } else {
          come += after.words[written]
          written += 1
        }
      }
      if gone != "" || come != "" {
        if kept >= 24 { isOne = numbers.chance(50) }
        kept = 0
        one += isOne ? come : gone
        other += isOne ? gone : come
      }
      guard place < before.words.count else { continue }
      one += before.words[place]
      other += before.words[place]
      place += 1
      written += 1
      kept += 1
    }
    return (one, other)
  }

  @Test(
    "S11 A day's typing and a paragraph appended elsewhere both stand",
    arguments: ["clownschool_flat", "friendsforever_flat", "sveltecomponent"])
  func appended(name: String) throws {
    let trace = try trace(name)
    let states = try states(of: trace, count: 6)
    let paragraph = "\n\nWritten at sea, 21 November: nothing of this is known ashore."
    for (old, new) in zip(states.dropFirst(), states.dropFirst(2)) {
      let merge = ThreeWayText.merge(base: old, earlier: new, later: old + paragraph)
      #expect(merge.text.contains(paragraph))
      #expect(merge.overlaps == 0)
      #expect(merge.text.count == new.count + paragraph.count)
    }
  }
}
