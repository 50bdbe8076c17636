import ArgumentParser
import DriftlessSync
import Foundation
import SyncDaemon

struct StatusCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show where a store stands.")

  @OptionGroup var target: StoreArguments
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let store = try target.open(reading: true)
    let report = try StatusReport(
      of: store, at: target.url, daemon: await Self.daemon(of: target.url))
    try output.put(report, lines: report.lines)
  }

  /// The daemon that keeps the store, if one answers.
  private static func daemon(of store: URL) async -> StatusReport.Daemon? {
    guard let client = DaemonClient(store: store),
      let reply = try? await client.ask(DaemonRequest(.status, store: store.path))
    else { return nil }
    return StatusReport.Daemon(
      pid: reply.pid, socket: client.socket, state: reply.stores.first)
  }
}
