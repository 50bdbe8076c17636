import Foundation
import ModelXML

/// An `.xcdatamodeld` with its versions, or one `.xcdatamodel`.
struct EditedModel {
  struct Version {
    var name: String
    /// The file `contents`, and its bytes.
    var file: URL
    var data: Data
  }

  private let versions: [Version]
  /// The one that an application works with.
  let current: Version

  /// - Throws: ``Mistake``, which names the file.
  init(at url: URL) throws {
    if url.pathExtension == "xcdatamodel" {
      current = try Self.version(url)
      versions = [current]
      return
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
      .filter { $0.hasSuffix(".xcdatamodel") }.sorted()
    versions = try names.map { try Self.version(url.appendingPathComponent($0)) }
    let marker = url.appendingPathComponent(".xccurrentversion")
    let list = try Self.bytes(of: marker).flatMap {
      try? PropertyListSerialization.propertyList(from: $0, format: nil) as? [String: Any]
    }
    let name = (list?["_XCCurrentVersionName"] as? String) ?? (names.count == 1 ? names[0] : nil)
    guard let name else {
      throw Mistake(
        versions.isEmpty
          ? "it holds no .xcdatamodel"
          : "nothing says which of \(names.joined(separator: ", ")) is current: write "
            + ".xccurrentversion with the key _XCCurrentVersionName", at: url)
    }
    guard let found = versions.first(where: { "\($0.name).xcdatamodel" == name }) else {
      throw Mistake("the current version \(name) is not there", at: marker)
    }
    current = found
  }

  private static func version(_ url: URL) throws -> Version {
    let file = url.appendingPathComponent("contents")
    guard let data = try bytes(of: file) else {
      throw Mistake(
        "it has no file contents that can be read: save it in Xcode in the XML format", at: url)
    }
    return Version(name: url.deletingPathExtension().lastPathComponent, file: file, data: data)
  }

  /// A plain file's bytes; nil where there is none that can be read.
  /// - Throws: ``Mistake`` for one that is larger than any of a model, before it is read.
  private static func bytes(of file: URL) throws -> Data? {
    let attributes = try? FileManager.default.attributesOfItem(
      atPath: file.resolvingSymlinksInPath().path)
    guard let attributes, attributes[.type] as? FileAttributeType == .typeRegular else {
      return nil
    }
    guard let size = attributes[.size] as? Int, size <= ModelXML.bytesMax else {
      throw Mistake(
        "it has more than \(ModelXML.bytesMax) bytes, and no more are read of a model", at: file)
    }
    return try? Data(contentsOf: file)
  }

  /// Writes the bundle anew: the versions as `.mom`, and which one is current.
  func write(to bundle: URL) throws {
    try? FileManager.default.removeItem(at: bundle)
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
    for version in versions {
      try version.data.write(to: bundle.appendingPathComponent("\(version.name).mom"))
    }
    let info = ["NSManagedObjectModel_CurrentVersionName": current.name]
    try PropertyListSerialization.data(fromPropertyList: info, format: .xml, options: 0)
      .write(to: bundle.appendingPathComponent("VersionInfo.plist"))
  }
}
