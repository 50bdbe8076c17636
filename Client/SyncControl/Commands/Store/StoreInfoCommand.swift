import ArgumentParser
import Driftless
import SyncDaemon

struct StoreInfoCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Print what a store is and what it holds.",
    discussion: "Example: syncctl store info theirs.sqlite")

  @OptionGroup var target: StoreFileArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let info = try StoreInfo(of: target.inspect(output), at: target.url)
    try output.put(info, lines: info.lines)
  }
}
