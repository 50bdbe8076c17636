import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

struct ValuesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "values",
    abstract: "Take large values from a file that has them; works while the server runs.",
    subcommands: [TakeFrom.self])

  struct TakeFrom: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "take-from",
      abstract: "Take from a file the large values that zones lack.",
      discussion: """
        The file is what restore put aside, or a backup. What a change set of its log names, and a zone of the same identity does not \
        have, is read, compared with its digest and kept: also what no change set of the zone's own log names yet, for 30 days, until \
        replicas have brought back those that name it. Said again, it goes on where it was.

        Example: driftless-server values take-from DIR/driftless.sqlite.before-restore-1700000000 --data DIR
        """)

    @Argument(help: "What restore put aside, or a file that backup made.")
    var file: String

    @Option(help: "Of this zone alone.")
    var zone: String?

    @Flag(help: "Count them, and take none.")
    var dryRun = false

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let taken = try administration.takeValues(
          from: URL(fileURLWithPath: file), zone: zone, isDryRun: dryRun)
        for line in taken {
          if common.json {
            try common.printJSON(TakenLine(line, isDryRun: dryRun))
          } else {
            try common.printLine(
              "zone \(line.zone): \(dryRun ? "lacks" : "took") "
                + "\(CountText.of(Int(clamping: line.values.count), "large value", "large values")), "
                + "\(line.values.bytes) bytes"
                + (line.damaged > 0 ? "; left \(line.damaged) that the file has damaged" : ""))
          }
        }
        guard taken.isEmpty, !common.json else { return }
        try common.printLine("the file has none of the zones")
      }
    }
  }
}

private struct TakenLine: Encodable {
  let zone: String
  let values: Int64
  let bytes: Int64
  let damaged: Int
  let isDryRun: Bool

  init(_ taken: TakenValues, isDryRun: Bool) {
    zone = taken.zone
    (values, bytes) = (taken.values.count, taken.values.bytes)
    damaged = taken.damaged
    self.isDryRun = isDryRun
  }
}
