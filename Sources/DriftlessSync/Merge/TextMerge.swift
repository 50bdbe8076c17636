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
    guard let merged = merge(base: Array(base), local: Array(local), remote: Array(remote)) else {
      // CONFLICT: both replicas changed the same place.
      // RESOLUTION: the later edit stands.
      return LastWriterWins.settle(conflict)
    }
    // CONFLICT: the replicas changed different places.
    // RESOLUTION: the text with both edits stands and is pushed.
    return .combined(.string(String(merged)))
  }

  /// One edit: characters `range` of the base became `text`.
  private struct Edit {
    var range: Range<Int>
    var text: ArraySlice<Character>

    init(from base: [Character], to text: [Character]) {
      let shortest = min(base.count, text.count)
      var prefix = 0
      while prefix < shortest, base[prefix] == text[prefix] { prefix += 1 }
      var suffix = 0
      while suffix < shortest - prefix,
        base[base.count - 1 - suffix] == text[text.count - 1 - suffix]
      {
        suffix += 1
      }
      range = prefix..<(base.count - suffix)
      self.text = text[prefix..<(text.count - suffix)]
    }
  }

  private static func merge(
    base: [Character], local: [Character], remote: [Character]
  ) -> [Character]? {
    let edits = [Edit(from: base, to: local), Edit(from: base, to: remote)]
      .sorted {
        ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
      }
    let (first, second) = (edits[0], edits[1])
    guard first.range.upperBound <= second.range.lowerBound,
      first.range != second.range
    else { return nil }
    return Array(base[..<first.range.lowerBound]) + first.text
      + base[first.range.upperBound..<second.range.lowerBound] + second.text
      + base[second.range.upperBound...]
  }
}
