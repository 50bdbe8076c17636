import Foundation

/// The model files of real projects that lie beside the package.
enum RealModels {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("shared/data/xcdatamodel")

  /// Each `.xcdatamodel`. Empty, with a line that says so, when they are not there.
  static func urls() -> [URL] {
    guard FileManager.default.fileExists(atPath: folder.path) else {
      print("../shared/data/xcdatamodel is not here: no real model is read")
      return []
    }
    var urls: [URL] = []
    let names = FileManager.default.enumerator(atPath: folder.path)
    while let name = names?.nextObject() as? String {
      if name.hasSuffix(".xcdatamodel") { urls.append(folder.appendingPathComponent(name)) }
    }
    return urls.sorted { $0.path < $1.path }
  }
}
