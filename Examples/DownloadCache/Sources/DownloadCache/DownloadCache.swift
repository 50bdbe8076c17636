import Driftless
public import Foundation
import Synchronization

/// Files from the net, kept in one store on the disk. Any number of tasks and processes may use one cache at once.
///
/// ```swift
/// let cache = try DownloadCache(at: folder.appendingPathComponent("Downloads.cache"))
/// try await cache.store(url: url, data: data, contentType: "image/png", etag: "\"v1\"")
/// if let image = try await cache.data(for: url) { show(image) }
/// ```
public final class DownloadCache: Sendable {
  public let location: URL
  public let limits: CacheLimits
  let container: PersistentContainer
  private let lookups = Mutex((hits: 0, misses: 0))

  /// How often a change is tried again because another task or process was first.
  private static let attempts = 1000

  /// Opens the cache, or makes it. A file that is damaged, or of another version of the model, is removed: what a cache
  /// held can be downloaded again.
  /// - Throws: ``CacheError`` for limits that make no sense, `StoreError` when the file cannot be read or made.
  public init(at location: URL, limits: CacheLimits = CacheLimits()) throws {
    try limits.check()
    self.location = location
    self.limits = limits
    ManagedObject.register(CachedFile.self, CacheTotals.self)
    container = PersistentContainer(
      name: "DownloadCache", model: CacheModel.make(), storeURL: location,
      options: StoreOptions(durability: .normal))
    try CacheFile.alone(at: location) {
      do {
        try container.loadPersistentStores()
      } catch let error as StoreError where CacheFile.isPastUse(error) {
        try CacheFile.remove(at: location)
        try container.loadPersistentStores()
      }
    }
  }

  // MARK: Storing

  /// Puts a file in, in place of an older one of the same URL. The files that were not looked at for the longest time
  /// make room for it.
  /// - Parameters:
  ///   - etag: the server's name for this version of the file.
  ///   - expires: when it is stale; after ``CacheLimits/lifetime`` when nil.
  /// - Returns: how many files had to go.
  /// - Throws: ``CacheError`` for a URL that is not absolute or a file above the whole budget, `StoreError`.
  @discardableResult
  public func store(
    url: URL, data: Data, contentType: String? = nil, etag: String? = nil, expires: Date? = nil
  ) async throws -> Int {
    let name = try Self.name(of: url)
    guard data.count <= min(limits.byteCount, Int(Int32.max)) else {
      throw CacheError(
        .tooLarge, "\(name) has \(data.count) bytes, and the cache takes \(limits.byteCount)",
        suggestion: "Raise the budget, or do not keep this file.")
    }
    let expires = expires ?? Date(timeIntervalSinceNow: limits.lifetime)
    return try await change { [limits] context in
      let totals = try CacheTotals.find(in: context)
      let known = try CachedFile.find(name, in: context)
      let growth = data.count - (known?[CachedFile.fileSize] ?? 0)
      totals.add(files: known == nil ? 1 : 0, bytes: growth)
      let evicted = try CacheEviction(context: context, totals: totals, sparing: known)
        .shrink(to: limits.byteCount)

      let file = try known ?? context.insert(CachedFile.self)
      file[CachedFile.remoteURL] = name
      file[CachedFile.fileData] = data
      file[CachedFile.fileSize] = data.count
      file[CachedFile.contentType] = contentType
      file[CachedFile.entityTag] = etag
      file[CachedFile.lastAccessDate] = Date()
      file[CachedFile.expirationDate] = expires
      return evicted
    }
  }

  /// A stale file is fresh again: the server said that it has no other.
  /// - Returns: whether the cache has the file.
  @discardableResult
  public func refresh(url: URL, expires: Date? = nil) async throws -> Bool {
    let name = try Self.name(of: url)
    let expires = expires ?? Date(timeIntervalSinceNow: limits.lifetime)
    return try await change { context in
      let file = try CachedFile.find(name, in: context)
      file?[CachedFile.expirationDate] = expires
      file?[CachedFile.lastAccessDate] = Date()
      return file != nil
    }
  }

