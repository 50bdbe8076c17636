import Driftless
import DriftlessSync
import Foundation

/// A journal entry for a person.
enum ConflictText {
  static func lines(_ entry: JournalEntry, _ labels: ObjectLabels) -> String {
    let element =
      "\(entry.entity)/\(entry.object.uuidString.lowercased())"
      + (entry.property.map { ".\($0)" } ?? "")
    var values = "    kept \(entry.kept ?? "nothing")"
    values += "; here \(entry.local ?? "deleted"), zone \(entry.remote ?? "deleted")"
    if let base = entry.base { values += ", before \(base)" }
    // A whole object has no one value on either side.
    if entry.property == nil, entry.outcome == .remote { values = "    kept the object" }
    if let side = entry.decision {
      let when = entry.decidedAt.map { " " + Moment.text($0) } ?? ""
      values += "\n    decided\(when): the value \(side == .local ? "of here" : "of the zone")"
    } else if entry.isWaiting {
      values += "\n    waits: syncctl conflicts undo \(entry.number), or keep \(entry.number)"
    }
    return "\(entry.number)  \(element)\(labels.label(entry.object))  \(entry.policy)\n"
      + "    \(entry.explanation)\n\(values)\n"
      + "    at \(Moment.text(entry.remoteTime.date)) by replica "
      + entry.origin.uuidString.lowercased()
  }
}
