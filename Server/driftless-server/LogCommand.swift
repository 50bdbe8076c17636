import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

struct LogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Show the logs of zones; works while the server runs.",
    subcommands: [Show.self])

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show entries of a zone's log: who pushed each, when, and how large it is.",
      discussion: """
        One line each, oldest first: sequence number, time, replica, the replica's number of the push, new objects, bytes. \
        What the entries say is theirs who hold the zone's data: syncctl log shows it at a replica. No entry can be \
        taken out of a log: the manual of the server says what to do about one that replicas refuse.

        Example: driftless-server log show shop --from 120 --count 5 --data DIR
        """)

    @Argument(help: "The zone.")
    var zone: String

    @Option(help: "The sequence number to begin with.")
    var from: UInt64 = 1

    @Option(help: "At most so many.")
    var count = 1_000

    @OptionGroup var common: CommonOptions

    func validate() throws {
      guard from >= 1, from <= UInt64(Int64.max) else {
        throw ValidationError("--from is the number of an entry, from 1 on.")
      }
      guard count >= 1 else { throw ValidationError("--count is at least 1.") }
    }

    func run() throws {
      try common.administeringZones { administration in
        // A page at a time, so that a long log takes no more memory than a short one.
        var (next, left) = (from, count)
        while left > 0 {
          let page = try administration.log(of: zone, from: next, count: min(left, 1_000))
          for line in page.map(LogText.init) {
            if common.json { try common.printJSON(line) } else { try common.printLine(line.text) }
          }
          guard let last = page.last, last.sequence < UInt64(Int64.max) else { return }
          (next, left) = (last.sequence + 1, left - page.count)
        }
      }
    }
  }
}

private struct LogText: Encodable {
  let sequence: UInt64
  let received: String
  @OrNull var replica: String?
  let push: UInt64
  let firstObject: UInt64
  let newObjects: UInt64
  let bytes: Int64

  init(_ line: LogLine) {
    sequence = line.sequence
    received = JSONText.time(line.receivedMilliseconds)
    push = line.pushNumber
    firstObject = line.firstObject
    newObjects = line.newObjects
    bytes = line.bytes
    replica = line.replica.map { JSONText.id($0) }
  }

  var text: String {
    [
      "\(sequence)", received, replica ?? "-", "push \(push)",
      CountText.of(newObjects, "new object"), CountText.of(bytes, "byte"),
    ].joined(separator: "\t")
  }
}
