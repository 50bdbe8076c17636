import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct StoreGiveUpLostCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "give-up-lost",
    abstract: "Go on without large values whose files beside a store are gone.",
    discussion: """
      Each becomes null, or empty where there has to be one: an edit as any other, which a store that syncs sends. First look \
      for a copy of the folder .NAME_SUPPORT beside the store, and put the files back; in a store that syncs, \
      syncctl verify --repair takes what the zone has. Without --yes it only names the values.

      Example: syncctl store give-up-lost shop.sqlite --yes
      """)

  @OptionGroup var target: StoreFileArguments
  @Flag(name: .long, help: "Give them up.")
  var yes = false
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = yes ? try target.open(output) : try target.inspect(output)
    defer { store.close() }
    let lost = try store.lostValues()
    if yes { try store.giveUpLostValues() }
    let report = Report(
      lost: lost.map {
        Report.Value(entity: $0.entity, property: $0.property, file: $0.file.path)
      }, isGivenUp: yes && !lost.isEmpty)
    try output.put(report, lines: report.lines)
    if !yes, !lost.isEmpty { throw ExitCode(ExitStatus.badData.rawValue) }
  }

  private struct Report: Encodable {
    struct Value: Encodable {
      let entity: String
      let property: String
      let file: String
    }

    let lost: [Value]
    let isGivenUp: Bool

    var lines: [String] {
      guard !lost.isEmpty else { return ["no value is lost"] }
      return lost.map { "\($0.entity).\($0.property): \($0.file)" }
        + [
          isGivenUp
            ? "\(lost.count) given up" : "\(lost.count) lost; give them up with --yes"
        ]
    }
  }
}
