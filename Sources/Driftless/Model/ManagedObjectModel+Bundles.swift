public import Foundation

extension ManagedObjectModel {
  /// One model of all that the bundles hold, of bundles the current version; nil when they hold
  /// none.
  ///
  /// A bundle's models are looked for at the top of its resources, and in the resource bundles
  /// (`.bundle`, `.resources`) that Swift packages put there.
  /// - Parameter bundles: nil for the main bundle, which for an executable is its folder.
  /// - Throws: ``ModelError`` when a model cannot be read, or when two describe an entity
  ///   differently.
  @_disfavoredOverload
  public static func mergedModel(
    from bundles: [Bundle]? = nil
  ) throws(ModelError) -> ManagedObjectModel? {
    var models: [ManagedObjectModel] = []
    for url in modelURLs(in: bundles) { models.append(try ManagedObjectModel(contentsOf: url)) }
    return models.isEmpty ? nil : try ManagedObjectModel(byMerging: models)
  }

  /// Where models and mapping models of bundles are looked for: at the top of their resources, and in the resource bundles of
  /// Swift packages there; nil for the main bundle.
  package static func resourceFolders(in bundles: [Bundle]?) -> [URL] {
    // A folder named Resources in a bundle is taken for the place of all its resources.
    (bundles ?? [.main]).flatMap { [$0.resourceURL, $0.bundleURL].compactMap { $0 } }.flatMap {
      folder in
      [folder] + contents(of: folder).filter { ["bundle", "resources"].contains($0.pathExtension) }
    }
  }

  /// The files of the models that the bundles hold; nil for the main bundle.
  package static func modelURLs(in bundles: [Bundle]?) -> [URL] {
    let found = resourceFolders(in: bundles).flatMap { contents(of: $0).filter(isModel) }
    var seen: Set<String> = []
    return found.filter { seen.insert($0.standardizedFileURL.path).inserted }
  }

  private static func contents(of folder: URL) -> [URL] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().map { folder.appendingPathComponent($0) }
  }

  private static func isModel(_ url: URL) -> Bool {
    ["xcdatamodeld", "xcdatamodel", "momd", "mom"].contains(url.pathExtension)
  }
}
