public import Foundation

/// A folder of a test's own, removed when the last reference goes.
public final class TemporaryDirectory: Sendable {
  public let url: URL

  public init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("driftless-test-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The location of `name` in the folder.
  public func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}
