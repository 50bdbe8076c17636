public import Foundation

/// How much the cache keeps, and for how long.
public struct CacheLimits: Hashable, Sendable {
  /// What all files together may take up. No state of the cache on the disk is above it.
  public var byteCount: Int
  /// How many seconds a file is fresh when nobody says otherwise.
  public var lifetime: TimeInterval

  public init(byteCount: Int = 256 << 20, lifetime: TimeInterval = 7 * 86_400) {
    self.byteCount = byteCount
    self.lifetime = lifetime
  }

  func check() throws(CacheError) {
    guard byteCount > 0, lifetime.isFinite, lifetime >= 0 else {
      throw CacheError(
        .invalidLimits, "A cache of \(byteCount) bytes and \(lifetime) seconds keeps nothing",
        suggestion: "Give a budget above 0 bytes and a lifetime of 0 seconds or more.")
    }
  }
}

/// One file as the cache has it. It is a value: it goes to any thread, and stays as it is.
public struct CacheEntry: Hashable, Sendable {
  public let url: URL
  public let byteCount: Int
  public let contentType: String?
  /// What the server called this version of the file: sent back to it to ask whether there is a newer one.
  public let entityTag: String?
  public let lastAccess: Date
  public let expiration: Date

  public var isExpired: Bool { expiration <= Date() }
}

/// What the cache takes up.
public struct CacheStatistics: Hashable, Sendable {
  public let fileCount: Int
  public let byteCount: Int
  public let budget: Int
  public let expiredCount: Int
  public let leastRecentAccess: Date?
  /// Lookups of this process that found a fresh file, and those that did not.
  public let hits: Int
  public let misses: Int
}
