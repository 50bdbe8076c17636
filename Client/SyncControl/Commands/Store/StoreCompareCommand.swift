import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct StoreCompareCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Tell how the schemas of two files differ.",
    discussion: """
      Compares tables, columns, indexes, the numbers of entities and version hashes; the order of \
      columns is no difference. Ends with 1 when there are differences. A file that Core Data \
      wrote beside one that was made here shows whether the two lie alike.

      Example: syncctl store compare theirs.sqlite shop.sqlite
      """)

  @Argument(help: "A store's file.", completion: .file())
  var first: String
  @Argument(help: "Another.", completion: .file())
  var second: String
  @Flag(name: .long, help: "Compare the tables that Driftless adds (ZDL_…) too.")
  var all = false
  @OptionGroup var output: OutputOptions

  private struct Report: Encodable {
    var differences: [SchemaComparison.Difference]
  }

  func perform() throws {
    func url(_ path: String) -> URL {
      URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath()
    }
    for path in [first, second] { try StoreAccess.requireFile(at: url(path)) }
    let found = try SchemaComparison(url(first), url(second), includesOwn: all).differences
    try output.put(
      Report(differences: found),
      lines: found.isEmpty ? ["the schemas are the same"] : found.map(Self.line))
    if !found.isEmpty { throw ExitCode(ExitStatus.failed.rawValue) }
  }

  private static func line(_ difference: SchemaComparison.Difference) -> String {
    let name = "\(difference.kind.rawValue) \(difference.name): "
    switch (difference.first, difference.second) {
    case (let first?, let second?): return name + "\(first) | \(second)"
    case (let first?, nil): return name + "only the first file has it: \(first)"
    case (nil, let second): return name + "only the second file has it: \(second ?? "")"
    }
  }
}
