import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

#if canImport(Glibc)
  import Glibc
#endif

extension ZoneCommand {
  struct Inspect: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show what a zone holds: entries, bytes, objects, replicas, the last push.",
      discussion: "Example: driftless-server zone inspect shop --data DIR")

    @Argument(help: "The zone.")
    var name: String

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let report = try administration.inspectZone(name)
        if common.json {
          try common.printJSON(ZoneReportLine(report))
        } else {
          for line in Self.lines(report) { try common.printLine(line) }
          try SeenReplicas.tell()
        }
      }
    }

    private static func lines(_ report: ZoneReport) -> [String] {
      [
        "zone        \(report.zone.name)", "zone ID     \(JSONText.id(report.zone.zoneID))",
        "generation  \(JSONText.id(report.zone.generation)), \(report.zone.intent)",
        "created     \(JSONText.time(report.createdMilliseconds))",
        "format      \(report.zone.formatLevel)",
        "head        \(report.zone.head)", "floor       \(report.floor)",
        "entries     \(report.entries), \(report.bytes) bytes",
        "objects     \(report.objects) made", "replicas    \(report.replicas)",
        "tokens      \(report.tokens)",
        "last push   \(report.lastPushMilliseconds.map { JSONText.time($0) } ?? "none")",
      ] + (report.zone.isPutBack ? ["put back    until the next push"] : [])
        + (report.lackedValues > 0
          ? [
            "lacking     \(CountText.of(report.lackedValues, "large value")) (driftless-server verify names them)"
          ]
          : [])
        + report.zone.limits.all.map { "limit       \($0.name) \($0.value)" }
    }
  }

  struct Rename: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Give a zone another name; its log and its tokens stay.",
      discussion: """
        Replicas that have synced with the zone find it by its identity, and go on under the name that they know: \
        syncctl enroll --store FILE --zone NEWNAME teaches them the new one. Who has not synced yet is refused \
        under the old name.

        Example: driftless-server zone rename shop shop-north --data DIR
        """)

    @Argument(help: "The zone.")
    var name: String

    @Argument(help: "Its name from now on.")
    var newName: String

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let zone = try administration.renameZone(name, to: newName)
        if common.json {
          try common.printJSON(
            ZoneLine(
              zone, administration.snapshot(of: zone), floor: administration.floor(of: zone)))
        } else {
          try common.printLine("renamed zone \(name): \(zone.name)")
        }
      }
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Delete a zone with its log and its tokens.",
      discussion: """
        Replicas keep what they hold, and are refused from now on. What nobody but the server has is gone: make a
        backup first.

        Example: driftless-server zone delete shop --yes --data DIR
        """)

    @Argument(help: "The zone.")
    var name: String

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let report = try administration.inspectZone(name)
        try common.confirm(
          "Delete zone \(name) with \(CountText.of(report.entries, "entry", "entries")) and "
            + "\(CountText.of(report.tokens, "token"))?",
          unless: yes)
        let rest = try administration.deleteZone(name)
        if common.json {
          try common.printJSON(DeletedZoneLine(zone: name, rest: rest))
        } else {
          try common.printLine("deleted zone \(name)")
        }
        if let rest {
          try ProgramOutput.write(TerminalText.data(["note: \(rest)"]), to: STDERR_FILENO)
        }
      }
    }
  }
}

private struct DeletedZoneLine: Encodable {
  let state = "deleted"
  let zone: String
  /// Why some of what it had is left; null where nothing is.
  @OrNull var rest: String?

  init(zone: String, rest: ServerError?) {
    self.zone = zone
    self.rest = rest?.message
  }
}

private struct ZoneReportLine: Encodable {
  let zone: String
  let zoneID: String
  let generation: String
  let intent: String
  let formatLevel: UInt16
  let head: UInt64
  let created: String
  let floor: UInt64
  let entries: Int
  let bytes: Int64
  let objects: UInt64
  let replicas: Int
  let tokens: Int
  @OrNull var lastPush: String?
  let limits: ZoneLimitsLine
  let isPutBack: Bool
  let lackedValues: Int64

  init(_ report: ZoneReport) {
    let line = ZoneLine(report.zone)
    (zone, zoneID, generation) = (line.zone, line.zoneID, line.generation)
    (intent, head, floor) = (line.intent, line.head, report.floor)
    formatLevel = report.zone.formatLevel
    created = JSONText.time(report.createdMilliseconds)
    (entries, bytes, objects) = (report.entries, report.bytes, report.objects)
    (replicas, tokens) = (report.replicas, report.tokens)
    lastPush = report.lastPushMilliseconds.map { JSONText.time($0) }
    limits = ZoneLimitsLine(report.zone.limits)
    isPutBack = report.zone.isPutBack
    lackedValues = report.lackedValues
  }
}

struct ReplicaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replica",
    abstract:
      "Show the replicas of zones, and forget those that are gone; works while the server runs.",
    subcommands: [List.self, Forget.self])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List replicas: how far behind each is, and when it was last seen.",
      discussion: """
        Those furthest behind come first. A replica has what it said that it applied, and what it was given last, until it \
        asks for that again. The last two columns are the name that it tells of itself (its host's, or that of \
        syncctl enroll --name), and the address from which it was last seen: a proxy's, where one is in between. What a running server saw in the last minute may not be here yet.

        Example: driftless-server replica list --zone shop --data DIR
        """)

    @Option(help: "Only those of this zone.")
    var zone: String?

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let reports = try administration.replicas(of: zone)
        if reports.isEmpty, !common.json { try SeenReplicas.tell() }
        for report in reports {
          let line = ReplicaLine(report)
          if common.json {
            try common.printJSON(line)
          } else {
            let columns = [
              line.zone, line.replica, line.cursor.map { "cursor \($0)" } ?? "cursor -",
              line.lag.map { "\($0) behind" } ?? "behind -", "seen \(line.lastSeen ?? "-")",
              "pushed \(line.lastPush ?? "-")", line.tokenName ?? line.token ?? "-",
              line.name ?? "-", line.address ?? "-",
            ]
            try common.printLine(columns.joined(separator: "\t"))
          }
        }
      }
    }
  }
}

private struct ReplicaLine: Encodable {
  let zone: String
  let replica: String
  @OrNull var cursor: UInt64?
  let head: UInt64
  @OrNull var lag: UInt64?
  let pushes: UInt64
  @OrNull var lastPush: String?
  @OrNull var lastSeen: String?
  @OrNull var token: String?
  @OrNull var tokenName: String?
  @OrNull var name: String?
  @OrNull var address: String?
  /// The highest that it told; null where it told none.
  @OrNull var formatLevel: UInt16?

  init(_ report: ReplicaReport) {
    zone = report.zone
    replica = JSONText.id(report.replica)
    head = report.head
    pushes = report.pushes
    cursor = report.cursor
    lag = report.lag
    lastPush = report.lastPushMilliseconds.map { JSONText.time($0) }
    lastSeen = report.lastSeenMilliseconds.map { JSONText.time($0) }
    token = report.token
    tokenName = report.tokenName
    name = report.name
    address = report.address
    formatLevel = report.formatLevel
  }
}

/// What a running server saw is written once a minute.
enum SeenReplicas {
  static let note = "of the last minute a server may not have told yet which replicas it saw"

  /// For a person, on standard error.
  static func tell() throws(UnwrittenOutput) {
    try ProgramOutput.write(TerminalText.data(["note: \(note)"]), to: STDERR_FILENO)
  }
}
