import DriftlessProtocol
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport

/// A zone in memory whose log is added up, and a way to it that can break at each piece of a snapshot's file.
final class FoldedZone: ForwardingTransport {
  struct Rule {
    /// Bytes that one answer has at most.
    var pieceBytesMax = 200
    /// So many pieces come; then the network is gone.
    var piecesMax = Int.max
    /// The piece that comes with a byte changed.
    var damaged: Int?
    /// What the zone says that its snapshot is.
    var lie: (@Sendable (inout Snapshot) -> Void)?
    /// What happens before a piece is sent.
    var before: (@Sendable (Int) async throws -> Void)?
    /// What comes in place of the list, or of each piece.
    var listRefusal: (any Error)?
    var pieceRefusal: (any Error)?
  }

  struct Cut: Error {}

  private let zone: MemoryZone
  var next: any SyncTransport { zone }
  private let directory: TemporaryDirectory
  private let rule: Mutex<Rule>
  private let counts = Mutex((pieces: 0, bytes: 0, pulled: 0))

  init(_ zone: MemoryZone, _ rule: Rule = Rule()) throws {
    self.zone = zone
    directory = try TemporaryDirectory()
    self.rule = Mutex(rule)
  }

  func set(_ rule: Rule) { self.rule.withLock { $0 = rule } }

  /// Pieces that came, and their bytes.
  var pieces: Int { counts.withLock { $0.pieces } }
  var bytes: Int { counts.withLock { $0.bytes } }
  /// Entries of the log that came.
  var pulled: Int { counts.withLock { $0.pulled } }

  /// Adds up the log. It goes on from the snapshot of the last time.
  @discardableResult
  func fold(segmentBytes: Int = 3_000) throws -> Snapshot {
    let log = zone.log
    var options = FoldOptions()
    options.segmentBytes = segmentBytes
    let fold = try SnapshotFold(
      zone: log.zoneID, generation: log.generation, in: directory.url, options: options)
    while true {
      let page = try log.page(
        PullRequest(
          cursor: Cursor(
            generation: log.generation, sequence: fold.through.sequence,
            chain: fold.through.chain), maxBytes: 1 << 20, waitSeconds: 0, replica: UUID(),
          ownThrough: 0), nowMilliseconds: 0)
      if page.entries.isEmpty { return try fold.finish() }
      for entry in page.entries { try fold.append(entry) }
    }
  }

  func bytes(of file: Snapshot.File) throws -> Data {
    try Snapshot.bytes(of: file, in: directory.url)
  }

  func snapshot(of generation: UUID) async throws -> Snapshot? {
    if let refusal = rule.withLock({ $0.listRefusal }) { throw refusal }
    guard var snapshot = try Snapshot.read(in: directory.url), snapshot.generation == generation
    else { return nil }
    rule.withLock { $0.lie }?(&snapshot)
    return snapshot
  }

  func segment(
    _ name: String, of generation: UUID, range: Range<Int>
  ) async throws -> Data {
    let rule = rule.withLock { $0 }
    let number = counts.withLock { counts in
      counts.pieces += 1
      return counts.pieces
    }
    guard number <= rule.piecesMax else { throw Cut() }
    try await rule.before?(number)
    if let refusal = rule.pieceRefusal { throw refusal }
    guard let snapshot = try Snapshot.read(in: directory.url),
      let file = snapshot.files.first(where: { $0.name == name })
    else { throw ProtocolError.noSnapshot }
    let whole = try Snapshot.bytes(of: file, in: directory.url)
    var data = whole.subdata(in: range.clamped(to: 0..<whole.count)).prefix(rule.pieceBytesMax)
    if rule.damaged == number { data[data.startIndex] ^= 1 }
    counts.withLock { $0.bytes += data.count }
    return Data(data)
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    let page = try await zone.pull(request)
    counts.withLock { $0.pulled += page.entries.count }
    return page
  }
}
