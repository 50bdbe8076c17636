import ArgumentParser
import DriftlessServer
import Foundation

struct ZoneCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "zone", abstract: "Create and list zones; works while the server runs.",
    subcommands: [Create.self, List.self])

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Create a zone with an empty log.")

    @Argument(help: "Letters, digits, '-', '_' and '.'; it stands in the URL.")
    var name: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.administering { administration in
        let zone = try administration.createZone(name)
        if common.json {
          try common.printJSON(ZoneLine(zone))
        } else {
          print("created zone \(zone.name)")
        }
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the zones.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.administering { administration in
        for zone in try administration.zones() {
          if common.json {
            try common.printJSON(ZoneLine(zone))
          } else {
            print("\(zone.name)\thead \(zone.head)\tgeneration \(zone.generation)")
          }
        }
      }
    }
  }
}

private struct ZoneLine: Encodable {
  let zone: String
  let generation: UUID
  let head: UInt64

  init(_ record: ZoneRecord) {
    zone = record.name
    generation = record.generation
    head = record.head
  }
}