  /// Takes one file out.
  /// - Returns: whether it was there.
  @discardableResult
  public func remove(url: URL) async throws -> Bool {
    let name = try Self.name(of: url)
    return try await change { context in
      guard let file = try CachedFile.find(name, in: context) else { return false }
      try CacheTotals.find(in: context).add(files: -1, bytes: -file[CachedFile.fileSize])
      context.delete(file)
      return true
    }
  }

  // MARK: Looking up

  /// The bytes of a file that is here and fresh; nil otherwise. The file counts as just used.
  /// - Parameter allowsExpired: whether a stale file will do, for a caller that is offline.
  public func data(for url: URL, allowsExpired: Bool = false) async throws -> Data? {
    let name = try Self.name(of: url)
    let data: Data? = try await container.perform { context in
      guard let file = try CachedFile.find(name, in: context),
        allowsExpired || file[CachedFile.expirationDate] > Date()
      else { return nil }
      let data = file[CachedFile.fileData]
      file[CachedFile.lastAccessDate] = Date()
      // Somebody else may have changed or evicted it meanwhile: that stands, and the bytes were read whole.
      context.mergePolicy = .mergeByPropertyStoreTrump
      try context.save()
      return data
    }
    lookups.withLock { if data == nil { $0.misses += 1 } else { $0.hits += 1 } }
    return data
  }

  /// What the cache knows about a file, fresh or not, without reading its bytes. It does not count as a use.
  public func entry(for url: URL) async throws -> CacheEntry? {
    let name = try Self.name(of: url)
    return try await container.perform { context in
      try CacheListing.entries(where: CachedFile.remoteURL == name, in: context).first
    }
  }

  /// All files, the most recently used first.
  public func entries() async throws -> [CacheEntry] {
    try await container.perform { try CacheListing.entries(in: $0) }
  }

  public func statistics() async throws -> CacheStatistics {
    let lookups = lookups.withLock { $0 }
    let budget = limits.byteCount
    return try await container.perform { context in
      try CacheListing.statistics(
        budget: budget, hits: lookups.hits, misses: lookups.misses, in: context)
    }
  }

  // MARK: Making room

  /// Removes stale files, and then those least recently used until the rest takes up at most `byteCount` bytes.
  /// - Returns: how many went.
  @discardableResult
  public func evict(to byteCount: Int? = nil) async throws -> Int {
    let target = min(byteCount ?? limits.byteCount, limits.byteCount)
    guard target >= 0 else {
      throw CacheError(
        .invalidLimits, "A cache cannot shrink to \(target) bytes", suggestion: "Give 0 or more.")
    }
    let removed = try await change { context in
      let eviction = CacheEviction(context: context, totals: try CacheTotals.find(in: context))
      return try eviction.removeExpired() + eviction.shrink(to: target)
    }
    try tidy()
    return removed
  }

  /// Removes all files.
  public func clear() async throws { try await evict(to: 0) }

  /// Gives back the room of what was removed. Nobody reads the history of a cache.
  private func tidy() throws {
    for store in container.persistentStoreCoordinator.persistentStores {
      try store.deleteHistory(before: Date())
      try store.vacuum()
    }
  }

  // MARK: Steps

  /// Does the change in a context of its own and saves it. When another task or process was first, it is done again on
  /// what is there then: every change that adds or removes a file writes the totals, so no two of them can miss each other.
  private func change<Value: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> Value
  ) async throws -> Value {
    for _ in 0..<Self.attempts {
      do {
        return try await container.perform { context in
          let value = try body(context)
          try context.save()
          return value
        }
      } catch is SaveConflictError {
        continue
      } catch is ConstraintConflictError {
        continue
      }
    }
    throw CacheError(
      .busy, "Others kept changing the cache at \(location.path)",
      suggestion: "Try again later, or let fewer processes write at once.")
  }

  private static func name(of url: URL) throws(CacheError) -> String {
    guard let scheme = url.scheme, !scheme.isEmpty, url.isFileURL || url.host?.isEmpty == false
    else {
      throw CacheError(
        .invalidURL, "\"\(url.relativeString)\" is not an absolute URL",
        suggestion: "Give one with a scheme and a host: https://example.com/image.png.")
    }
    return url.absoluteString
  }
}
