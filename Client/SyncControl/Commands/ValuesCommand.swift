import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct ValuesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "values",
    abstract: "Look at large values that the zone has and the store has not, or fetch them.",
    discussion: """
      A store may fetch large values when somebody asks for them (syncctl enroll --values, \
      driftless.fetch in the model). Until then their objects say that the zone has them, and \
      everything else is as ever.
      """,
    subcommands: [ValuesListCommand.self, ValuesDownloadCommand.self],
    defaultSubcommand: ValuesListCommand.self)
}

struct ValuesListCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the large values that are not here.",
    discussion: "Example: syncctl values list --store shop.sqlite")

  @OptionGroup var target: StoreArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(reading: true)
    let values = try SyncEngine.awaitedValues(of: store)
    try output.put(
      Report(values: values),
      lines: values.isEmpty ? ["all large values are here"] : values.map(Self.line))
  }

  private static func line(_ value: AwaitedValue) -> String {
    let state =
      if let since = value.missingSince {
        "missing since \(Moment.text(since))"
      } else {
        value.isWanted ? "asked for" : "in the zone"
      }
    return "\(value.entity) \(value.object.uuidString.lowercased())  \(value.property)  "
      + "\(value.bytes) bytes  \(state)"
  }

  private struct Report: Encodable {
    var values: [AwaitedValue]
  }
}

struct ValuesDownloadCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "download", abstract: "Fetch large values that are not here: all, or some.",
    discussion: """
      A daemon that keeps the store does it, when one runs. What breaks off goes on with the next \
      sync, where it was.

      Example: syncctl values download --store shop.sqlite --entity Photo
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var keys: KeyArguments
  @Option(name: .long, help: "Those of one object, by its identity.")
  var object: String?
  @Option(name: .long, help: "Those of the objects of one entity.")
  var entity: String?
  @Option(name: .long, help: "Those of one property.")
  var property: String?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if let object, UUID(uuidString: object) == nil {
      throw ValidationError("--object is an identity, as syncctl values list shows it.")
    }
  }

  func perform() async throws {
    let store = try target.open()
    let before = try SyncEngine.awaitedValues(of: store)
    var left = try SyncEngine.wantValues(
      of: store, object: object.flatMap { UUID(uuidString: $0) }, entity: entity, key: property)
    let runner = SyncRunner(url: target.url, output: output, keys: keys.source)
    // A sync brings a bounded number of bytes.
    while left > 0 {
      _ = try await runner.run(.sync)
      let now = try SyncEngine.wantedValues(of: store)
      guard now < left else { break }
      left = now
    }
    let after = try SyncEngine.awaitedValues(of: store)
    let came = Set(before.map(\.digest)).subtracting(after.map(\.digest))
    let bytes = before.reduce(into: [String: Int64]()) { $0[$1.digest] = $1.bytes }
      .filter { came.contains($0.key) }.values.reduce(0, +)
    let missing = Set(after.filter { $0.missingSince != nil }.map(\.digest)).count
    let report = Report(values: came.count, bytes: bytes, missing: missing, waiting: left)
    try output.put(report, line: report.text)
    guard missing == 0, left == 0 else {
      throw Failure(
        .tryAgain, code: "values-missing",
        missing > 0
          ? "\(missing) large value\(missing == 1 ? " was" : "s were") not to be had."
          : "\(left) large value\(left == 1 ? " has" : "s have") not come yet.",
        suggestion:
          "syncctl values list --store \(target.url.path.shellWord) says which; a missing one comes once a replica that has it syncs"
      )
    }
  }

  private struct Report: Encodable {
    var values: Int
    var bytes: Int64
    var missing: Int
    var waiting: Int

    var text: String {
      values == 0 && missing == 0 && waiting == 0
        ? "nothing was to be fetched"
        : "fetched \(values) large value\(values == 1 ? "" : "s") of \(bytes) bytes"
    }
  }
}
