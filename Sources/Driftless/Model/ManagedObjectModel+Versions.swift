public import Foundation

extension ManagedObjectModel {
  /// One short text for the whole model: Base64 of SHA-256 over the entities' hashes, sorted by the
  /// entities' names, as Core Data composes it. Empty for a model that is wrong.
  public var versionChecksum: String {
    let byName = entityVersionHashesByName
    guard !byName.isEmpty || entities.isEmpty else { return "" }
    return Self.checksum(of: byName)
  }

  static func checksum(of byName: [String: Data]) -> String {
    let hashes = byName.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return Data(SHA256Digest.hash(hashes.flatMap { Array($0.value) })).base64EncodedString()
  }

  /// Whether a store with this metadata was written with this model, or with one that differs in
  /// nothing that a store depends on.
  ///
  /// A file that Core Data wrote is recognised by a model of a `.momd`, which has Core Data's
  /// hashes; a model from another source cannot tell, and the answer is false.
  /// - Parameters:
  ///   - configuration: nil for all entities.
  ///   - metadata: as a store has it, under Core Data's keys. Without hashes it is compatible with
  ///     nothing.
  public func isConfiguration(
    withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
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
}

extension ManagedObjectModel: Equatable {
  /// Whether two models say the same, whatever files they came from: entities, configurations,
  /// fetch requests, words and identifiers, but not what the editor alone needs.
  public static func == (a: ManagedObjectModel, b: ManagedObjectModel) -> Bool {
    if a === b { return true }
    guard let first = try? ModelArchive.meaning(of: a) else { return false }
    return first == (try? ModelArchive.meaning(of: b))
  }
}
