import ArgumentParser
import Driftless
import DriftlessSync
import SyncDaemon

struct StoreCheckCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check every table of a store by the rules that hold in it.",
    discussion: """
      Ends with 65 when something is damaged, with 1 when parts disagree. A row that another program changed without \
      history keeps every rule: syncctl verify compares with the zone.

      Example: syncctl store check shop.sqlite
      """)

  @OptionGroup var target: StoreFileArguments
  @OptionGroup var output: OutputOptions

  private struct Report: Encodable {
    var objects: Int
    var findings: [StoreCheck.Finding]
  }

  /// What has a person run this very command.
  private static let itself = "store check"

  func perform() throws {
    let check: StoreCheck
    do {
      check = try SyncEngine.check(target.inspect(output))
    } catch {
      throw Failure(error).leavingOut(Self.itself)
    }
    let lines = check.findings.map { "\($0.weight.rawValue): \($0.message)" }
    let tries = check.findings.map {
      AdvisedCommand.leavingOut(Self.itself, in: $0.suggestion)
    }.reduce(into: [String]()) {
      if !$1.isEmpty, !$0.contains($1) { $0.append($1) }
    }
    try output.put(
      Report(objects: check.objectCount, findings: check.findings),
      lines: lines.isEmpty
        ? ["ok: \(check.objectCount) object\(check.objectCount == 1 ? "" : "s")"]
        : lines
          + AdvisedCommand.naming(store: target.file, in: tries.map { "Try: \($0)" }))
    if check.findings.contains(where: { $0.weight == .damage }) {
      throw ExitCode(ExitStatus.badData.rawValue)
    }
    if !check.isSound { throw ExitCode(ExitStatus.failed.rawValue) }
  }
}
