public import Foundation
import FoundationNetworking

/// Gets files through the cache: from it while they are fresh, and else from the net, which is asked for a stale file only
/// whether there is another one.
public struct Downloader: Sendable {
  /// Where a file came from.
  public enum Source: String, Sendable {
    /// It was in the cache, and fresh.
    case cache
    /// It was in the cache, and the server said that it has no other.
    case revalidated
    case network
  }

  private let cache: DownloadCache

  public init(cache: DownloadCache) { self.cache = cache }

  /// - Throws: ``CacheError`` for an answer other than a file, `URLError` when the server cannot be reached.
  public func data(for url: URL) async throws -> (data: Data, source: Source) {
    if let data = try await cache.data(for: url) { return (data, .cache) }
    var request = URLRequest(url: url)
    request.cachePolicy = .reloadIgnoringLocalCacheData
    if let etag = try await cache.entry(for: url)?.entityTag {
      request.setValue(etag, forHTTPHeaderField: "If-None-Match")
    }
    let (data, response) = try await URLSession.shared.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw Self.refusal(url, "no HTTP") }
    let policy = response.value(forHTTPHeaderField: "Cache-Control") ?? ""
    switch response.statusCode {
    case 304:
      try await cache.refresh(url: url, expires: Self.expiration(policy))
      // It may have been evicted while the server was asked.
      guard let data = try await cache.data(for: url, allowsExpired: true) else {
        return try await self.data(for: url)
      }
      return (data, .revalidated)
    case 200:
      if !policy.contains("no-store"), data.count <= cache.limits.byteCount {
        try await cache.store(
          url: url, data: data, contentType: response.value(forHTTPHeaderField: "Content-Type"),
          etag: response.value(forHTTPHeaderField: "ETag"), expires: Self.expiration(policy))
      }
      return (data, .network)
    default:
      throw Self.refusal(url, "status \(response.statusCode)")
    }
  }

  /// When a file is stale by the server's word; nil when it says nothing.
  static func expiration(_ policy: String) -> Date? {
    for directive in policy.lowercased().split(separator: ",") {
      let directive = directive.trimmingCharacters(in: .whitespaces)
      if directive == "no-cache" { return Date() }
      if directive.hasPrefix("max-age="), let seconds = UInt32(directive.dropFirst(8)) {
        return Date(timeIntervalSinceNow: TimeInterval(seconds))
      }
    }
    return nil
  }

  private static func refusal(_ url: URL, _ what: String) -> CacheError {
    CacheError(
      .notDownloaded, "\(url.absoluteString) answered with \(what)",
      suggestion: "Check the URL.")
  }
}
