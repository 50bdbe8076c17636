import Driftless
import DriftlessSync
import Foundation

/// A journal entry for a person.
enum ConflictText {
  static func lines(_ entry: JournalEntry, _ labels: ObjectLabels) -> [String] {
    let element =
      "\(entry.entity)/\(entry.object.uuidString.lowercased())"
      + (entry.property.map { ".\($0)" } ?? "")
    var lines = [
      "\(entry.number)  \(element)\(labels.label(entry.object))  \(entry.policy)",
      "    \(entry.explanation)",
    ]
    // A whole object has no one value on either side: the sentence says what became of it.
    if entry.property != nil {
      var values = "    kept \(entry.kept ?? "nothing")"
      values += "; here \(entry.local ?? "deleted"), zone \(entry.remote ?? "deleted")"
      if let base = entry.base { values += ", before \(base)" }
      lines.append(values)
    }
    if let side = entry.decision {
      let when = entry.decidedAt.map { " " + Moment.text($0) } ?? ""
      lines.append("    decided\(when): the value \(side == .local ? "of here" : "of the zone")")
    } else if entry.isWaiting {
      lines.append("    waits: syncctl conflicts undo \(entry.number), or keep \(entry.number)")
    }
    // What a rule of the model did is no single replica's change.
    if entry.origin != nobody {
      lines.append(
        "    at \(Moment.text(entry.remoteTime.date)) by replica "
          + entry.origin.uuidString.lowercased())
    }
    return lines
  }

  private static let nobody = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}
