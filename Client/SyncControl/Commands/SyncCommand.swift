import ArgumentParser
import SyncDaemon

struct SyncCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Pull and push until nothing is left to do.",
    discussion: "A daemon that keeps the store does it, when one runs.")

  @OptionGroup var target: StoreArguments
  @OptionGroup var deletes: MassDeleteArguments
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let summary = try await SyncRunner(url: target.url, output: output).run(
      .sync, allowsMassDelete: deletes.allowMassDelete)
    try output.put(summary, text: summary.text)
  }
}
