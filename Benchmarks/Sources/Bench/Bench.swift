import CLimits
import Driftless
import Foundation

/// Ours against the limit in C and against peers, in one run.
@main
struct Bench {
  static func main() async throws {
    let words = CommandLine.arguments.dropFirst()
    if words.first == Program.countingWord { return try Program.count(Array(words.dropFirst())) }
    let environment = ProcessInfo.processInfo.environment
    // ROWS=fetch,sync: these groups alone.
    let groups = Set((environment["ROWS"] ?? "").split(separator: ",").map(String.init))
    let sizes = (environment["SIZES"] ?? "10000,100000,480000")
      .split(separator: ",").compactMap { Int($0) }
    if environment["PROGRAMS"] != nil {
      // The programs alone.
      let folder = FileManager.default.temporaryDirectory
      let rows = try ProgramRows(programs: folderOfPrograms(), folder: folder).run(sizes)
      return print(ProgramRows.table(rows))
    }
    let count = Int(environment["COUNT"] ?? "") ?? 100_000
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("driftless-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let items = Items(count: count)
    func isAsked(_ group: String) -> Bool { groups.isEmpty || groups.contains(group) }
    var programs: [ProgramRows.Row] = []
    if isAsked("programs") {
      programs = try ProgramRows(programs: Self.folderOfPrograms(), folder: folder).run(sizes)
    }
    var rows: [Row] = []
    if isAsked("store") { rows += try StoreRows(items: items, folder: folder).run() }
    if isAsked("fetch") { rows += try FetchRows(items: items, folder: folder).run() }
    if isAsked("accessors") { rows += try AccessorRows(items: items, folder: folder).run() }
    if isAsked("scale") { rows += try ScaleRows(items: items, folder: folder).run() }
    if isAsked("graph") { rows += try GraphRows(folder: folder).run() }
    if isAsked("sync") { rows += try await SyncRows(items: items, folder: folder).run() }
    // They take some minutes, and are asked for by name.
    if groups.contains("zones") { rows += try await ZoneRows(items: items, folder: folder).run() }
    print(table(rows, count: count))
    if !programs.isEmpty { print(ProgramRows.table(programs)) }
    if CommandLine.arguments.count > 1 {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys]
      var lines = Data()
      for row in rows { lines += try encoder.encode(row) + Data("\n".utf8) }
      for row in programs { lines += try encoder.encode(row) + Data("\n".utf8) }
      try lines.write(to: URL(fileURLWithPath: CommandLine.arguments[1]))
    }
  }

  /// The programs are built beside the benchmarks.
  private static func folderOfPrograms() -> URL {
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  }

  private static func table(_ rows: [Row], count: Int) -> String {
    func pad(_ text: String, _ width: Int, left: Bool = false) -> String {
      let fill = String(repeating: " ", count: max(0, width - text.count))
      return left ? text + fill : fill + text
    }
    var lines = [
      "\(count) objects of 6 attributes; medians of interleaved rounds, CPU time of the process",
      pad("work", 46, left: true) + pad("ours", 12) + pad("limit", 12) + pad("ratio", 8)
        + pad("aim", 7) + "  peer",
    ]
    for row in rows {
      func amount(_ value: UInt64) -> String {
        row.name.hasPrefix("bytes") ? "\(value) B" : String(format: "%.1f ms", Double(value) / 1e6)
      }
      let aim = row.aim.map { String(format: "%.2f", $0) } ?? ""
      let peer =
        row.peer.map { "\($0) " + String(format: "%.2f", row.peerRatio ?? 0) } ?? ""
      lines.append(
        pad(row.name, 46, left: true) + pad(amount(row.ours), 12) + pad(amount(row.limit), 12)
          + pad(String(format: "%.2f", row.ratio), 8) + pad(aim, 7) + "  \(peer)")
    }
    return lines.joined(separator: "\n")
  }
}
