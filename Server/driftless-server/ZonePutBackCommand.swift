import ArgumentParser
import DriftlessServer
import Foundation

extension ZoneCommand {
  struct PutBack: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "put-back",
      abstract: "Say that zones' logs were put back to an older copy by other means than restore.",
      discussion: """
        Of a copy of the data folder, pg_restore or a snapshot of the disk that took the database's place the server knows \
        nothing. Replicas bring back what such a log lacks all the same; once this is said, that is taken whatever the \
        bounds of the zone and the clock say, as after restore. It ends by itself with the next push that brings something \
        new. Said of a zone that was not put back it lets replicas pass the zone's bounds until then, with what they say that \
        the zone lost.

        Example: driftless-server zone put-back --all --data DIR
        """)

    @Argument(help: ArgumentHelp("The zones.", valueName: "name"))
    var names: [String] = []

    @Flag(help: "All zones that there are.")
    var all = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
      guard all == names.isEmpty else {
        throw ValidationError(
          all ? "--all is all zones: name none beside it." : "Name the zones, or say --all.")
      }
    }

    func run() throws {
      try common.administeringZones { administration in
        for name in try all ? administration.zones().map(\.name) : names {
          let marked = try administration.markPutBack(name)
          if common.json {
            try common.printJSON(
              ZoneLine(
                marked, administration.snapshot(of: marked),
                floor: administration.floor(of: marked)))
          } else {
            try common.printLine(
              "zone \(marked.name) was put back: what replicas bring back after "
                + "\(marked.head) is taken")
          }
        }
      }
    }
  }
}
