import DriftlessSync
import Foundation

/// What is set aside of the zone's log, for a person.
enum ParkedText {
  /// Names of one entry that a list shows; more are for `parked show`.
  private static let namesMax = 5

  static func lines(_ entry: ParkedEntry, _ labels: ObjectLabels, all: Bool = false) -> [String] {
    var lines = [
      "\(entry.number)  \(entry.code), since \(Moment.text(entry.since)), \(entry.bytes) bytes"
    ]
    // Of a value that the zone lacks it says nothing that nobody knows who set it.
    if entry.sender != nil || !isMissing(entry) {
      lines.append("    sent by \(entry.sender.map(labels.replica) ?? "an unknown replica")")
    }
    if let object = entry.object {
      let property = entry.property.map { ".\($0)" } ?? ""
      let place = "\(entry.entity ?? "object")/\(object.uuidString.lowercased())\(property)"
      lines.append("    \(place)\(labels.label(object))")
    }
    if !entry.names.isEmpty {
      let shown = all ? entry.names[...] : entry.names.prefix(namesMax)
      let rest = entry.names.count - shown.count
      var names = "    unknown here: \(shown.joined(separator: ", "))"
      if rest > 0 {
        names += labels.advising(" and \(rest) more (syncctl parked show \(entry.number))")
      }
      lines.append(names)
    }
    lines.append("    \(labels.advising(entry.reason))")
    lines.append("    " + labels.advising(wayOut(of: entry)))
    return lines
  }

  /// Deletes of one entry that a list shows; more are for `parked show`.
  private static let deletesMax = 20

  /// Deletes that wait for a person's word, by the entry that told them.
  static func lines(
    of deletes: [DeleteSetAside], _ labels: ObjectLabels, all: Bool = false
  ) -> [String] {
    var lines: [String] = []
    for (sequence, ofEntry) in Dictionary(grouping: deletes, by: \.sequence)
      .sorted(by: { $0.key < $1.key })
    {
      let count = ofEntry.count
      lines.append("\(sequence)  mass-delete, \(count) delete\(count == 1 ? "" : "s") set aside")
      let shown = all ? ofEntry[...] : ofEntry.prefix(deletesMax)
      for sender in Set(ofEntry.map(\.sender)).sorted(by: { $0.uuidString < $1.uuidString }) {
        lines.append("    sent by \(labels.replica(sender))")
        for delete in shown where delete.sender == sender {
          let place = "\(delete.entity)/\(delete.object.uuidString.lowercased())"
          lines.append(
            "    \(place)\(labels.label(delete.object)), deleted \(Moment.text(delete.time))")
        }
      }
      let rest = count - shown.count
      if rest > 0 {
        lines.append(labels.advising("    and \(rest) more (syncctl parked show \(sequence))"))
      }
    }
    if !lines.isEmpty {
      lines.append(
        labels.advising(
          "    the objects live on here until a person says: syncctl sync --allow-mass-delete deletes "
            + "them, syncctl sync --keep-mass-deleted keeps them, here and in the zone"))
    }
    return lines
  }

  /// What ends the state of an entry.
  private static func wayOut(of entry: ParkedEntry) -> String {
    let number = entry.number
    if entry.isAccepted {
      return
        "accepted: it waits for nobody (syncctl parked retry \(number) takes that back)"
    }
    let retry = "syncctl parked retry \(number) has the next pull try it again"
    let accept = "syncctl parked accept \(number) has it wait for nobody"
    if entry.names.isEmpty { return "\(retry), \(accept)" }
    return
      "a model that has them takes it in (syncctl migrate FILE --model MODEL), \(retry), \(accept)"
  }

  /// One line for the status: how much, and since when.
  static func summary(_ entries: [ParkedEntry]) -> String? {
    guard let first = entries.map(\.since).min() else { return nil }
    let empty = entries.count(where: isEmpty)
    let missing = entries.count(where: isMissing)
    let others = entries.count - empty - missing
    let parts = [
      others == 0 ? nil : "\(others) not taken in from the zone",
      missing == 0 ? nil : missingText(missing),
      empty == 0 ? nil : "\(empty) required and empty",
    ]
    return parts.compactMap(\.self).joined(separator: ", ") + ", since \(Moment.text(first)) "
      + "(syncctl parked)"
  }

  /// What a person has to look at. What is empty may be so by an edit or an import of this very store.
  static func needs(_ entries: [ParkedEntry]) -> [String] {
    let empty = entries.count(where: isEmpty)
    let missing = entries.count(where: isMissing)
    let others = entries.count - empty - missing
    return [
      others == 0
        ? nil
        : "\(others) entr\(others == 1 ? "y" : "ies") of the zone could not be taken in (syncctl parked)",
      missing == 0 ? nil : "\(missingText(missing)) (syncctl parked)",
      empty == 0
        ? nil
        : "\(empty) required propert\(empty == 1 ? "y is" : "ies are") empty (syncctl parked)",
    ].compactMap(\.self)
  }

  /// A large value of which there is the name alone.
  private static func isMissing(_ entry: ParkedEntry) -> Bool { entry.code == "missing-value" }

  private static func missingText(_ count: Int) -> String {
    "\(count) large value\(count == 1 ? " is" : "s are") missing"
  }

  private static func isEmpty(_ entry: ParkedEntry) -> Bool { entry.code == "required-empty" }
}
