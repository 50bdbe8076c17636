/// A text that two sides edited: word by word, and character by character where both changed a word.
///
/// What both sides did alike is done once. Edits that only touch each other both stand. Of two
/// insertions at one place the earlier side's comes first. Of edits that overlap the later side's
/// stand. So it is the same text whichever side merges.
struct ThreeWayText {
  struct Result: Hashable {
    var text: String
    /// Places where both sides changed the same words, and one side's edit stands.
    var overlaps: Int
  }

  private typealias Edit = ListDifference.Edit

  private let base: TextTokens.List
  private let earlier: TextTokens.List
  private let later: TextTokens.List
  private var text = ""
  private var overlaps = 0

  static func merge(base: String, earlier: String, later: String) -> Result {
    var tokens = TextTokens()
    var merge = ThreeWayText(
      base: tokens.list(base), earlier: tokens.list(earlier), later: tokens.list(later))
    merge.run()
    return Result(text: merge.text, overlaps: merge.overlaps)
  }

  private init(base: TextTokens.List, earlier: TextTokens.List, later: TextTokens.List) {
    (self.base, self.earlier, self.later) = (base, earlier, later)
  }

  /// Edits of both sides that have to do with each other, and the stretch of the base that they
  /// change.
  private struct Cluster {
    var range: Range<Int>
    var earlier: [Edit] = []
    var later: [Edit] = []
  }

  private mutating func run() {
    var place = 0
    for cluster in clusters(edits(of: earlier), edits(of: later)) {
      text += base.text(place..<cluster.range.lowerBound)
      write(cluster)
      place = cluster.range.upperBound
    }
    text += base.text(place..<base.words.count)
  }

  // MARK: The edits of one side

  private func edits(of side: TextTokens.List) -> [Edit] {
    var edits = ListDifference.edits(base.numbers, side.numbers)
    for index in edits.indices.reversed() {
      // One word stays before the next edit.
      let end = index + 1 < edits.count ? edits[index + 1].old.lowerBound - 1 : base.words.count
      moveToEnd(&edits[index], of: side, through: end)
    }
    return joined(edits)
  }

  /// Moves an insertion or a removal as far to the end as it means the same, and not against the
  /// next edit: so two sides that removed one of several equal words removed the same one.
  private func moveToEnd(_ edit: inout Edit, of side: TextTokens.List, through end: Int) {
    guard edit.isInsertion || edit.isRemoval else { return }
    while edit.old.upperBound < end {
      let next = base.numbers[edit.old.upperBound]
      let first =
        edit.isRemoval
        ? base.numbers[edit.old.lowerBound] : side.numbers[edit.new.lowerBound]
      guard next == first else { return }
      edit.old = edit.old.lowerBound + 1..<edit.old.upperBound + 1
      edit.new = edit.new.lowerBound + 1..<edit.new.upperBound + 1
    }
  }

  /// Replaced words with nothing but spaces between them are one edit: a sentence that was written
  /// anew, not as many edits as it has words.
  private func joined(_ edits: [Edit]) -> [Edit] {
    var joined: [Edit] = []
    for edit in edits {
      if let last = joined.last, isReplacement(last), isReplacement(edit),
        base.words[last.old.upperBound..<edit.old.lowerBound].allSatisfy(TextTokens.isSpace)
      {
        joined[joined.count - 1] = Edit(
          old: last.old.lowerBound..<edit.old.upperBound,
          new: last.new.lowerBound..<edit.new.upperBound)
      } else {
        joined.append(edit)
      }
    }
    return joined
  }

  private func isReplacement(_ edit: Edit) -> Bool { !edit.isInsertion && !edit.isRemoval }

  // MARK: Both sides together

