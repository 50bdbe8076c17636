import DriftlessSQLite
package import Foundation

/// The version of a model that a file was written with.
package struct WritingVersion {
  package let version: ModelVersion
  package let model: ManagedObjectModel
  /// The configuration whose entities the file has; nil for all.
  package let configuration: String?

  /// Looks at a file without changing anything in it or beside it.
  ///
  /// - Returns: Nil when the file was written with none of the versions.
  /// - Throws: `StoreError` for a file that cannot be read, or is no store.
  package static func find(among versions: [ModelVersion], for url: URL) throws -> WritingVersion? {
    let (_, metadata) = try PersistentStore.metadata(at: url)
    // The current one first: it may differ from another in nothing that a file depends on.
    let ordered = versions.filter(\.isCurrent) + versions.filter { !$0.isCurrent }
    let candidates = ordered.compactMap { version in
      (try? version.model()).map { (version: version, model: $0) }
    }
    for (version, model) in candidates {
      let named = metadata.configurationName
      let possible = named.map { [$0] } ?? [nil] + model.configurations
      for configuration in possible
      where model.isConfiguration(
        withName: configuration, compatibleWithStoreMetadata: metadata.values)
      {
        return WritingVersion(version: version, model: model, configuration: configuration)
      }
    }
    guard metadata.format == 0 else { return nil }
    // Core Data's hashes are not ours to compute: versions without them are judged by the tables.
    for (version, model) in candidates where !model.hasRecordedHashes {
      let isMeant = try opening(url) { try $0.isWritten(with: model) }
      if isMeant { return WritingVersion(version: version, model: model, configuration: nil) }
    }
    return nil
  }

  private static func opening<Result>(
    _ url: URL, _ body: (StoreOpening) throws -> Result
  ) throws -> Result {
    try PersistentStore.onFile(url, .inspecting(url)) { connection in
      let file = StoreFile(url: url, options: .inspecting(url))
      return try body(StoreOpening(file: file, connection: connection))
    }
  }

  /// Why a file was written with none of the versions that can be read: what tells first of each, one sentence a version.
  package static func differences(
    among versions: [ModelVersion], for url: URL
  ) throws -> [String] {
    let (_, metadata) = try PersistentStore.metadata(at: url)
    return try versions.compactMap { version in
      guard let model = try? version.model(), (try? model.freeze()) != nil else { return nil }
      let isByHashes = metadata.format > 0 || model.hasRecordedHashes
      let text =
        isByHashes
        ? difference(of: model, metadata) : try opening(url) { try $0.difference(from: model) }
      return text.map { "\(version.name): \($0)" + ($0.hasSuffix(".") ? "" : ".") }
    }
  }

  /// By the hashes of entities.
  private static func difference(
    of model: ManagedObjectModel, _ metadata: StoreMetadata
  ) -> String? {
    let names = Set(model.entities.map(\.name))
    let different = model.incompatibleEntities(metadata.values, among: names)
    let stored = metadata.values[StoreMetadata.versionHashesKey] as? [String: Data] ?? [:]
    if let unknown = different.first(where: { !names.contains($0) }) {
      return "this one has no entity \(unknown)"
    }
    if let added = different.first(where: { stored[$0] == nil }) {
      return "the file has no entity \(added)"
    }
    return different.first.map { "the entity \($0) is another one in the file" }
  }

  /// What is wrong with those versions that cannot be read, one sentence each.
  package static func unreadable(among versions: [ModelVersion]) -> [String] {
    versions.compactMap { version in
      do {
        let model = try version.model()
        try model.freeze()
        return nil
      } catch {
        return "\(version.name) is wrong: \(error)"
      }
    }
  }
}
