import Driftless

/// Both edits of a text stand when they changed different places of it.
enum TextMerge {
  static func settle(_ conflict: PropertyConflict) -> Settlement {
    guard conflict.local != conflict.remote else {
      // CONFLICT: both replicas made the same text.
      // RESOLUTION: it stands, and nothing is pending.
      return .same
    }
    guard case .string(let base)? = conflict.base, case .string(let local) = conflict.local,
      case .string(let remote) = conflict.remote
    else {
      // CONFLICT: no base is known, or one side has no text.
      // RESOLUTION: the later edit stands.
      return LastWriterWins.settle(conflict)
    }
    guard let merged = merge(base: base, local: local, remote: remote) else {
      // CONFLICT: both replicas changed the same place.
      // RESOLUTION: the later edit stands.
      return LastWriterWins.settle(conflict)
    }
    // CONFLICT: the replicas changed different places.
    // RESOLUTION: the text with both edits stands and is pushed.
    return .combined(.string(merged))
  }

  /// One edit: `range` of the base became `text`.
  private struct Edit<Unit: Hashable>: Equatable {
    var range: Range<Int>
    var text: [Unit]
  }

  /// Words. Comparing texts that differ more takes the square of this: they are one edit then.
  private static let differenceMax = 4_000

  /// The text with the edits of both sides; nil when they touch.
  private static func merge(base: String, local: String, remote: String) -> String? {
    // Each side's edit as one stretch, to the character: what two hands typed at two places.
    let characters = (Array(base), Array(local), Array(remote))
    if let merged = merged(
      characters.0, [stretch(characters.0, characters.1)].compactMap { $0 },
      [stretch(characters.0, characters.2)].compactMap { $0 })
    {
      return String(merged)
    }
    // Else word by word: letters that two rewritten words have in common say nothing.
    let words = (words(base), words(local), words(remote))
    return merged(words.0, edits(words.0, words.1), edits(words.0, words.2))?.joined()
  }

  /// Runs of letters and digits, and each other character by itself.
  private static func words(_ text: String) -> [Substring] {
    var words: [Substring] = []
    var start = text.startIndex
    var index = start
    while index < text.endIndex {
      let next = text.index(after: index)
      if !(text[index].isLetter || text[index].isNumber) {
        if start < index { words.append(text[start..<index]) }
        words.append(text[index..<next])
        start = next
      }
      index = next
    }
    if start < text.endIndex { words.append(text[start...]) }
    return words
  }

  /// From the first difference to the last as one edit; nil when there is none.
  private static func stretch<Unit: Hashable>(_ base: [Unit], _ text: [Unit]) -> Edit<Unit>? {
    let shortest = min(base.count, text.count)
    var prefix = 0
    while prefix < shortest, base[prefix] == text[prefix] { prefix += 1 }
    var suffix = 0
    while suffix < shortest - prefix, base[base.count - 1 - suffix] == text[text.count - 1 - suffix]
    {
      suffix += 1
    }
    guard prefix + suffix < max(base.count, text.count) else { return nil }
    return Edit(
      range: prefix..<(base.count - suffix), text: Array(text[prefix..<(text.count - suffix)]))
  }

  /// The edits that lead from one text to the other, in order; they do not touch each other.
  private static func edits<Unit: Hashable>(_ base: [Unit], _ text: [Unit]) -> [Edit<Unit>] {
    guard let whole = stretch(base, text) else { return [] }
    let old = Array(base[whole.range])
    let new = whole.text
    guard !old.isEmpty, !new.isEmpty, old.count <= differenceMax, new.count <= differenceMax else {
      return [whole]
    }
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in new.difference(from: old) {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var edits: [Edit<Unit>] = []
    var (place, written) = (0, 0)
    while place < old.count || written < new.count {
      let start = place
      var text: [Unit] = []
      while removed.contains(place) || inserted.contains(written) {
        if removed.contains(place) {
          place += 1
        } else {
          text.append(new[written])
          written += 1
        }
      }
      if place > start || !text.isEmpty {
        let first = whole.range.lowerBound
        edits.append(Edit(range: (first + start)..<(first + place), text: text))
      }
      place += 1
      written += 1
    }
    return edits
  }

  /// The base with the edits of both sides; nil when they touch.
  private static func merged<Unit: Hashable>(
    _ base: [Unit], _ ours: [Edit<Unit>], _ theirs: [Edit<Unit>]
  ) -> [Unit]? {
    // An edit that both made is one edit.
    let all = (ours + theirs.filter { !ours.contains($0) }).sorted {
      ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
    }
    var merged: [Unit] = []
    var last: Range<Int>?
    for edit in all {
      if let last {
        guard edit.range.lowerBound >= last.upperBound, edit.range.lowerBound > last.lowerBound
        else { return nil }
      }
      merged += base[(last?.upperBound ?? 0)..<edit.range.lowerBound] + edit.text
      last = edit.range
    }
    return merged + base[(last?.upperBound ?? 0)...]
  }
}
