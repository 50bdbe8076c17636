import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct StoreVacuumCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "vacuum", abstract: "Give back the room that deleted objects left in a store.",
    discussion: """
      Those who write to the store wait meanwhile.

      Example: syncctl store vacuum shop.sqlite
      """)

  @OptionGroup var target: StoreFileArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let look = try target.inspect(output)
    let before = try bytes()
    let isOurs = try look.hasOwnTables()
    look.close()
    if isOurs {
      let store = try target.open(output)
      try store.vacuum()
      store.close()
    } else {
      // A file of Core Data's stays one.
      try PersistentStore.vacuum(at: target.url)
    }
    let after = try bytes()
    try output.put(
      ["before": before, "after": after], line: "\(before) bytes before, \(after) after")
  }

  private func bytes() throws -> Int {
    let size = try FileManager.default.attributesOfItem(atPath: target.url.path)[.size] as? NSNumber
    return size?.intValue ?? 0
  }
}
