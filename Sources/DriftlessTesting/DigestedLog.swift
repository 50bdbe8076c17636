package import DriftlessProtocol
package import Foundation
import Synchronization

/// A log that is added up for who compares itself with it, as a server does it.
package final class DigestedLog: Sendable {
  private let folder: URL
  private let made = Mutex<SnapshotDigests?>(nil)

  package init() {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "digests-\(UUID().uuidString)", isDirectory: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// What a log came to of which some was purged.
  package struct Begun: Sendable {
    package var snapshot: Snapshot
    package var files: [String: Data]

    package init(snapshot: Snapshot, files: [String: Data]) {
      self.snapshot = snapshot
      self.files = files
    }
  }

  /// The digests of a place of the log, added up from its beginning.
  ///
  /// - Parameters:
  ///   - zone: the zone's own identity.
  ///   - begun: what stands for the log's beginning. Where that is above the place, the digests are of it.
  ///   - page: the log after a place.
  /// - Throws: `ProtocolError` (`.diverged`) when the place is not of the log, and what `page` throws.
  package func digests(
    of zone: UUID, at cursor: Cursor, from begun: Begun? = nil,
    page: (Cursor) async throws -> PullPage
  ) async throws -> ZoneDigests {
    if let made = made.withLock({ $0 }), made.snapshot.place == cursor.mark,
      made.snapshot.generation == cursor.generation
    {
      return made.digests
    }
    // Each in a folder of its own: who asks of an earlier one may not be done.
    let own = folder.appendingPathComponent(UUID().uuidString, isDirectory: true)
    try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
    if let begun {
      try begun.snapshot.place(in: own) { begun.files[$0.name] ?? Data() }
    }
    let fold = try SnapshotFold(zone: zone, generation: cursor.generation, in: own)
    while fold.through.sequence < cursor.sequence {
      let page = try await page(
        Cursor(
          generation: cursor.generation, sequence: fold.through.sequence,
          chain: fold.through.chain))
      guard !page.entries.isEmpty else { break }
      for entry in page.entries where entry.sequence <= cursor.sequence { try fold.append(entry) }
    }
    guard fold.through == cursor.mark || begun?.snapshot.place == fold.through else {
      throw ProtocolError(
        .diverged, "The place is not of this log", suggestion: "Pull, and ask again.")
    }
    let digests = try SnapshotDigests(fold.finish()) { try Snapshot.bytes(of: $0, in: own) }
    made.withLock { $0 = digests }
    return digests.digests
  }

  /// - Throws: `ProtocolError`: `.noSnapshot` for another place than that of the last digests.
  package func answer(_ part: DigestPart, at cursor: Cursor) throws -> Data {
    guard let made = made.withLock({ $0 }), made.snapshot.place == cursor.mark else {
      throw ProtocolError.noSnapshot
    }
    return try made.answer(part)
  }
}
