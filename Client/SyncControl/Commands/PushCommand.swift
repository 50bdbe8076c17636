import ArgumentParser
import SyncDaemon

struct PushCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "push", abstract: "Send what is pending.",
    discussion: """
      A daemon that keeps the store does it, when one runs.

      Example: syncctl push --store shop.sqlite
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var keys: KeyArguments
  @OptionGroup var deletes: MassDeleteArguments
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let summary = try await SyncRunner(url: target.url, output: output, keys: keys.source).run(
      .push, allowsMassDelete: deletes.allowMassDelete)
    try output.put(summary, line: AdvisedCommand.naming(store: target.store, in: summary.text))
  }
}
