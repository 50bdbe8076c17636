import Driftless
import Foundation

/// What the cache tells about its files. It reads rows, not objects: the bytes of the files stay where they are.
enum CacheListing {
  static func entries(
    where predicate: TypedPredicate<CachedFile>? = nil, in context: ManagedObjectContext
  ) throws -> [CacheEntry] {
    var request = FetchRequest<FetchedRow>(
      entityName: "CachedFile", predicate: predicate?.predicate,
      sort: [FetchSort("lastAccessDate", ascending: false)])
    request.propertiesToFetch = [
      "remoteURL", "fileSize", "contentType", "entityTag", "lastAccessDate", "expirationDate",
    ]
    return try context.fetchRows(request).compactMap { row in
      guard let name = row["remoteURL", as: String.self], let url = URL(string: name),
        let lastAccess = row["lastAccessDate", as: Date.self],
        let expiration = row["expirationDate", as: Date.self]
      else { return nil }
      return CacheEntry(
        url: url, byteCount: row["fileSize", as: Int.self] ?? 0,
        contentType: row["contentType", as: String.self],
        entityTag: row["entityTag", as: String.self], lastAccess: lastAccess,
        expiration: expiration)
    }
  }

  static func statistics(
    budget: Int, hits: Int, misses: Int, in context: ManagedObjectContext
  ) throws -> CacheStatistics {
    var request = FetchRequest<FetchedRow>(entityName: "CachedFile")
    request.propertiesToFetch = [
      .expression("files", try FetchExpression(format: "count:(remoteURL)")),
      .expression("bytes", try FetchExpression(format: "sum:(fileSize)")),
      .expression("oldest", try FetchExpression(format: "min:(lastAccessDate)")),
    ]
    let sums = try context.fetchRows(request).first
    return CacheStatistics(
      fileCount: sums?["files", as: Int.self] ?? 0, byteCount: sums?["bytes", as: Int.self] ?? 0,
      budget: budget,
      expiredCount: try context.count(
        CachedFile.self, where: CachedFile.expirationDate <= Date()),
      leastRecentAccess: sums?["oldest", as: Date.self], hits: hits, misses: misses)
  }
}
