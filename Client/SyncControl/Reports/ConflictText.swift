import Driftless
import DriftlessSync
import Foundation

/// A journal entry for a person.
enum ConflictText {
  static func lines(_ entry: JournalEntry, _ labels: ObjectLabels) -> [String] {
    let object = "\(entry.entity)\(labels.label(entry.object))"
    let reference = entry.property.flatMap(PlaceName.property(ofPlace:))
    let name = reference.map { "place in \($0)" } ?? entry.property
    let place = name.map { "\($0) of \(object)" } ?? object
    var lines = ["\(entry.number)  \(place)  (\(entry.policy))", "    \(entry.explanation)"]
    // A whole object has no one value on either side: the sentence says what became of it.
    if entry.property != nil {
      var values = [
        ("kept", entry.kept ?? "nothing"), ("here", entry.local ?? "deleted"),
        ("zone", entry.remote ?? "deleted"),
      ]
      // What a migration took away, no other replica set.
      if entry.transaction == 0, entry.remote == nil { values.removeAll { $0.0 != "here" } }
      if let base = entry.base { values.append(("before", base)) }
      lines += values.map {
        let value =
          reference == nil
          ? labels.reference($0.1, entry.property, of: entry.entity) ?? shown($0.1)
          : shown(place: $0.1, of: entry, labels)
        return "    " + "\($0.0):".padded(to: 9) + value
      }
    }
    if let side = entry.decision {
      let when = entry.decidedAt.map { " " + Moment.text($0) } ?? ""
      // What was made of both sides is neither's, and so is what a person set while the conflict waited.
      let value = side == .local ? entry.local : entry.remote
      let isKept = side == entry.loser || entry.property == nil || value == entry.kept
      let whose = isKept ? (side == .local ? "of here" : "of the zone") : "that was kept"
      lines.append("    decided\(when): the value \(whose)")
    } else if entry.isWaiting {
      lines.append(
        labels.advising(
          "    waits: syncctl conflicts undo \(entry.number), or syncctl conflicts keep \(entry.number)"
        ))
    }
    if let time = entry.repairedAt { lines.append("    repaired at \(Moment.text(time.date))") }
    // What a rule of the model did is no single replica's change.
    if entry.origin != nobody, entry.remoteTime.rawValue > 0 {
      lines.append(
        "    at \(Moment.text(entry.remoteTime.date)) by \(labels.replica(entry.origin))")
    }
    lines.append(
      "    " + "\(entry.entity)/\(entry.object.uuidString.lowercased())"
        + (entry.property.map { ".\($0)" } ?? ""))
    return lines
  }

  /// Characters of a value that are shown: `--json` has all of it.
  private static let charactersMax = 200

  private static func shown(_ value: String) -> String {
    guard value.count > charactersMax else { return value }
    return "\(value.prefix(charactersMax))… (\(value.count) characters)"
  }

  /// After whom an object comes in its list; a number in entries of before.
  private static func shown(
    place text: String, of entry: JournalEntry, _ labels: ObjectLabels
  ) -> String {
    if text == "null" { return "first" }
    guard let other = try? JSONDecoder().decode(UUID.self, from: Data(text.utf8)) else {
      return shown(text)
    }
    let label = labels.label(other)
    return "after \(entry.entity)" + (label.isEmpty ? "/\(other.uuidString.lowercased())" : label)
  }

  private static let nobody = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}
