import ArgumentParser
import Driftless
import SyncDaemon

struct StoreAdoptCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "adopt",
    abstract: "Prepare a file of Core Data's for being copied to several hosts.",
    discussion: """
      Run it once, before the file is shipped: its objects get their ids, and copies of it that sync \
      with one zone have each object once. Of a file that was not prepared, each copy brings all \
      of its objects without unique keys to the zone as its own. A file that was prepared, or that \
      Driftless made, stays as it is.
      Copy the file with its folder of large values, where it has one (.NAME_SUPPORT).

      Example: syncctl store adopt Recipes.sqlite
      """)

  @OptionGroup var target: StoreFileArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(output)
    defer { store.close() }
    let count = try store.adopt()
    let isDone = count == 0
    try output.put(
      ["objects": count],
      lines: [
        isDone
          ? "nothing to do: copies of the file have the same ids already"
          : "\(count) object\(count == 1 ? " has its id" : "s have their ids") now, in every copy of the file"
      ])
  }
}
