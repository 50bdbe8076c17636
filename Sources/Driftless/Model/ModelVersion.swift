public import Foundation

/// One version of a model on disk.
public struct ModelVersion: Sendable {
  /// The name, without an extension.
  public let name: String
  /// The `.xcdatamodel`, `.mom` or `contents` of the version.
  public let url: URL
  /// Whether a model that is read from the bundle is of this version.
  public let isCurrent: Bool
  /// The hashes that Core Data's compiler wrote; empty for a version that is not compiled.
  public let entityVersionHashes: [String: Data]
  /// The checksum that Core Data's compiler wrote, as Xcode 15 and later do.
  let recordedChecksum: String?

  /// Reads the model, which can then be changed.
  /// - Throws: ``ModelError``, which names the file or the element that is wrong.
  public func model() throws(ModelError) -> ManagedObjectModel { try ManagedObjectModel(self) }
}

extension ManagedObjectModel {
  /// The versions that an `.xcdatamodeld` or a `.momd` holds, sorted by name; for another model the
  /// one that it is.
  ///
  /// - Throws: ``ModelError`` when there is nothing at the URL, or no version in the bundle.
  public static func versions(at url: URL) throws(ModelError) -> [ModelVersion] {
    guard ModelFile.exists(url) else {
      throw ModelError(
        .unreadable, element: url.path, "there is no such file or folder",
        suggestion: "Give the path of an .xcdatamodeld, .xcdatamodel, .momd or .mom.")
    }
    switch url.pathExtension {
    case "xcdatamodeld":
      let marker = try ModelFile.propertyList(url.appendingPathComponent(".xccurrentversion"))
      let current = marker?["_XCCurrentVersionName"] as? String
      return try versions(in: url, "xcdatamodel", current: current, info: [:])
    // A compiled bundle is one by what it holds: some go by another name.
    case _ where ModelFile.isCompiledBundle(url):
      let info = try ModelFile.propertyList(url.appendingPathComponent("VersionInfo.plist")) ?? [:]
      let current = info["NSManagedObjectModel_CurrentVersionName"] as? String
      return try versions(in: url, "mom", current: current.map { "\($0).mom" }, info: info)
    case "mom" where ModelFile.isCompiledBundle(url.deletingLastPathComponent()):
      let info =
        try ModelFile.propertyList(
          url.deletingLastPathComponent().appendingPathComponent("VersionInfo.plist")) ?? [:]
      return [version(at: url, isCurrent: true, info: info)]
    default: return [version(at: url, isCurrent: true, info: [:])]
    }
  }

  /// For each version of a model on disk the checksum that Core Data's compiler wrote, or else our
  /// own.
  ///
  /// - Throws: ``ModelError`` when a version cannot be read.
  public static func checksumsForVersionedModel(at url: URL) throws(ModelError) -> [String: String]
  {
    var checksums: [String: String] = [:]
    for version in try versions(at: url) {
      if let recorded = version.recordedChecksum {
        checksums[version.name] = recorded
      } else {
        let model = try version.model()
        try model.freeze()
        checksums[version.name] = model.versionChecksum
      }
    }
    return checksums
  }

  private static func versions(
    in bundle: URL, _ pathExtension: String, current: String?, info: [String: Any]
  ) throws(ModelError) -> [ModelVersion] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: bundle.path)) ?? []
    let suffix = ".\(pathExtension)"
    // By the name alone: a dot comes after the space of `Shop 2`.
    let files = names.filter { $0.hasSuffix(suffix) }
      .sorted { $0.dropLast(suffix.count) < $1.dropLast(suffix.count) }
    guard !files.isEmpty else {
      throw ModelError(
        .unreadable, element: bundle.path, "it holds no .\(pathExtension)",
        suggestion: "Check that the bundle was copied whole.")
    }
    if let current, !files.contains(current) {
      throw ModelError(
        .unreadable, element: bundle.path, "its current version \(current) is not there",
        suggestion: "Give the path of one of \(files.joined(separator: ", ")) in it.")
    }
    return files.map { file in
      version(
        at: bundle.appendingPathComponent(file),
        isCurrent: current.map { $0 == file } ?? (files.count == 1), info: info)
    }
  }

  private static func version(
    at url: URL, isCurrent: Bool, info: [String: Any]
  ) -> ModelVersion {
    let name = url.deletingPathExtension().lastPathComponent
    let hashes = info["NSManagedObjectModel_VersionHashes"] as? [String: Any]
    let checksums = info["NSManagedObjectModel_VersionChecksums"] as? [String: Any]
    return ModelVersion(
      name: name, url: url, isCurrent: isCurrent,
      entityVersionHashes: hashes?[name] as? [String: Data] ?? [:],
      recordedChecksum: checksums?[name] as? String)
  }
}
