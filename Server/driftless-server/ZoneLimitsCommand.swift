import ArgumentParser
import DriftlessServer
import Foundation

extension ZoneCommand {
  struct Limits: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the bounds of one zone, or set them; a running server goes by them at once.",
      discussion: """
        They hold beside the server's: \(ZoneLimits.names.joined(separator: ", ")). What passes one is refused, and stays \
        queued at its replica until the bound is raised. What the zone has already stays, whatever the bound.

        Example: driftless-server zone limits shop --set logBytesMax=1073741824 --data DIR
        """)

    @Argument(help: "The zone.")
    var name: String

    @Option(help: ArgumentHelp("A bound and its value, once for each.", valueName: "name=value"))
    var set: [String] = []

    @Option(help: ArgumentHelp("A bound to take away, once for each.", valueName: "name"))
    var unset: [String] = []

    @OptionGroup var common: CommonOptions

    private func changes() throws -> [String: Int?] {
      var changes: [String: Int?] = [:]
      func note(_ name: String, _ value: Int?) throws {
        guard changes.updateValue(value, forKey: name) == nil else {
          throw ServerError(
            .badLimits, "the bound \(name) is said twice", suggestion: "Say each bound once.")
        }
      }
      for text in set {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        guard parts.count == 2, let value = Int(parts[1]) else {
          throw ServerError(
            .badLimits, "\"\(text)\" is no bound with its value",
            suggestion: "Write NAME=VALUE, as in --set logBytesMax=1073741824: a whole number.")
        }
        try note(String(parts[0]), value)
      }
      for name in unset { try note(name, nil) }
      return changes
    }

    func run() throws {
      try common.administeringZones { administration in
        let asked = try changes()
        let limits =
          asked.isEmpty
          ? try administration.inspectZone(name).zone.limits
          : try administration.changeLimits(of: name, asked)
        if common.json {
          return try common.printJSON(ZoneLimitsLine(limits))
        }
        for name in ZoneLimits.names {
          let value = limits[name].map { "\($0)" } ?? "-"
          try common.printLine("\(name)\t\(value)\t\(ZoneLimits.meaning(of: name))")
        }
      }
    }
  }
}

/// The bounds of a zone, each with null where only the server's holds.
struct ZoneLimitsLine: Encodable {
  @OrNull var logBytesMax: Int?
  @OrNull var logEntriesMax: Int?
  @OrNull var largeValueBytesMax: Int?
  @OrNull var replicasMax: Int?

  init(_ limits: ZoneLimits) {
    logBytesMax = limits.logBytesMax
    logEntriesMax = limits.logEntriesMax
    largeValueBytesMax = limits.largeValueBytesMax
    replicasMax = limits.replicasMax
  }
}
