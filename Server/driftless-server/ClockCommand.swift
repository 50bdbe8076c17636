import ArgumentParser
import DriftlessServer
import Foundation

struct ClockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clock",
    abstract: "Show the server's time, and put it right after a leap ahead.",
    subcommands: [Show.self, SetBack.self])

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract:
        "Show the host's clock, the last time that the server gave, and how far they are apart.",
      discussion: """
        A server never gives an earlier time than it gave: where the host's clock is behind that, it counts on, a tenth
        slower. What a running server gave in the last minute may not be here yet.

        Example: driftless-server clock show --data DIR
        """)

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let report = try administration.clock()
        if common.json {
          try common.printJSON(ClockLine(report))
        } else {
          for line in Self.lines(report, common.place) { try common.printLine(line) }
        }
      }
    }

    private static func lines(_ report: ClockReport, _ place: String) -> [String] {
      var lines = ["host's clock  \(JSONText.time(report.hostMilliseconds))"]
      if let given = report.givenMilliseconds {
        lines.append("last given    \(JSONText.time(given))")
      } else {
        lines.append("last given    none")
      }
      let span = report.aheadMilliseconds.map { JSONText.span($0) } ?? ""
      switch report.state {
      case .right: lines.append("the server follows the host's clock")
      case .behind:
        lines.append("the server is \(span) ahead of the host's clock, and counts on from there")
        lines.append(
          "it takes \(JSONText.span(report.aheadMilliseconds ?? 0, times: 10)) until the clock has come to it; "
            + "if the host's clock is right: driftless-server clock set-back \(place)")
      case .ahead:
        lines.append(
          "the host's clock is \(span) ahead: the server follows it when it has stayed there for an hour"
        )
      }
      if let server = report.server {
        lines.append("served by     process \(server)")
      } else if report.nodes > 0 {
        lines.append("served by     \(report.nodes) node\(report.nodes == 1 ? "" : "s")")
      }
      for zone in report.zonesAhead {
        let ahead = JSONText.span(Int64(zone.newestMilliseconds) - report.hostMilliseconds)
        lines.append("zone \(zone.zone) has changes up to \(ahead) ahead of the host's clock")
      }
      return lines
    }
  }

  struct SetBack: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make the server go on from the host's clock, where it gave later times.",
      discussion: """
        For a server that believed a leap ahead. Set the host's clock right, stop the server, say this, start it.
        Changes keep their times: a zone that has later ones takes as late ones still, and what is edited by who has
        pulled them comes after them.

        Example: driftless-server clock set-back --yes --data DIR
        """)

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let before = try administration.clock()
        if let given = before.givenMilliseconds, given > before.hostMilliseconds,
          before.nodes == 0
        {
          try common.confirm(
            "The server gave \(JSONText.time(given)). Go on from \(JSONText.time(before.hostMilliseconds))?",
            unless: yes)
        }
        let report = try administration.setClockBack()
        if common.json {
          try common.printJSON(ClockLine(try administration.clock()))
        } else {
          try common.printLine(
            "set back by \(JSONText.span(report.aheadMilliseconds ?? 0)): the server goes on from "
              + JSONText.time(report.hostMilliseconds))
        }
      }
    }
  }
}

private struct ClockLine: Encodable {
  let host: String
  @OrNull var given: String?
  @OrNull var aheadMilliseconds: Int64?
  let state: String
  @OrNull var serverProcess: Int32?
  let nodes: Int
  let zonesAhead: [Zone]

  struct Zone: Encodable {
    let zone: String
    let newest: String
  }

  init(_ report: ClockReport) {
    host = JSONText.time(report.hostMilliseconds)
    state = report.state.rawValue
    nodes = report.nodes
    zonesAhead = report.zonesAhead.map {
      Zone(zone: $0.zone, newest: JSONText.time(Int64(clamping: $0.newestMilliseconds)))
    }
    given = report.givenMilliseconds.map { JSONText.time($0) }
    aheadMilliseconds = report.aheadMilliseconds
    serverProcess = report.server
  }
}
