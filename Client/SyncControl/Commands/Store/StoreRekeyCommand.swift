import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct StoreRekeyCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "rekey", abstract: "Make a copied store a store of its own.",
    discussion: """
      For a file that was copied from a store that goes on being used. It gets a new identifier \
      and is no replica of a zone until it is enrolled; its objects keep their ids. A token that was copied \
      with it is the other store's, and goes.

      Example: syncctl store rekey copy.sqlite
      """)

  @Flag(help: "Leave large values in the zone that the copy has not fetched.")
  var leaveValues = false
  @OptionGroup var target: StoreFileArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(output)
    let former = store.identifier.lowercased()
    let identifier = try SyncEngine.rekey(store: store, leavingValues: leaveValues)
      .lowercased()
    store.close()
    // The other store uses them, where that is; here nothing does any more.
    let url = StoreArguments.url(of: target.file)
    let files = [TokenFile.url(forStore: url).path, EnrolmentFile.path(forStore: url)]
    let removed = files.filter { FileManager.default.fileExists(atPath: $0) }
    try TokenFile.remove(forStore: url)
    EnrolmentFile.remove(forStore: url)
    try output.put(
      Report(former: former, identifier: identifier, removed: removed),
      lines: ["\(former) is \(identifier) now"] + removed.map { "removed: \($0)" } + [
        "Try: syncctl enroll --store \(target.file.shellWord) …"
      ])
  }

  private struct Report: Encodable {
    var former: String
    var identifier: String
    /// What lay beside the store and was the other one's.
    var removed: [String]
  }
}
