import ArgumentParser
import DriftlessSync
import Foundation
import SyncDaemon

struct StatusCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show where a store stands.",
    discussion: """
      The first line says it in a word and a sentence. It is what is known here: the server is not \
      asked. With --check the exit code says it too, for a monitor:

      \(checkCodes)
      """)

  @OptionGroup var target: StoreArguments
  @Flag(name: .long, help: "End with the exit code of the state.")
  var check = false
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let (store, obstacle) = try target.look()
    let daemon = await WaitNotice(output: output).during({ "the daemon that keeps the store" }) {
      await Self.daemon(of: target.url)
    }
    var report = try StatusReport(of: store, at: target.url, daemon: daemon)
    report.obstacle = obstacle
    try output.put(report, lines: report.lines)
    if check, report.state != .inStep { throw ExitCode(report.state.exitCode) }
  }

  private static var checkCodes: String {
    StatusVerdict.allCases.map { "\($0.exitCode)  \($0.rawValue): \($0.meaning)" }
      .joined(separator: "\n")
  }

  /// The daemon that keeps the store, if there is one.
  private static func daemon(of store: URL) async -> StatusReport.Daemon? {
    guard let client = DaemonClient(store: store) else { return nil }
    do {
      guard let reply = try await client.ask(DaemonRequest(.status, store: store.path)) else {
        return nil
      }
      return StatusReport.Daemon(
        pid: reply.pid, socket: client.socket, state: reply.stores.first)
    } catch {
      return error.code == "daemon-silent"
        ? StatusReport.Daemon(pid: client.pid, socket: client.socket, isSilent: true) : nil
    }
  }
}
