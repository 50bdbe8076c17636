import ArgumentParser
import Foundation
import SyncDaemon

struct CodePortCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "port",
    abstract: "Change Swift source that uses Core Data so that it compiles here.",
    discussion: """
      Changes every .swift file under the folder in place: @NSManaged properties and accessors get \
      bodies, @objc, @objcMembers and dynamic go, #keyPath(Type.key) becomes a text. Comments, \
      texts, and branches of #if for other systems stay, and so do links, and folders whose names \
      begin with a dot. It says by PATH:LINE what it did and what is left to a person, with exit \
      code 1 where something is. Run it again after that: what is done, it does not do twice.

      Example: syncctl code port Sources/App --dry-run
      """)

  @Argument(help: "The folder with the source.", completion: .directory)
  var folder: String
  @Flag(name: .long, help: "Change nothing, and say what would be changed.")
  var dryRun = false
  @Flag(
    name: .long,
    help: "Leave @NSManaged as it is, for a package whose target uses CoreDataPlugin.")
  var keepManaged = false
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let report = try SourceTree(folder).port(dryRun: dryRun, keepsManaged: keepManaged)
    try output.put(report, lines: report.lines(dryRun: dryRun))
    if report.left > 0 { throw ExitCode(ExitStatus.failed.rawValue) }
  }
}
