import Foundation

/// The model files of real projects that lie beside the package.
enum RealModels {
  private static let data = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("shared/data")

  /// Each `.xcdatamodel`. Empty, with a line that says so, when they are not there.
  static func urls() -> [URL] { files(in: "xcdatamodel") { $0.hasSuffix(".xcdatamodel") } }

  /// Each `.mom` that Core Data's compiler wrote, in its `.momd`.
  static func compiled() -> [URL] { files(in: "core-data-stores") { $0.hasSuffix(".mom") } }

  /// Each `.momd`.
  static func compiledBundles() -> [URL] {
    files(in: "core-data-stores") { $0.hasSuffix(".momd") }
  }

  /// The file of a store that Core Data wrote; nil when it is not there.
  static func store(_ name: String) -> URL? {
    files(in: "core-data-stores") { $0.hasSuffix("/\(name)") }.first
  }

  /// The XML of a model by its version's name; nil when it is not there.
  static func source(_ bundle: String, _ version: String) -> URL? {
    urls().first {
      $0.deletingPathExtension().lastPathComponent == version
        && $0.deletingLastPathComponent().lastPathComponent == "\(bundle).xcdatamodeld"
    }
  }

  private static func files(in name: String, where matches: (String) -> Bool) -> [URL] {
    let folder = data.appendingPathComponent(name)
    guard FileManager.default.fileExists(atPath: folder.path) else {
      print("../shared/data/\(name) is not here: nothing real is read")
      return []
    }
    var urls: [URL] = []
    let names = FileManager.default.enumerator(atPath: folder.path)
    while let name = names?.nextObject() as? String {
      if matches(name) { urls.append(folder.appendingPathComponent(name)) }
    }
    return urls.sorted { $0.path < $1.path }
  }
}
