import ArgumentParser
import DriftlessSync
import SyncDaemon

struct SyncCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Pull and push until nothing is left to do.",
    discussion: "A daemon that keeps the store does it, when one runs.")

  @OptionGroup var target: StoreArguments
  @OptionGroup var model: GivenModelArguments
  @OptionGroup var deletes: MassDeleteArguments
  @Flag(
    name: .long,
    help:
      "Come back to a server that was put back or replaced, where the sync waits for this word.")
  var reconcile = false
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    try model.adopt(target.url, output)
    if reconcile { try SyncEngine.allowReconciliation(of: target.open()) }
    let summary = try await SyncRunner(url: target.url, output: output).run(
      .sync, allowsMassDelete: deletes.allowMassDelete)
    try output.put(summary, line: summary.text)
  }
}
