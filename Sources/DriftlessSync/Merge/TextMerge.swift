import Driftless

/// Both sides' edits of a text stand. Where both changed the same words, the later side's stand, and
/// the journal says so.
enum TextMerge {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    guard case .string(let local) = conflict.local, case .string(let remote) = conflict.remote
    else {
      // CONFLICT: one side has no text.
      // RESOLUTION: the later edit stands.
      return LastWriterWins.settle(conflict, since: "since one side holds no text")
    }
    let base: String
    switch conflict.base {
    case .string(let text)?: base = text
    // Null is a text that nobody began.
    case .null?: base = ""
    default:
      // CONFLICT: two replicas made the object: no text is known that both edited.
      // RESOLUTION: the later edit stands.
      return LastWriterWins.settle(conflict, since: "since no text is known that both edited")
    }
    let isLocalLater = conflict.isLocalLater
    let merge =
      isLocalLater
      ? ThreeWayText.merge(base: base, earlier: remote, later: local)
      : ThreeWayText.merge(base: base, earlier: local, later: remote)
    if case .integer(let longest)? = conflict.attribute?.maximum, merge.text.utf16.count > longest {
      // CONFLICT: the text with both sides' edits is longer than the attribute may be.
      // RESOLUTION: the later edit stands.
      return LastWriterWins.settle(
        conflict, since: "since both sides' edits make more than \(longest) characters")
    }
    let merged = PropertyValue.string(merge.text)
    let note = overlapNote(merge.overlaps, isLocalLater: isLocalLater)
    switch (merged == conflict.local, merged == conflict.remote) {
    // CONFLICT: the local text holds the zone's edits, or stands where both changed the same words.
    // RESOLUTION: it stands and is pushed.
    case (true, _): return Verdict(.local, note: note)
    // CONFLICT: the zone's text holds the local edits, or stands where both changed the same words.
    // RESOLUTION: it stands.
    case (false, true): return Verdict(.remote, note: note)
    // CONFLICT: each side made edits of its own.
    // RESOLUTION: the text with both sides' edits stands and is pushed.
    case (false, false): return Verdict(.combined(merged), note: note)
    }
  }

  private static func overlapNote(_ overlaps: Int, isLocalLater: Bool) -> String? {
    guard overlaps > 0 else { return nil }
    let side = isLocalLater ? "this" : "the other"
    return "Both sides changed the same words\(overlaps == 1 ? "" : " in \(overlaps) places"); "
      + "there \(side) replica's later edit stands."
  }
}
