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
      that is the file's own stays where it is. A log whose file is not there, or is empty, is moved as well: `init` \
      can make a new store then, and the log waits for its file under the other name.

      Example: syncctl store set-aside shop.sqlite
      """)

  @Argument(help: "The store's file.", completion: .file())
  var file: String
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let url = URL(fileURLWithPath: file).standardizedFileURL.resolvingSymlinksInPath()
    if PersistentStore.loneLog(at: url) == nil { try StoreAccess.requireFile(at: url) }
    let moved = try PersistentStore.setAsideStrayLogs(at: url).map(\.path)
    try output.put(
      ["moved": moved],
      lines: moved.isEmpty
        ? ["nothing was moved: what lies beside \(file) is its own"]
        : moved.map { "moved: \($0)" } + [
          FileManager.default.fileExists(atPath: url.path)
            ? "Try: syncctl doctor --store \(file.shellWord)"
            : "Try: syncctl init --store \(file.shellWord) --model MODEL.xcdatamodeld"
        ])
  }
}
