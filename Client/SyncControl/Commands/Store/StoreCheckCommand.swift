import ArgumentParser
import Driftless
import SyncDaemon

struct StoreCheckCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check pages, keys, references and history of a store.",
    discussion: "Ends with 65 when something is damaged, with 1 when parts disagree.")

  @OptionGroup var target: StoreFileArguments
  @OptionGroup var output: OutputOptions

  private struct Report: Encodable {
    var objects: Int
    var findings: [StoreCheck.Finding]
  }

  func perform() throws {
    let check = try target.inspect(output).check()
    let lines = check.findings.map { "\($0.weight.rawValue): \($0.message)" }
    try output.put(
      Report(objects: check.objectCount, findings: check.findings),
      lines: lines.isEmpty
        ? ["ok: \(check.objectCount) objects"]
        : lines + ["Try: keep a copy, and restore a backup or enroll anew"])
    if check.findings.contains(where: { $0.weight == .damage }) {
      throw ExitCode(ExitStatus.badData.rawValue)
    }
    if !check.isSound { throw ExitCode(ExitStatus.failed.rawValue) }
  }
}
