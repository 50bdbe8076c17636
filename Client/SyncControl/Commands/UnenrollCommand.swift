import ArgumentParser
import DriftlessSync
import Foundation
import SyncDaemon

struct UnenrollCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "unenroll", abstract: "Take a store out of its zone.",
    discussion: """
      The store keeps its objects, its history and its journal, and may be enrolled again, with this \
      zone or another: it offers all that it holds then. The zone keeps what it has, and alone what \
      the store had set aside of whole entries (syncctl parked). The token, the authorities and the certificate of \
      this host beside the store go. Stop what syncs the store first; the server's operator revokes the token.

      Example: syncctl unenroll --store shop.sqlite
      """)

  @OptionGroup var target: StoreArguments
  @Flag(name: .long, help: "Also with edits that were not sent: they stay in the store alone.")
  var leaveUnsent = false
  @Flag(
    name: .long,
    help: "Also with large values that were not fetched: they stay in the zone alone.")
  var leaveValues = false
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open()
    let zone = try SyncEngine.status(of: store).zone
    try SyncEngine.unenroll(store: store, leavingUnsent: leaveUnsent, leavingValues: leaveValues)
    try TokenFile.remove(forStore: target.url)
    EnrolmentFile.remove(forStore: target.url)
    try AuthorityFile.remove(forStore: target.url)
    try ClientCertificateFile.remove(forStore: target.url)
    try output.put(
      Report(store: target.url.path, zone: zone),
      line: "\(target.store) is not a replica of zone \(zone ?? "unknown") any more")
  }

  private struct Report: Encodable {
    var store: String
    var zone: String?
  }
}
