import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct StoreSetAsideCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "set-aside", abstract: "Move logs away that do not belong to a store's file.",
    discussion: """
      For a file that was put back alone, with the log of a later or an earlier content beside it. The \
      log gets another name, and the store is what the file says alone: `status` tells how much \
      of what was acknowledged it has not, and the next sync fetches what the zone has. A log \
      that is the file's own stays where it is.

      Example: syncctl store set-aside shop.sqlite
      """)

  @Argument(help: "The store's file.", completion: .file())
  var file: String
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let url = URL(fileURLWithPath: file).standardizedFileURL.resolvingSymlinksInPath()
    try StoreAccess.requireFile(at: url)
    let moved = try PersistentStore.setAsideStrayLogs(at: url).map(\.path)
    try output.put(
      ["moved": moved],
      lines: moved.isEmpty
        ? ["nothing was moved: what lies beside \(file) is its own"]
        : moved.map { "moved: \($0)" } + ["Try: syncctl doctor --store \(file.shellWord)"])
  }
}
