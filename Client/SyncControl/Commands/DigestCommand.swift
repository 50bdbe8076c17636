import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct DigestCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "digest", abstract: "Print the SHA-256 of a store's export.",
    discussion: """
      Equal states have equal digests. It is of all values: where one cannot be read, or lies in a file beside the store \
      that is gone, there is none, and the command ends with 65 and says which (syncctl export leaves such values out).

      Example: syncctl digest --store shop.sqlite
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(reading: true)
    let digest: String
    let objects: Int
    do {
      (digest, objects) = try ReplicaExport.digest(of: store)
    } catch let error as StoreError where error.code == .lostFile {
      throw try Self.lost(in: store) ?? error
    }
    try output.put(Report(digest: digest, objects: objects), line: digest)
  }

  /// Which values are missing: a digest without them would be of another state.
  private static func lost(in store: PersistentStore) throws -> StoreError? {
    let lost = try store.lostValues()
    guard let first = lost.first else { return nil }
    let identity = try store.read { try $0.identity(of: first.object) }.uuidString.lowercased()
    let others = lost.count == 1 ? "" : ", and \(lost.count - 1) more"
    return StoreError(
      .lostFile,
      "There is no digest without \(first.entity).\(first.property) of \(identity), which lies in a file that is gone, cut off, "
        + "or cannot be read: \(first.file.path)\(others).",
      suggestion:
        "Put the file back from a copy of the folder, or take what the zone has: syncctl verify --repair. syncctl export "
        + "prints all else.")
  }

  private struct Report: Encodable {
    var digest: String
    var objects: Int
  }
}
