import ArgumentParser
import Driftless
import SyncDaemon

struct StoreAdoptCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "adopt",
    abstract: "Prepare a file of Core Data's for being copied to several hosts.",
    discussion: """
      Opening a file of Core Data's for writing the first time gives its objects their ids, by what the file holds: copies of one \
      file that nobody wrote to have the same ones, wherever and by whichever command each is opened. This command does that \
      and no more, and prints the digest of the content. A file that an earlier version of Driftless opened first has ids of \
      its own: run this once before it is copied. A file that Driftless made stays as it is.
      Copy the file with its folder of large values, where it has one (.NAME_SUPPORT).

      Example: syncctl store adopt Recipes.sqlite
      """)

  @OptionGroup var target: StoreFileArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(output)
    defer { store.close() }
    let count = try store.adopt()
    let digest = try store.contentDigest()
    let line =
      if count > 0 {
        "\(count) object\(count == 1 ? " has its id" : "s have their ids") now, in every copy of the file"
      } else if let digest {
        "the objects have their ids, as in every copy with this content: \(digest)"
      } else {
        "nothing to do: copies of the file have the same ids already"
      }
    try output.put(Adoption(objects: count, contentDigest: digest), line: line)
  }

  private struct Adoption: Encodable {
    var objects: Int
    var contentDigest: String?
  }
}
