import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct ModelGenerateCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate", abstract: "Write a Swift class with typed keys for every entity.",
    discussion: """
      The first line of a file that it writes is a mark. A file without it, or one that was changed \
      since, is left as it is and named, and the command ends with \(ExitStatus.failed.rawValue). What would not \
      change is not written. Files of classes that the model has no more are named, and stay.

      Example: syncctl model generate --model Shop.xcdatamodeld --folder Sources/Shop
      """)

  @OptionGroup var source: ModelArguments
  @Option(name: .long, help: "The folder to write to.", completion: .directory)
  var folder = "."
  @Option(name: .long, help: "The access level of the classes: internal, package or public.")
  var access = "internal"
  @Flag(name: .long, help: "Write over files that it did not write, or that were changed since.")
  var force = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard ["internal", "package", "public"].contains(access) else {
      throw ValidationError("--access is internal, package or public.")
    }
  }

  func perform() throws {
    let model = try source.read()
    let report = try ClassFolder(url: URL(fileURLWithPath: folder))
      .write(model, accessLevel: access, force: force)
    try output.put(report, lines: report.lines)
    if !report.left.isEmpty { throw ExitCode(ExitStatus.failed.rawValue) }
  }
}
