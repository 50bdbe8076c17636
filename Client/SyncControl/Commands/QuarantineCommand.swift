import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct QuarantineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine", abstract: "Look at objects that the server refuses, or retry them.",
    discussion: """
      What was changed of such an object waits here, pending; everything else syncs. An object is \
      tried again when it changes.
      """,
    subcommands: [QuarantineListCommand.self, QuarantineRetryCommand.self],
    defaultSubcommand: QuarantineListCommand.self)
}

struct QuarantineListCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the objects that the server refuses, with the reasons.",
    discussion: "Example: syncctl quarantine list --store shop.sqlite")

  @OptionGroup var target: StoreArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(reading: true)
    let entries = try SyncEngine.quarantine(of: store)
    let held = try SyncEngine.heldByQuarantine(of: store)
    let labels = ObjectLabels(store)
    var lines = entries.flatMap { entry in
      let place = "\(entry.entity)/\(entry.object.uuidString.lowercased())"
      return [
        "\(place)\(labels.label(entry.object))  \(entry.code), since \(Moment.text(entry.time))",
        "    \(entry.reason)", "    \(labels.advising(entry.suggestion))",
      ]
    }
    if !held.isEmpty {
      lines.append(
        "waiting with them, for they refer to one of these, or took a key that one gives up:")
      lines += held.map { object in
        "    \(object.entity)/\(object.object.uuidString.lowercased())"
          + labels.label(object.object)
          + (object.properties.isEmpty ? "" : ": \(object.properties.joined(separator: ", "))")
      }
    }
    try output.put(
      Listed(
        quarantine: entries.map { QuarantineReport(entry: $0) }, waiting: held.map(HeldReport.init)),
      lines: entries.isEmpty ? ["nothing in quarantine"] : lines)
  }

  private struct Listed: Encodable {
    var quarantine: [QuarantineReport]
    var waiting: [HeldReport]
  }
}

struct QuarantineRetryCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Let the next sync try refused objects again.",
    discussion: "Example: syncctl quarantine retry --store shop.sqlite")

  @OptionGroup var target: StoreArguments
  @Argument(help: "The object, as UUID or ENTITY/ID; without it, all.")
  var object: String?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if let object, NamedObject(object) == nil {
      throw ValidationError(
        "\(object) names no object: see syncctl quarantine list --store \(target.store.shellWord).")
    }
  }

  func perform() async throws {
    let store = try target.open()
    let count = try SyncEngine.retryQuarantined(
      of: store, object: object.flatMap(NamedObject.init)?.identity(in: store))
    await DaemonClient.wake(store: target.url)
    try output.put(
      ["retried": count],
      line: "\(count) object\(count == 1 ? "" : "s") will be tried again by the next sync")
  }
}
