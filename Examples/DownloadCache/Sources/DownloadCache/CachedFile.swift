import Driftless
import Foundation

/// One file of the cache, as an object of a context.
final class CachedFile: ManagedObject {
  static let remoteURL = Attribute<CachedFile, String>("remoteURL")
  static let fileData = Attribute<CachedFile, Data>("fileData")
  static let lastAccessDate = Attribute<CachedFile, Date>("lastAccessDate")
  static let expirationDate = Attribute<CachedFile, Date>("expirationDate")
  static let contentType = Attribute<CachedFile, String?>("contentType")
  static let entityTag = Attribute<CachedFile, String?>("entityTag")
  static let fileSize = Attribute<CachedFile, Int>("fileSize")

  static func find(_ remoteURL: String, in context: ManagedObjectContext) throws -> CachedFile? {
    try context.fetch(CachedFile.self, where: CachedFile.remoteURL == remoteURL, limit: 1).first
  }
}

/// What all files take up together.
final class CacheTotals: ManagedObject {
  static let name = Attribute<CacheTotals, String>("name")
  static let byteCount = Attribute<CacheTotals, Int>("byteCount")
  static let fileCount = Attribute<CacheTotals, Int>("fileCount")
  static let changeCount = Attribute<CacheTotals, Int>("changeCount")

  /// The one object there is, made by whoever comes first.
  static func find(in context: ManagedObjectContext) throws -> CacheTotals {
    if let totals = try context.fetch(CacheTotals.self, limit: 1).first { return totals }
    let totals = try context.insert(CacheTotals.self)
    totals[CacheTotals.name] = "all"
    return totals
  }

  func add(files: Int, bytes: Int) {
    // A file that takes the place of one of its size changes no sum, and what did not change is not written: without this
    // two processes could do that at once and not notice each other.
    self[CacheTotals.changeCount] += 1
    self[CacheTotals.fileCount] += files
    self[CacheTotals.byteCount] += bytes
  }
}
