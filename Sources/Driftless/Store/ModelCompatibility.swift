public import Foundation

/// Whether a store was written with a model.
extension ManagedObjectModel {
  /// Whether a store with this metadata was written with this model, or with one that differs in
  /// nothing that a store depends on.
  ///
  /// A file that Core Data wrote is recognised by a model of a `.momd`, which has Core Data's
  /// hashes; a model from another source cannot tell, and the answer is false.
  /// - Parameters:
  ///   - configuration: nil for all entities.
  ///   - metadata: as a store has it, under Core Data's keys. Without hashes it is compatible with
  ///     nothing.
  @_disfavoredOverload
  public func isConfiguration(
    withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
  ) -> Bool {
    isConfiguration(configuration, compatibleWith: metadata)
  }

  /// As ``isConfiguration(withName:compatibleWithStoreMetadata:)``.
  package func isConfiguration(
    _ configuration: String?, compatibleWith metadata: [String: Any]
  ) -> Bool {
    // Core Data lists the members alone; our stores list what they inherit from as well.
    let members = entities(forConfigurationName: configuration)?.map(\.name)
    guard let members, metadata[StoreMetadata.versionHashesKey] is [String: Data],
      let all = StoreConfiguration.entityNames(of: configuration, in: self)
    else { return false }
    return [all, Set(members)].contains { incompatibleEntities(metadata, among: $0).isEmpty }
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
    isConfiguration(
      withName: configuration,
      compatibleWithStoreMetadata: [StoreMetadata.versionHashesKey: hashes])
  }

  /// The entities, sorted by name, in which a store's metadata and the model differ: by neither
  /// Core Data's hash nor our own they are the same.
  package func incompatibleEntities(
    _ metadata: [String: Any], among names: Set<String>
  ) -> [String] {
    let stored = metadata[StoreMetadata.versionHashesKey] as? [String: Data] ?? [:]
    let storedOwn = metadata[StoreMetadata.ownVersionHashesKey] as? [String: Data] ?? [:]
    let (mine, own) = (entityVersionHashesByName, ownVersionHashesByName)
    return names.union(stored.keys).filter { name in
      guard names.contains(name) else { return true }
      let written = Set([stored[name], storedOwn[name]].compactMap { $0 })
      return written.isDisjoint(with: [mine[name], own[name]].compactMap { $0 })
    }.sorted()
  }

  /// Those of several models, as one, that a store with this metadata was written with; nil when
  /// they do not account for each of the store's entities.
  ///
  /// A model takes part when it has entities of the store and each of them with the store's hash;
  /// of two that describe the same entities the first does. Versions of one model may therefore be
  /// given together.
  /// - Throws: ``ModelError`` when models that take part describe a further entity differently.
  @_disfavoredOverload
  public convenience init?(
    byMerging models: [ManagedObjectModel], forStoreMetadata metadata: [String: Any]
  ) throws(ModelError) {
    let stored = metadata[StoreMetadata.versionHashesKey] as? [String: Data] ?? [:]
    var missing = Set(stored.keys)
    var chosen: [ManagedObjectModel] = []
    // The model that accounts for most entities first: then few are merged, or one.
    for model in models.sorted(by: { $0.common(stored).count > $1.common(stored).count }) {
      let common = model.common(stored)
      guard !common.isDisjoint(with: missing),
        model.incompatibleEntities(metadata, among: common).allSatisfy({ !common.contains($0) })
      else { continue }
      chosen.append(model)
      missing.subtract(common)
    }
    guard !stored.isEmpty, missing.isEmpty else { return nil }
    try self.init(byMerging: chosen)
  }

  /// The model that a store with this metadata was written with, out of every version of every
  /// model that the bundles hold; nil when none fits.
  ///
  /// - Parameters:
  ///   - bundles: nil for the main bundle.
  ///   - metadata: The store's, under Core Data's keys.
  /// - Throws: ``ModelError`` when a model cannot be read.
  @_disfavoredOverload
  public static func mergedModel(
    from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) throws(ModelError) -> ManagedObjectModel? {
    var models: [ManagedObjectModel] = []
    for url in modelURLs(in: bundles) {
      for version in try versions(at: url) { models.append(try version.model()) }
    }
    return try ManagedObjectModel(byMerging: models, forStoreMetadata: metadata)
  }

  private func common(_ stored: [String: Data]) -> Set<String> {
    Set(entities.map(\.name)).intersection(stored.keys)
  }
}
