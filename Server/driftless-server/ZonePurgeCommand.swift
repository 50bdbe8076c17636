import ArgumentParser
import DriftlessServer
import Foundation

extension ZoneCommand {
  struct Purge: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shorten a zone's log: what is old goes, and its snapshot stands for it.",
      discussion: """
        Replicas that have read beyond the floor notice nothing. Those that have not go on by the zone's snapshot. The \
        floor is the last entry that is older than --keep-days, that every replica has read which was seen within \
        --replica-days, and that no push under way was made before. Pushes and pulls go on meanwhile; a purge that was \
        stopped goes on with the next one. The file of the database stays as large as it is: what becomes free is used \
        again.

        Example: driftless-server zone purge shop --dry-run --data DIR
        """)

    @Argument(help: "The zone.")
    var name: String

    @Option(help: "Days for which each entry is kept in any case.")
    var keepDays = 90

    @Option(help: "Days since it was seen for which a replica keeps what it has not read.")
    var replicaDays = 365

    @Option(help: "The last entry that may go.")
    var through: UInt64?

    @Flag(help: "A new, empty replica of each model in use has joined by the zone's snapshot.")
    var tried = false

    @Flag(help: "Tell what would go, and change nothing.")
    var dryRun = false

    @Flag(help: "Begin though the disk may have no room: twice the log is the most that it takes.")
    var force = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
      for (name, days) in [("--keep-days", keepDays), ("--replica-days", replicaDays)]
      where !(0...PurgeOptions.daysMax).contains(days) {
        throw ValidationError("\(name) takes 0 to \(PurgeOptions.daysMax) days.")
      }
    }

    func run() throws {
      try common.administeringZones { administration in
        let options = PurgeOptions(
          keepDays: keepDays, replicaDays: replicaDays, isTried: tried, isDryRun: dryRun,
          isForced: force,
          through: through ?? .max)
        let report = try administration.purgeZone(name, options)
        if common.json { return try common.printJSON(PurgeLine(report)) }
        let bound = try Self.bound(report, administration)
        for line in Self.lines(report, bound) { try common.printLine(line) }
      }
    }

    /// What keeps the floor from being higher; a replica by its name.
    private static func bound(
      _ report: PurgeReport, _ administration: any ZoneAdministration
    ) throws -> String {
      guard report.bound == "replica",
        let slowest = try administration.replicas(of: report.zone)
          .filter({ $0.cursor.map { $0 <= max(report.floor, report.formerFloor) } ?? false })
          .min(by: { $0.cursor ?? 0 < $1.cursor ?? 0 })
      else { return report.bound }
      return "replica \(JSONText.id(slowest.replica)) (\(slowest.tokenName ?? "-"))"
    }

    private static func lines(_ report: PurgeReport, _ bound: String) -> [String] {
      guard report.floor > report.formerFloor else {
        let floor = report.floor > 0 ? "its floor stays \(report.floor)" : "it has no floor"
        return ["nothing to purge of zone \(report.zone): \(floor), by \(bound)"]
      }
      let verb = report.isDryRun ? "would purge" : "purged"
      var lines = [
        "\(verb) zone \(report.zone) up to \(report.floor) of \(report.head), by \(bound): "
          + "\(report.entries) entr\(report.entries == 1 ? "y" : "ies"), "
          + "\(report.bytes) byte\(report.bytes == 1 ? "" : "s")"
      ]
      if let place = report.snapshotPlace, let bytes = report.snapshotBytes {
        lines.append("snapshot \(place), \(bytes) bytes")
      }
      for replica in report.below {
        let seen = replica.lastHeardMilliseconds.map { JSONText.time($0) } ?? "never seen"
        lines.append(
          "below the floor: \(JSONText.id(replica.replica))\t\(replica.tokenName ?? "-")\tat "
            + "\(replica.cursor.map { "\($0)" } ?? "-")\tlast seen \(seen)")
      }
      if report.below.contains(where: { $0.cursor == nil }) {
        lines.append(
          "at -: of the last minute a server may not have told yet how far replicas came")
      }
      return lines
    }
  }
}

private struct PurgeLine: Encodable {
  struct Below: Encodable {
    let replica: String
    @OrNull var name: String?
    @OrNull var cursor: UInt64?
    @OrNull var lastSeen: String?
  }

  let zone: String
  let floor: UInt64
  let formerFloor: UInt64
  let head: UInt64
  let bound: String
  let entries: Int
  let bytes: Int64
  @OrNull var snapshotSequence: UInt64?
  @OrNull var snapshotBytes: Int?
  let below: [Below]
  let dryRun: Bool

  init(_ report: PurgeReport) {
    zone = report.zone
    (floor, formerFloor, head) = (report.floor, report.formerFloor, report.head)
    (bound, entries, bytes) = (report.bound, report.entries, report.bytes)
    (snapshotSequence, snapshotBytes) = (report.snapshotPlace, report.snapshotBytes)
    dryRun = report.isDryRun
    below = report.below.map {
      var line = Below(replica: JSONText.id($0.replica))
      line.name = $0.tokenName
      line.cursor = $0.cursor
      line.lastSeen = $0.lastHeardMilliseconds.map { JSONText.time($0) }
      return line
    }
  }
}