  private func clusters(_ earlier: [Edit], _ later: [Edit]) -> [Cluster] {
    var clusters: [Cluster] = []
    var (first, second) = (earlier[...], later[...])
    while !first.isEmpty || !second.isEmpty {
      let isFirst =
        second.first.map { other in first.first.map { !precedes(other, $0) } ?? false }
        ?? true
      guard let edit = isFirst ? first.popFirst() : second.popFirst() else { break }
      if let last = clusters.last?.range, overlap(last, edit.old) {
        clusters[clusters.count - 1].range =
          last.lowerBound..<max(last.upperBound, edit.old.upperBound)
      } else {
        clusters.append(Cluster(range: edit.old))
      }
      if isFirst {
        clusters[clusters.count - 1].earlier.append(edit)
      } else {
        clusters[clusters.count - 1].later.append(edit)
      }
    }
    return clusters
  }

  private func precedes(_ a: Edit, _ b: Edit) -> Bool {
    (a.old.lowerBound, a.old.upperBound) < (b.old.lowerBound, b.old.upperBound)
  }

  /// Whether an edit has to do with the one before it: they share a word, or insert at one place.
  private func overlap(_ range: Range<Int>, _ next: Range<Int>) -> Bool {
    next.lowerBound < range.upperBound || (range.isEmpty && range == next)
  }

  private mutating func write(_ cluster: Cluster) {
    if cluster.earlier.isEmpty {
      text += rendered(cluster.range, cluster.later, of: later)
      return
    }
    if cluster.later.isEmpty {
      text += rendered(cluster.range, cluster.earlier, of: earlier)
      return
    }
    let first = rendered(cluster.range, cluster.earlier, of: earlier)
    let second = rendered(cluster.range, cluster.later, of: later)
    if first.utf8.elementsEqual(second.utf8) {
      text += first
    } else if cluster.range.isEmpty {
      text += first
      text += second
    } else if (cluster.earlier + cluster.later).allSatisfy(\.isRemoval) {
      // Both took words away: what either took is gone.
      let removed = cluster.earlier + cluster.later
      for place in cluster.range where !removed.contains(where: { $0.old.contains(place) }) {
        text += base.words[place]
      }
    } else if let merged = Self.byCharacter(String(base.text(cluster.range)), first, second) {
      text += merged
    } else {
      overlaps += 1
      text += second
    }
  }

  /// A stretch of the base as one side has it.
  private func rendered(
    _ range: Range<Int>, _ edits: [Edit], of side: TextTokens.List
  ) -> String {
    var text = ""
    var place = range.lowerBound
    for edit in edits {
      text += base.text(place..<edit.old.lowerBound)
      text += side.text(edit.new)
      place = edit.old.upperBound
    }
    text += base.text(place..<range.upperBound)
    return text
  }

  /// The text with both sides' edits, each as one stretch from its first different character to its
  /// last; nil when the stretches overlap. Letters that two rewritten words have in common say
  /// nothing, so nothing finer is tried.
  private static func byCharacter(_ base: String, _ earlier: String, _ later: String) -> String? {
    let (old, first, second) = (Array(base), Array(earlier), Array(later))
    let (one, other) = (stretch(old, first), stretch(old, second))
    let isOneFirst =
      (one.old.lowerBound, one.old.upperBound) <= (other.old.lowerBound, other.old.upperBound)
    let (front, back) = isOneFirst ? (one, other) : (other, one)
    guard front.old.upperBound <= back.old.lowerBound else { return nil }
    // The earlier side's comes first where both insert at one place.
    let (frontText, backText) = isOneFirst ? (first, second) : (second, first)
    var merged = String(old[..<front.old.lowerBound])
    merged += String(frontText[front.new])
    merged += String(old[front.old.upperBound..<back.old.lowerBound])
    merged += String(backText[back.new])
    merged += String(old[back.old.upperBound...])
    return merged
  }

  private static func stretch(_ old: [Character], _ new: [Character]) -> Edit {
    func isSame(_ a: Character, _ b: Character) -> Bool { a.utf8.elementsEqual(b.utf8) }
    let shortest = min(old.count, new.count)
    var (prefix, suffix) = (0, 0)
    while prefix < shortest, isSame(old[prefix], new[prefix]) { prefix += 1 }
    while suffix < shortest - prefix,
      isSame(old[old.count - 1 - suffix], new[new.count - 1 - suffix])
    {
      suffix += 1
    }
    return Edit(old: prefix..<(old.count - suffix), new: prefix..<(new.count - suffix))
  }
}
