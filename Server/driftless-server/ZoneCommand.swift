import ArgumentParser
import DriftlessProtocol
import DriftlessServer
import Foundation

struct ZoneCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "zone", abstract: "Create, list and renew zones; works while the server runs.",
    subcommands: [Create.self, List.self, Renew.self])

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Create a zone with an empty log.")

    @Argument(help: "Letters, digits, '-', '_' and '.'; it stands in the URL.")
    var name: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.administering(creates: true) { administration in
        let zone = try administration.createZone(name)
        if common.json {
          try common.printJSON(ZoneLine(zone))
        } else {
          try common.printLine("created zone \(zone.name)")
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
            try common.printLine("\(zone.name)\thead \(zone.head)\tgeneration \(zone.generation)")
          }
        }
      }
    }
  }
}

extension ZoneCommand {
  struct Renew: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Begin a zone's log anew, in a new generation.",
      discussion: """
        The log is emptied; the zone's identity and its tokens stay. Replicas offer what they hold
        of the generation before, unless it is to be replaced.
        """)

    @Argument(help: "The zone.")
    var name: String

    @Flag(help: "Replicas put what they hold aside and take what the zone gets from now on.")
    var replace = false

    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.administering { administration in
        let zone = try administration.renewZone(name, intent: replace ? .replace : .offer)
        if common.json {
          try common.printJSON(ZoneLine(zone))
        } else {
          try common.printLine(
            "renewed zone \(zone.name): generation \(zone.generation), \(zone.intent)")
        }
      }
    }
  }
}

private struct ZoneLine: Encodable {
  let zone: String
  let generation: UUID
  let intent: String
  let head: UInt64

  init(_ record: ZoneRecord) {
    zone = record.name
    generation = record.generation
    intent = record.intent.rawValue
    head = record.head
  }
}
