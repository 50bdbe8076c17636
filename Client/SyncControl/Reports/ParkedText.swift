import DriftlessSync
import Foundation

/// What is set aside of the zone's log, for a person.
enum ParkedText {
  /// Names of one entry that a list shows; more are for `parked show`.
  private static let namesMax = 5

  static func lines(_ entry: ParkedEntry, _ labels: ObjectLabels, all: Bool = false) -> [String] {
    let sender =
      entry.sender.map(labels.replica) ?? "an unknown replica"
    var lines = [
      "\(entry.sequence)  \(entry.code), since \(Moment.text(entry.since)), \(entry.bytes) bytes",
      "    sent by \(sender)",
    ]
    if let object = entry.object {
      let property = entry.property.map { ".\($0)" } ?? ""
      let place = "\(entry.entity ?? "object")/\(object.uuidString.lowercased())\(property)"
      lines.append("    \(place)\(labels.label(object))")
    }
    if !entry.names.isEmpty {
      let shown = all ? entry.names[...] : entry.names.prefix(namesMax)
      let rest = entry.names.count - shown.count
      var names = "    unknown here: \(shown.joined(separator: ", "))"
      if rest > 0 { names += " and \(rest) more (syncctl parked show \(entry.sequence))" }
      lines.append(names)
    }
    lines.append("    \(entry.reason)")
    lines.append("    " + wayOut(of: entry))
    return lines
  }

  /// What ends the state of an entry.
  private static func wayOut(of entry: ParkedEntry) -> String {
    let number = entry.sequence
    if entry.isAccepted {
      return
        "accepted: it waits for nobody (syncctl parked retry \(number) takes that back)"
    }
    let retry = "syncctl parked retry \(number) has the next pull try it again"
    let accept = "syncctl parked accept \(number) has it wait for nobody"
    if entry.names.isEmpty { return "\(retry), \(accept)" }
    return "a model that has them takes it in (syncctl migrate), \(retry), \(accept)"
  }

  /// One line for the status: how much, and since when.
  static func summary(_ entries: [ParkedEntry]) -> String? {
    guard let first = entries.map(\.since).min() else { return nil }
    return "\(entries.count) not taken in from the zone, since \(Moment.text(first)) "
      + "(syncctl parked)"
  }
}
