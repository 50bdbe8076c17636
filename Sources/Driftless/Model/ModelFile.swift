public import Foundation

/// A model on disk: an `.xcdatamodeld` bundle, an `.xcdatamodel` folder, or its `contents`.
enum ModelFile {
  /// The file with the XML of the current version.
  static func contents(of url: URL) throws(ModelError) -> URL {
    let path = url.path
    guard FileManager.default.fileExists(atPath: path) else {
      throw ModelError(
        .unreadable, element: path, "there is no such file or folder",
        suggestion: "Give the path of an .xcdatamodeld or .xcdatamodel.")
    }
    switch url.pathExtension {
    case "xcdatamodeld": return try contents(of: currentVersion(of: url))
    case "xcdatamodel":
      let contents = url.appendingPathComponent("contents")
      guard FileManager.default.fileExists(atPath: contents.path) else {
        let old = FileManager.default.fileExists(
          atPath: url.appendingPathComponent("elements").path)
        throw ModelError(
          .unsupportedFormat, element: path,
          old
            ? "it is in the binary format of before Xcode 4"
            : "it has no file named contents",
          suggestion: "Open it in Xcode and save it in the XML format.")
      }
      return contents
    case "mom", "momd":
      throw ModelError(
        .unsupportedFormat, element: path, "compiled models cannot be read",
        suggestion: "Give the .xcdatamodeld that it was compiled from.")
    default: return url
    }
  }

  private static func currentVersion(of bundle: URL) throws(ModelError) -> URL {
    let marker = bundle.appendingPathComponent(".xccurrentversion")
    if let data = try? Data(contentsOf: marker),
      let plist = try? PropertyListSerialization.propertyList(from: data, format: nil)
        as? [String: Any],
      let name = plist["_XCCurrentVersionName"] as? String
    {
      return bundle.appendingPathComponent(name)
    }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: bundle.path)) ?? []
    let versions = names.filter { $0.hasSuffix(".xcdatamodel") }.sorted()
    guard versions.count == 1 else {
      throw ModelError(
        .unreadable, element: bundle.path,
        versions.isEmpty
          ? "it holds no .xcdatamodel"
          : "it holds \(versions.count) versions and no .xccurrentversion says which is current",
        suggestion: "Give the path of one .xcdatamodel in it.")
    }
    return bundle.appendingPathComponent(versions[0])
  }
}

extension ManagedObjectModel {
  /// Reads a model from an `.xcdatamodeld` (its current version), an `.xcdatamodel`, or a `contents` file.
  ///
  /// - Throws: `ModelError`, which names the file or the element that is wrong.
  public convenience init(contentsOf url: URL) throws(ModelError) {
    let contents = try ModelFile.contents(of: url)
    let data: Data
    do {
      data = try Data(contentsOf: contents)
    } catch {
      throw ModelError(
        .unreadable, element: contents.path, "\(error)",
        suggestion: "Check that the file may be read.")
    }
    try self.init(xml: data, path: contents.path)
  }

  /// Reads a model from the XML of a `contents` file.
  public convenience init(xml data: Data, path: String = "the model") throws(ModelError) {
    self.init()
    try ModelReader(path: path).read(ModelElement.parse(data, from: path), into: self)
  }
}
