public import Foundation
import Synchronization

/// A folder of a test's own, removed when the last reference goes, and at the latest when the process ends: a test
/// that leaves through an error, or a program that still writes while its folder is removed, keeps some for longer.
public final class TemporaryDirectory: Sendable {
  public let url: URL

  private static let remaining = Mutex<Set<URL>>([])
  private static let removesAtExit: Void = {
    atexit {
      for url in TemporaryDirectory.remaining.withLock({ $0 }) { TemporaryDirectory.remove(url) }
    }
  }()

  /// - Parameter parent: nil for the usual place of temporary files.
  public init(in parent: URL? = nil) throws {
    _ = Self.removesAtExit
    url = (parent ?? FileManager.default.temporaryDirectory)
      .appendingPathComponent("driftless-test-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let url = url
    _ = Self.remaining.withLock { $0.insert(url) }
  }

  deinit { Self.remove(url) }

  /// The location of `name` in the folder.
  public func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// A folder in it, made now.
  public func folder(_ name: String) throws -> URL {
    try FileManager.default.createDirectory(at: file(name), withIntermediateDirectories: false)
    return file(name)
  }

  private static func remove(_ url: URL) {
    try? FileManager.default.removeItem(at: url)
    guard !FileManager.default.fileExists(atPath: url.path) else { return }
    _ = remaining.withLock { $0.remove(url) }
  }
}
