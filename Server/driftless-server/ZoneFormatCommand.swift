import ArgumentParser
import DriftlessServer
import Foundation

extension ZoneCommand {
  struct Format: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the format level of a zone's change sets, or raise it.",
      discussion: """
        A zone takes change sets up to its level, so that a replica whose program is older than that of another can read what that \
        one sends. A newer server makes new zones of its own level, and leaves those that there are as they were: raise them once \
        their replicas are updated. Replicas that read less set aside what comes at the new level, and take it in once they are \
        updated; the command names those. It is never lowered.

        Example: driftless-server zone format shop --data DIR
        """)

    @Argument(help: "The zone.")
    var name: String

    @Option(help: "The level from now on.")
    var raise: UInt16?

    @Flag(help: "Do not ask where replicas cannot read the level.")
    var yes = false

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        var report = try report(administration)
        if let raise {
          // What cannot be is refused before anybody is asked.
          if raise > report.zone.formatLevel, raise <= report.highest, !report.tooOld.isEmpty {
            for line in lines(report, level: raise) where !common.json {
              try common.printLine(line)
            }
            let count = report.tooOld.count
            try common.confirm(
              "Raise zone \(name) to format level \(raise), which \(count) "
                + "replica\(count == 1 ? " that was" : "s that were") seen cannot read?",
              unless: yes)
          }
          let zone = try administration.raiseFormat(of: name, to: raise)
          report = ZoneFormatReport(zone, report.tooOld, level: raise)
        }
        guard !common.json else { return try common.printJSON(ZoneFormatLine(report)) }
        try common.printLine(
          "zone \(name): format level \(report.zone.formatLevel); this program reads up to "
            + "\(report.highest)")
        if raise == nil {
          for line in lines(report, level: report.highest) { try common.printLine(line) }
        }
      }
    }

    private func report(_ administration: any ZoneAdministration) throws -> ZoneFormatReport {
      let zone = try administration.inspectZone(name).zone
      let report = ZoneFormatReport(zone, [], level: 0)
      return ZoneFormatReport(
        zone, try administration.replicas(of: name), level: raise ?? report.highest)
    }

    private func lines(_ report: ZoneFormatReport, level: UInt16) -> [String] {
      report.tooOld.map { replica in
        let seen = replica.lastHeardMilliseconds.map { JSONText.time($0) } ?? "-"
        let reads = replica.formatLevel.map { "reads \($0)" } ?? "tells none"
        return "too old for \(level): \(JSONText.id(replica.replica))\t\(reads)\tseen \(seen)\t"
          + "\(replica.tokenName ?? "-")\t\(replica.name ?? "-")"
      }
    }
  }
}

private struct ZoneFormatLine: Encodable {
  struct Replica: Encodable {
    let replica: String
    @OrNull var formatLevel: UInt16?
    @OrNull var lastHeard: String?
    @OrNull var name: String?
  }

  let zone: String
  let formatLevel: UInt16
  let highest: UInt16
  let tooOld: [Replica]

  init(_ report: ZoneFormatReport) {
    zone = report.zone.name
    (formatLevel, highest) = (report.zone.formatLevel, report.highest)
    tooOld = report.tooOld.map {
      var line = Replica(replica: JSONText.id($0.replica))
      line.formatLevel = $0.formatLevel
      line.lastHeard = $0.lastHeardMilliseconds.map { JSONText.time($0) }
      line.name = $0.name
      return line
    }
  }
}
