import Driftless
package import Foundation
import Glibc
import ProgramStart

/// The file beside a store that says which daemon keeps it in step, and where that daemon listens.
package struct DaemonMark: Hashable, Sendable, Codable {
  package var pid: Int32
  package var socket: String

  package init(pid: Int32, socket: String) {
    self.pid = pid
    self.socket = socket
  }

  /// Where the mark of the store at `store` is kept.
  package static func url(forStore store: URL) -> URL {
    URL(fileURLWithPath: store.path + "-driftless-daemon")
  }

  /// The mark of a store, if there is one that can be read.
  package static func read(forStore store: URL) -> DaemonMark? {
    let url = url(forStore: store)
    guard StoreSideFile.failure(at: url.path) == nil,
      let data = try? Data(contentsOf: url), data.count <= 4_096
    else { return nil }
    return try? JSONDecoder().decode(DaemonMark.self, from: data)
  }

  /// Puts the mark beside the store, for its owner only.
  package func write(forStore store: URL) throws {
    let url = Self.url(forStore: store)
    let data = try JSONEncoder().encode(self)
    let draft = "\(url.path).\(getpid())"
    unlink(draft)
    let descriptor = StoreSideFile.create(draft, beside: store.path)
    guard descriptor >= 0 else { throw Self.unwritable(url) }
    defer { close(descriptor) }
    do {
      try ProgramOutput.write(data, to: descriptor)
      guard rename(draft, url.path) == 0 else { throw Self.unwritable(url) }
    } catch {
      unlink(draft)
      throw error
    }
  }

  private static func unwritable(_ url: URL) -> Failure {
    let reason = String(cString: strerror(errno))
    return Failure(
      .failed, code: "mark-unwritable", "\(url.path) cannot be written: \(reason).",
      suggestion: "make the store's folder writable, and room in it")
  }

  /// Removes the mark, if it is still this daemon's own.
  package func remove(forStore store: URL) {
    guard Self.read(forStore: store) == self else { return }
    unlink(Self.url(forStore: store).path)
  }
}
