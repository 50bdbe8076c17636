import ArgumentParser
import Driftless
import DriftlessSync
import SyncDaemon

struct PullCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "pull", abstract: "Fetch and merge what others pushed.",
    discussion: """
      A daemon that keeps the store does it, when one runs.

      Example: syncctl pull --store shop.sqlite
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var keys: KeyArguments
  @OptionGroup var deletes: MassDeleteArguments
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let summary = try await SyncRunner(url: target.url, output: output, keys: keys.source).run(
      .pull, allowsMassDelete: deletes.allowMassDelete)
    try output.put(summary, line: AdvisedCommand.naming(store: target.store, in: summary.text))
    // Whoever only ever pulls, since the token may not write say, is told what stays here.
    let pending = try SyncEngine.status(of: target.open(reading: true)).pending
    guard !pending.isEmpty else { return }
    output.note(
      "what was edited here waits to be sent (\(pending.hasMore ? "more than " : "")\(pending.objects) "
        + "object\(pending.objects == 1 ? "" : "s")): syncctl sync --store \(target.store.shellWord)"
    )
  }
}
