import ArgumentParser
import Driftless
import DriftlessSync
import SyncDaemon

struct StoreRekeyCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "rekey", abstract: "Make a copied store a store of its own.",
    discussion: """
      For a file that was copied from a store that goes on being used. It gets a new identifier \
      and is no replica of a zone until it is enrolled; its objects keep their ids.

      Example: syncctl store rekey copy.sqlite
      """)

  @OptionGroup var target: StoreFileArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(output)
    let former = store.identifier.lowercased()
    let identifier = try SyncEngine.rekey(store: store).lowercased()
    store.close()
    try output.put(
      ["former": former, "identifier": identifier],
      lines: [
        "\(former) is \(identifier) now", "Try: syncctl enroll --store \(target.file.shellWord) …",
      ])
  }
}
