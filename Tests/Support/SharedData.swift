public import Foundation

/// The real data that lies beside a checkout where the larger tests run: files that Core Data wrote on a Mac, models of
/// real projects, what people edited and typed.
///
/// A test that reads of it says so, and counts as skipped elsewhere:
/// `@Test("…", .enabled(if: SharedData.has("chinook"), "no ../shared"))`.
public enum SharedData {
  /// The name of what is missing, and where.
  public struct Missing: Error, CustomStringConvertible {
    public let description: String
  }

  public static let folder = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
    url.deletingLastPathComponent()
  }.appendingPathComponent("shared/data")

  /// Stores that Core Data wrote.
  public static let stores = [
    "core-data-stores/Recipes.sqlite", "core-data-stores/Bookmarks/Bookmarks_V1.sqlite",
    "core-data-stores/SampleModel/SampleModel_V2.sqlite",
    "core-data-stores/SampleModel2/SampleModel2_V1.sqlite",
  ]

  /// Whether a folder or file of them is there.
  public static func has(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: url(path).path)
  }

  public static func url(_ path: String) -> URL { folder.appendingPathComponent(path) }

  /// What lies at any depth in a folder and has a name with this end, in the order of the paths.
  ///
  /// - Throws: `Missing` where that is nothing: a loop over nothing looks at nothing.
  public static func files(in path: String, withSuffix suffix: String) throws -> [URL] {
    let folder = url(path)
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String }
    let files = (names ?? []).filter { $0.hasSuffix(suffix) }.sorted()
      .map(folder.appendingPathComponent)
    guard !files.isEmpty else {
      throw Missing(description: "\(folder.path) has no file with a name that ends in \(suffix)")
    }
    return files
  }

  /// The content of a file of gzip's.
  public static func unpacked(_ path: String) throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-dc", url(path).path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Missing(description: "gzip -dc \(path) ended with \(process.terminationStatus)")
    }
    return data
  }
}
