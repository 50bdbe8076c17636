import ArgumentParser
import DriftlessSync
import SyncDaemon

struct DigestCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "digest", abstract: "Print the SHA-256 of a store's export.",
    discussion: "Example: syncctl digest --store shop.sqlite")

  @OptionGroup var target: StoreArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let (digest, objects) = try ReplicaExport.digest(of: try target.open(reading: true))
    try output.put(Report(digest: digest, objects: objects), line: digest)
  }

  private struct Report: Encodable {
    var digest: String
    var objects: Int
  }
}
