import DriftlessSQLite
import Foundation

/// Owns `Z_MODELCACHE`: the model that Core Data keeps in a file of its own, compiled and deflated. Nothing is written there
/// but by Core Data.
enum CachedModel {
  static let table = "Z_MODELCACHE"
  static let statement = "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)"
  /// A packed model is read whole.
  private static let packedMax = 16 << 20

  /// The model, frozen, with the version hashes of the file; nil when there is none that describes the file's entities.
  ///
  /// - Throws: `ModelError` when it cannot be read.
  static func read(_ connection: SQLiteConnection, _ metadata: StoreMetadata) throws
    -> ManagedObjectModel?
  {
    guard try StoreFile.isTable(table, connection),
      case .blob(let packed)? = try connection.scalar(
        "SELECT Z_CONTENT FROM Z_MODELCACHE WHERE length(Z_CONTENT) <= \(packedMax) LIMIT 1"),
      let bytes = Inflate.unpack(packed)
    else { return nil }
    let model = try ManagedObjectModel(compiled: bytes, path: "the file's model cache")
    dropInherited(from: model)
    let hashes = metadata.versionHashes
    guard Set(model.entities.map(\.name)) == Set(hashes.keys) else { return nil }
    let own = model.ownVersionHashesByName
    model.recordedHashes = hashes.reduce(into: [:]) { recorded, entry in
      recorded[entry.key] = own[entry.key].map { RecordedHash(own: $0, recorded: entry.value) }
    }
    try model.freeze()
    return model
  }

  /// A model in use, unlike one that the compiler wrote, repeats in each entity what it inherits.
  private static func dropInherited(from model: ManagedObjectModel) {
    let byName = model.entitiesByName
    var inherited: [String: Set<String>] = [:]
    for entity in model.entities {
      var names: Set<String> = []
      var seen: Set<String> = [entity.name]
      var parent = entity.superentityName.flatMap { byName[$0] }
      while let current = parent, seen.insert(current.name).inserted {
        names.formUnion(current.ownProperties.map(\.name))
        parent = current.superentityName.flatMap { byName[$0] }
      }
      inherited[entity.name] = names
    }
    for entity in model.entities {
      guard let names = inherited[entity.name], !names.isEmpty else { continue }
      entity.properties = entity.ownProperties.filter { !names.contains($0.name) }
    }
  }
}
