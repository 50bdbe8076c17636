import ArgumentParser
import DriftlessProtocol
import DriftlessServer
import Foundation
import ProgramStart

#if canImport(Glibc)
  import Glibc
#endif

struct ZoneCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "zone",
    abstract:
      "Create, list, inspect, bound, rename, renew, fold, purge and delete zones, raise their format, and say that they were put back; works while the server runs.",
    subcommands: [
      Create.self, List.self, Inspect.self, Limits.self, Format.self, Rename.self, Renew.self,
      Fold.self, Purge.self, PutBack.self, Delete.self,
    ])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create a zone with an empty log.",
      discussion: "Example: driftless-server zone create shop --data DIR")

    @Argument(help: "Letters, digits, '-', '_' and '.'; it stands in the URL.")
    var name: String

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones(creates: true) { administration in
        let zone = try administration.createZone(name)
        if common.json {
          try common.printJSON(ZoneLine(zone))
        } else {
          try common.printLine("created zone \(zone.name)")
        }
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the zones.", discussion: "Example: driftless-server zone list --data DIR")

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        for zone in try administration.zones() {
          let snapshot = try administration.snapshot(of: zone)
          let floor = try administration.floor(of: zone)
          if common.json {
            try common.printJSON(ZoneLine(zone, snapshot, floor: floor))
          } else {
            let folded = snapshot.map { "\tsnapshot \($0.place.sequence), \($0.bytes) bytes" } ?? ""
            try common.printLine(
              "\(zone.name)\thead \(zone.head)\tgeneration \(JSONText.id(zone.generation))\(folded)"
                + (floor > 0 ? "\tfloor \(floor)" : "")
            )
          }
        }
      }
    }
  }
}

extension ZoneCommand {
  struct Renew: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Begin a zone's log anew, in a new generation.",
      discussion: """
        The log is emptied; the zone's identity and its tokens stay. Replicas offer what they hold of the generation \
        before, unless it is to be replaced: then they put what they hold aside and empty themselves. It is asked for, or \
        confirmed with --yes.

        A replica may have let go of large values that the zone has. Where the zone is replaced those are nowhere any \
        more: a zone that has some is replaced only with --lose-values. To keep them, make a backup of the server, or \
        have a replica fetch all of them before (syncctl values download), whose file has them when it is put aside.

        Example: driftless-server zone renew shop --yes --data DIR
        """)

    @Argument(help: "The zone.")
    var name: String

    @Flag(help: "Replicas put what they hold aside and take what the zone gets from now on.")
    var replace = false

    @Flag(
      help:
        "What was purged of the log may go with what stands for it: no replica may have it any more."
    )
    var dropPurged = false

    @Flag(
      help:
        "With --replace: the large values that the zone has may be lost, where no replica has them."
    )
    var loseValues = false

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        if !dropPurged { try Self.checkIsWhole(name, administration) }
        if replace, !loseValues { try Self.checkHasNoValues(name, administration) }
        if !yes {
          let report = try administration.inspectZone(name)
          let held = report.replicas == 1 ? "1 replica" : "\(report.replicas) replicas"
          try common.confirm(
            "Empty the log of zone \(name), of \(CountText.of(report.entries, "entry", "entries")), and let \(held) "
              + (replace ? "put aside what they hold and become empty?" : "offer what they hold?")
              + " (\(SeenReplicas.note))",
            unless: yes)
        }
        let (zone, rest) = try administration.renew(name, intent: replace ? .replace : .offer)
        if common.json {
          try common.printJSON(RenewedZoneLine(zone: ZoneLine(zone), rest: rest?.message))
        } else {
          try common.printLine(
            "renewed zone \(zone.name): generation \(JSONText.id(zone.generation)), \(zone.intent)")
        }
        if let rest {
          try ProgramOutput.write(TerminalText.data(["note: \(rest)"]), to: STDERR_FILENO)
        }
      }
    }

    /// Which replicas have let go of values nobody tells the server.
    private static func checkHasNoValues(
      _ name: String, _ administration: any ZoneAdministration
    ) throws {
      guard try administration.zones().contains(where: { $0.name == name }) else { return }
      let values = try administration.namedValues(of: name)
      guard values.count > 0 else { return }
      throw ServerError(
        .notConfirmed,
        "zone \(name) has \(CountText.of(Int(clamping: values.count), "large value", "large values")) of \(values.bytes) bytes, and "
          + "replicas may have let go of theirs: once the zone is replaced, those are lost",
        suggestion:
          "Make a backup, or have a replica fetch all of them: syncctl values download --store STORE. Then say --lose-values."
      )
    }

    /// Of a log that was purged the zone's snapshot is the only copy: replicas offer what they hold themselves, and what came from
    /// replicas that are gone may be with none of them.
    private static func checkIsWhole(
      _ name: String, _ administration: any ZoneAdministration
    ) throws {
      guard let zone = try administration.zones().first(where: { $0.name == name }) else { return }
      let floor = try administration.floor(of: zone)
      guard floor > 0 else { return }
      let whole = try administration.replicas(of: name).filter { $0.lag == 0 }
      let names = whole.map { "\(JSONText.id($0.replica)) (\($0.tokenName ?? "-"))" }
      let have =
        names.isEmpty
        ? "no replica was seen that has all of it (\(SeenReplicas.note))"
        : "these replicas were seen to have all of it: \(names.joined(separator: ", "))"
      throw ServerError(
        .notConfirmed,
        "the log of zone \(name) was purged up to entry \(floor), and what stands for it is the only copy that the server has; "
          + have,
        suggestion:
          "Make a backup, and see to it that such a replica is there and offers what it holds. Then say --drop-purged."
      )
    }
  }
}

