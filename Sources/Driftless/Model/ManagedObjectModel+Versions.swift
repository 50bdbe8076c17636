public import Foundation

extension ManagedObjectModel {
  /// One short text for the whole model: Base64 of SHA-256 over the entities' hashes, sorted by the
  /// entities' names, as Core Data composes it. Empty before the model is frozen.
  public var versionChecksum: String {
    guard isFrozen else { return "" }
    let hashes = entityVersionHashesByName.sorted {
      $0.key.utf8.lexicographicallyPrecedes($1.key.utf8)
    }
    return Data(SHA256Digest.hash(hashes.flatMap { Array($0.value) })).base64EncodedString()
  }

  /// Whether a store with these hashes, by entity name, was written with this model or with one
  /// that differs in nothing that a store depends on.
  ///
  /// - Parameters:
  ///   - configuration: nil for all entities.
  ///   - hashes: the entity hashes in the store's metadata.
  public func isConfiguration(
    withName configuration: String?, compatibleWithVersionHashes hashes: [String: Data]
  ) -> Bool {
    guard isFrozen, let entities = entities(forConfigurationName: configuration) else {
      return false
    }
    return hashes.count == entities.count
      && entities.allSatisfy { hashes[$0.name] == entityVersionHashesByName[$0.name] }
  }
}
