import ArgumentParser
import DriftlessServer
import Foundation

extension ReplicaCommand {
  struct Forget: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Forget replicas that are gone, so that the zone has room for others.",
      discussion: """
        A replica that is forgotten is not counted any more (replicasPerZoneMax, replicasMax), not listed, and keeps nothing \
        from being purged. What it sent stays in the log. One that comes back goes on where it was, and is counted again with its \
        next push; where the zone has no room then, it waits with what it has. Its token is not touched: revoke it where the host \
        is lost (driftless-server token revoke).

        Example: driftless-server replica forget shop --unseen-for 400 --dry-run --data DIR
        """)

    @Argument(help: "The zone.")
    var zone: String

    @Argument(help: "IDs of replicas, as replica list has them.")
    var replicas: [String] = []

    @Option(
      help: """
        In place of IDs: all that were not seen for so many days before a replica of the zone was seen last.
        """)
    var unseenFor: Int?

    @Flag(help: "Tell who would be forgotten, and change nothing.")
    var dryRun = false

    @OptionGroup var common: CommonOptions

    func validate() throws { _ = try choice() }

    private func choice() throws -> ForgettingChoice {
      guard replicas.isEmpty != (unseenFor == nil) else {
        throw ValidationError("Name replicas, or say --unseen-for DAYS: one of the two.")
      }
      if let unseenFor {
        guard (1...ForgettingChoice.daysMax).contains(unseenFor) else {
          throw ValidationError("--unseen-for takes 1 to \(ForgettingChoice.daysMax) days.")
        }
        return .unseen(days: unseenFor)
      }
      return .named(
        try replicas.map { text in
          guard let id = UUID(uuidString: text) else {
            throw ValidationError(
              "\"\(text)\" is no ID of a replica; see them: driftless-server replica list \(common.place) --zone \(zone)"
            )
          }
          return id
        })
    }

    func run() throws {
      try common.administeringZones { administration in
        let report = try administration.forgetReplicas(
          of: zone, choice(), isDryRun: dryRun)
        for replica in report.replicas {
          let line = ForgottenLine(replica, isDryRun: dryRun)
          if common.json {
            try common.printJSON(line)
            continue
          }
          try common.printLine(
            [
              (dryRun ? "would forget " : "forgot ") + line.replica,
              "seen \(line.lastHeard ?? "-")", line.tokenName ?? "-", line.name ?? "-",
            ].joined(separator: "\t"))
          for token in line.boundTokens {
            try common.printLine(
              "  the token \(token) is bound to it and stays good: driftless-server token revoke "
                + "\(common.place) \(token)")
          }
        }
        for replica in report.before {
          guard !common.json else {
            try common.printJSON(ForgottenLine(before: replica, report.zone, isDryRun: dryRun))
            continue
          }
          try common.printLine("\(JSONText.id(replica)) was forgotten before")
        }
        if report.replicas.isEmpty, report.before.isEmpty, !common.json {
          try common.printLine("nobody to forget in zone \(report.zone)")
        }
      }
    }
  }
}

private struct ForgottenLine: Encodable {
  let zone: String
  let replica: String
  @OrNull var lastHeard: String?
  @OrNull var tokenName: String?
  @OrNull var name: String?
  let boundTokens: [String]
  let dryRun: Bool
  /// Whether it was forgotten already, and nothing was done.
  let wasForgotten: Bool

  init(before replica: UUID, _ zone: String, isDryRun: Bool) {
    self.zone = zone
    self.replica = JSONText.id(replica)
    boundTokens = []
    dryRun = isDryRun
    wasForgotten = true
  }

  init(_ forgotten: ForgottenReplica, isDryRun: Bool) {
    let report = forgotten.report
    zone = report.zone
    replica = JSONText.id(report.replica)
    boundTokens = forgotten.boundTokens
    dryRun = isDryRun
    wasForgotten = false
    lastHeard = report.lastHeardMilliseconds.map { JSONText.time($0) }
    tokenName = report.tokenName
    name = report.name
  }
}
