import DriftlessSync
import Foundation
import ProgramStart
import SyncDaemon

/// What a comparison of a store with its zone found, for a person and for a script.
struct VerifyText: Encodable {
  enum Verdict: String, Encodable {
    case equal, repaired, different
  }

  let verdict: Verdict
  let report: VerifyReport

  init(_ report: VerifyReport) {
    self.report = report
    verdict =
      if report.differenceCount == 0 { .equal } else if report.isEqual { .repaired } else {
        .different
      }
  }

  private enum Key: CodingKey { case verdict }

  /// The report with the verdict beside its fields.
  func encode(to encoder: any Encoder) throws {
    try report.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(verdict, forKey: .verdict)
  }

  /// The verdict, what is different, and what was left out.
  ///
  /// - Parameter store: as it was named, for the commands that are advised.
  func lines(store: String) -> [String] {
    [summary] + report.differences.map(Self.line) + unlisted
      + AdvisedCommand.naming(store: store, in: damaged + writtenHere + unsent + leftOut)
  }

  private var summary: String {
    let what =
      CountText.of(report.objects, "object") + ", "
      + CountText.of(report.properties, "property", "properties")
      + ", at entry \(report.sequence) of the zone's log"
    let counted = CountText.of(report.differenceCount, "difference")
    let cost =
      CountText.of(report.bytes, "byte") + " in " + CountText.of(report.requests, "request")
    return switch verdict {
    case .equal:
      leftOut.isEmpty ? "equal: \(what); \(cost)" : "equal as far as compared: \(what); \(cost)"
    case .repaired: "repaired: \(counted); \(what); \(cost)"
    case .different:
      "different: \(counted), \(report.repairedCount) repaired; \(what); \(cost)"
    }
  }

  private static func line(_ difference: VerifyReport.Difference) -> String {
    let name = "\(difference.entity) \(difference.object.uuidString.lowercased())"
    let what =
      switch difference.kind {
      case .missing: "is in the zone, and not here"
      case .deleted: "is here, and deleted in the zone"
      case .unknown: "is here, and was never in the zone; nothing of it waits to be pushed"
      case .entity: "is of another entity here"
      case .damaged:
        "\(difference.property ?? "") is \(shown(difference.local)) in the file, and "
          + "\(difference.breach ?? "cannot be read")"
          + (difference.zone.map { "; in the zone it is \(shown($0))" } ?? "")
      case .value where difference.isUnsent == true:
        "\(difference.property ?? "") \(local(difference)) and was never sent: the zone does not have it"
      case .value:
        "\(difference.property ?? "") \(local(difference)) here, and "
          + "\(shown(difference.zone)) in the zone"
      }
    return "\(name): \(what)\(difference.isRepaired ? ": repaired" : "")"
  }

  private static func local(_ difference: VerifyReport.Difference) -> String {
    difference.isLost == true
      ? "lies in a file that is not there, cut off, or cannot be read,"
      : "is \(shown(difference.local))"
  }

  /// Characters of a value that are shown: `--json` has more of it.
  private static let charactersMax = 200

  private static func shown(_ value: String?) -> String {
    guard let value else { return "null" }
    return value.count > charactersMax ? "\(value.prefix(charactersMax))…" : value
  }

  private var unlisted: [String] {
    let count = report.differenceCount - report.differences.count
    return count > 0 ? ["and \(count) more"] : []
  }

  private var damaged: [String] {
    guard report.differences.contains(where: { $0.kind == .damaged && !$0.isRepaired }) else {
      return []
    }
    return [
      "what is damaged gets what the zone has by: syncctl verify --repair. Where an edit of it waits to be sent, or the "
        + "zone never had the object, set the property anew: syncctl import --store STORE CHANGES"
    ]
  }

  private var writtenHere: [String] {
    let isWritten = report.differences.contains {
      !$0.isRepaired && ($0.kind == .unknown || $0.kind == .value && $0.isLost != true)
    }
    guard isWritten else { return [] }
    return [
      "what another program wrote here without a history goes to the zone by: syncctl verify --take-in. What the zone has "
        + "comes back by: syncctl verify --repair"
    ]
  }

  private var unsent: [String] {
    guard report.differences.contains(where: { $0.isUnsent == true }) else { return [] }
    return [
      "what is lost here and was never sent no repair brings back: put the file back from a copy of the folder, or go on without "
        + "such values: syncctl store give-up-lost FILE"
    ]
  }

  private var leftOut: [String] {
    var lines: [String] = []
    if report.leftOut.pending > 0 {
      lines.append("not compared: \(report.leftOut.pending) that wait to be pushed or settled")
    }
    if report.leftOut.setAside > 0 {
      lines.append(
        "not compared: \(report.leftOut.setAside) that are set aside (syncctl parked)")
    }
    if !report.leftOut.properties.isEmpty {
      lines.append(
        "not compared, since the model here does not have them by this name, or the zone's log has "
          + "them under another name as well (after a renaming): "
          + report.leftOut.properties.joined(separator: ", "))
    }
    if !report.leftOut.encrypted.isEmpty {
      lines.append(
        "not compared, since they are encrypted: "
          + report.leftOut.encrypted.joined(separator: ", "))
    }
    return lines
  }
}
