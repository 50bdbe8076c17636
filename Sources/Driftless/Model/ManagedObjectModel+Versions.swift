import Foundation

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
