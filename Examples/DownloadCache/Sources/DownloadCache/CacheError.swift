/// What the cache refuses, and what to do about it.
public struct CacheError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable {
    /// The URL is not an absolute one.
    case invalidURL
    /// A limit that makes no sense.
    case invalidLimits
    /// The cache's folder is not there, or may not be written.
    case unreachable
    /// The file is larger than the whole budget.
    case tooLarge
    /// Others kept changing the cache.
    case busy
    /// The server did not give the file.
    case notDownloaded
  }

  public let code: Code
  public let message: String
  public let suggestion: String

  public init(_ code: Code, _ message: String, suggestion: String) {
    self.code = code
    self.message = message
    self.suggestion = suggestion
  }

  public var description: String { "\(message). \(suggestion)" }
}
