import ArgumentParser
import Foundation
import SyncDaemon

struct StatusCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show where a store stands, or all stores of a daemon.",
    discussion: """
      The first line says it in a word and a sentence. It is what is known here: the server is not \
      asked. With --check the exit code says it too, for a monitor:

      \(checkCodes)

      Without --store it is a line for each store of the daemon that is found first: at --socket, or \
      where syncd usually listens. With --json that is an array, and --check ends with the greatest \
      code of a store: one that cannot be looked at counts with the code of that failure.

      Example: syncctl status --store shop.sqlite --check
      """)

  @OptionGroup var target: LookedAtArguments
  @Flag(name: .long, help: "End with the exit code of the state.")
  var check = false
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    guard let store = target.store else { return try await showAll() }
    let url = StoreArguments.url(of: store)
    try StoreAccess.requireFile(at: url)
    let report = try await WaitNotice(output: output).during({
      "the store to be looked at, \(url.path)"
    }) {
      try await StatusLook().report(of: url)
    }
    try output.put(report, coloured: report.colouredLines)
    try end(with: report.state.exitCode)
  }

  private func showAll() async throws {
    let places = target.places
    let report = try await WaitNotice(output: output).during({ "the stores of the daemon" }) {
      await StoresReport(of: try FoundDaemon.find(at: places))
    }
    try output.put(report.rows, lines: report.lines)
    try end(with: report.exitCode)
  }

  private func end(with code: Int32) throws {
    if check, code != StatusVerdict.inStep.exitCode { throw ExitCode(code) }
  }

  private static var checkCodes: String {
    StatusVerdict.allCases.map { "\($0.exitCode)  \($0.rawValue): \($0.meaning)" }
      .joined(separator: "\n")
  }
}
