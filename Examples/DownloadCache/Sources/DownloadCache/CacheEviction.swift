import Driftless
import Foundation

/// Removes files within a change, and keeps the totals right.
struct CacheEviction {
  let context: ManagedObjectContext
  let totals: CacheTotals
  /// The file that room is made for.
  var sparing: CachedFile?

  /// How many files are looked at in one go.
  private static let page = 100

  func removeExpired() throws -> Int {
    try remove(where: (CachedFile.expirationDate <= Date()).predicate) { true }
  }

  func shrink(to byteCount: Int) throws -> Int {
    try remove(where: nil) { totals[CacheTotals.byteCount] > byteCount }
  }

  /// Removes files, the least recently used first, as long as `isNeeded` says so. Their bytes are not read.
  private func remove(where predicate: FetchPredicate?, while isNeeded: () -> Bool) throws -> Int {
    var removed = 0
    var request = FetchRequest<FetchedRow>(
      entityName: "CachedFile", predicate: predicate, sort: [FetchSort("lastAccessDate")],
      limit: Self.page)
    request.propertiesToFetch = ["objectID", "fileSize"]
    while isNeeded() {
      let rows = try context.fetchRows(request)
      for row in rows where isNeeded() {
        guard let id = row.objectID("objectID"), let file = context.object(with: id),
          file !== sparing, !file.isDeleted
        else { continue }
        totals.add(files: -1, bytes: -(row["fileSize", as: Int.self] ?? 0))
        context.delete(file)
        removed += 1
      }
      if rows.count < Self.page { break }
      request.offset += Self.page
    }
    return removed
  }
}