extension ZoneCommand {
  struct Fold: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add up a zone's log to a snapshot.",
      discussion: """
        What every object has by now, at the cost of the zone's state and not of its past. Only the
        log since the last snapshot is read. A fold that was stopped goes on where it was. Pushes
        and pulls go on meanwhile. The server does so by itself as logs grow.

        Example: driftless-server zone fold shop --data DIR
        """)

    @Argument(help: "The zone.")
    var name: String

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let snapshot = try administration.foldZone(name)
        if common.json {
          try common.printJSON(SnapshotLine(zone: name, snapshot))
        } else {
          let files = snapshot.files.count
          try common.printLine(
            "folded zone \(name) through \(snapshot.place.sequence): \(CountText.of(files, "file")), "
              + "\(snapshot.bytes) bytes")
        }
      }
    }
  }
}

private struct SnapshotLine: Encodable {
  let zone: String
  let sequence: UInt64
  let chain: LogChain
  let files: Int
  let bytes: Int

  init(zone: String, _ snapshot: Snapshot) {
    self.zone = zone
    sequence = snapshot.place.sequence
    chain = snapshot.place.chain
    files = snapshot.files.count
    bytes = snapshot.bytes
  }
}

/// A zone, and why some of what its former log had is left; null where nothing is.
private struct RenewedZoneLine: Encodable {
  let zone: ZoneLine
  let rest: String?

  private enum CodingKeys: CodingKey { case rest }

  func encode(to encoder: any Encoder) throws {
    try zone.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(rest, forKey: .rest)
  }
}

struct ZoneLine: Encodable {
  let zone: String
  let zoneID: String
  let generation: String
  let intent: String
  let head: UInt64
  @OrNull var snapshotSequence: UInt64?
  @OrNull var snapshotBytes: Int?
  let floor: UInt64
  let isPutBack: Bool

  init(_ record: ZoneRecord, _ snapshot: Snapshot? = nil, floor: UInt64 = 0) {
    self.floor = floor
    snapshotSequence = snapshot?.place.sequence
    snapshotBytes = snapshot?.bytes
    zone = record.name
    zoneID = JSONText.id(record.zoneID)
    generation = JSONText.id(record.generation)
    intent = record.intent.rawValue
    head = record.head
    isPutBack = record.isPutBack
  }
}
