import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct WhyCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "why", abstract: "Say why a property has the value that it has.")

  @OptionGroup var target: StoreArguments
  @Argument(help: "ENTITY/ID.PROPERTY, with the ID as in an import file, or a UUID.")
  var element: String
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(reading: true)
    let element = try ElementPath(element, model: store.model)
    let explanation = try SyncEngine.why(
      of: store, object: element.identity, property: element.property)
    try output.put(explanation, text: Self.text(explanation, ObjectLabels(store)))
  }

  private static func text(
    _ explanation: PropertyExplanation, _ labels: ObjectLabels
  ) -> String {
    var lines = ["\(explanation.entity).\(explanation.property) is \(explanation.value)"]
    if let time = explanation.changedAt {
      let author = explanation.author.map { " by \($0)" } ?? ""
      lines.append("changed here \(Moment.text(time.date))\(author)")
    }
    lines.append("policy \(explanation.policy)")
    lines.append(explanation.isPending ? "waits to be pushed" : "in step with the zone")
    if explanation.conflicts.isEmpty { lines.append("no conflicts") }
    lines += explanation.conflicts.map { ConflictText.lines($0, labels) }
    return lines.joined(separator: "\n")
  }
}
