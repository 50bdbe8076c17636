import Foundation

/// The files that Core Data wrote on a Mac, which lie beside the package.
enum SharedFiles {
  /// Nil, with a line that says so, where the shared folder is absent.
  static func url(_ path: String) -> URL? {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let url = root.appendingPathComponent("shared/data/\(path)")
    guard FileManager.default.fileExists(atPath: url.path) else {
      print("skipped: \(url.lastPathComponent) of the shared data is absent")
      return nil
    }
    return url
  }

  static let stores = [
    "core-data-stores/Recipes.sqlite", "core-data-stores/Bookmarks/Bookmarks_V1.sqlite",
    "core-data-stores/SampleModel/SampleModel_V2.sqlite",
    "core-data-stores/SampleModel2/SampleModel2_V1.sqlite",
  ]
}
