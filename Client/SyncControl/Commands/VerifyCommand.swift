import ArgumentParser
import DriftlessSync
import SyncDaemon

struct VerifyCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Compare a store with its zone, value by value.",
    discussion: """
      What others pushed is pulled first. Then the store and the server make digests of what they \
      have at one place of the zone's log, and only where two differ, values cross the network. \
      What waits to be pushed, or is set aside, is no difference.
      Ends with 0 when the store has what the zone has, or was given it (--repair), and with \
      \(DiffCommand.differentCode) when something is different. A daemon that keeps the store does \
      it, when one runs.

      Example: syncctl verify --store shop.sqlite --repair
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var keys: KeyArguments
  @Flag(
    name: .long,
    help: """
      Give the store what the zone has, where nothing waits to be pushed; what was there goes to the \
      journal (syncctl conflicts).
      """)
  var repair = false
  @OptionGroup var deletes: MassDeleteArguments
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let report = try await SyncRunner(url: target.url, output: output, keys: keys.source).verify(
      repairs: repair, allowsMassDelete: deletes.allowMassDelete)
    let told = VerifyText(report)
    try output.put(told, lines: told.lines)
    guard report.isEqual else { throw ExitCode(DiffCommand.differentCode) }
  }
}
