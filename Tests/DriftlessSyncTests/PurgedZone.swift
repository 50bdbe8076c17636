import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization

/// A way to a zone whose log was purged up to a floor.
final class PurgedZone: ForwardingTransport {
  private let foldedMutex: Mutex<FoldedZone>
  private let zone: MemoryZone
  private var folded: FoldedZone { foldedMutex.withLock { $0 } }
  var next: any SyncTransport { folded }
  private let floorMutex = Mutex<UInt64>(0)
  private let refusals = Mutex(0)
  private let segments = Mutex(0)
  private let probes = Mutex(0)
  private let pushRefusal = Mutex<ProtocolError?>(nil)
  private let kept = Mutex<(snapshot: Snapshot, files: [String: Data])?>(nil)

  init(_ zone: MemoryZone) throws {
    self.zone = zone
    foldedMutex = Mutex(try FoldedZone(zone))
  }

  var floor: UInt64 { floorMutex.withLock { $0 } }
  var refused: Int { refusals.withLock { $0 } }
  /// Pieces of snapshots that were fetched.
  var fetched: Int { segments.withLock { $0 } }
  /// Pulls that ask whether a place is there, and not for what comes after it.
  var probed: Int { probes.withLock { $0 } }

  func refusePushes(_ refusal: ProtocolError?) { pushRefusal.withLock { $0 = refusal } }

  func segment(_ name: String, of generation: UUID, range: Range<Int>) async throws -> Data {
    segments.withLock { $0 += 1 }
    if let file = kept.withLock({ $0?.files[name] }) {
      return file.subdata(in: range.clamped(to: 0..<file.count))
    }
    return try await folded.segment(name, of: generation, range: range)
  }

  /// Adds up the log.
  func fold() throws { try folded.fold() }

  /// Adds up the log, and purges it up to its head.
  func purge() throws {
    let snapshot = try folded.fold()
    var files: [String: Data] = [:]
    for file in snapshot.files { files[file.name] = try folded.bytes(of: file) }
    kept.withLock { $0 = (snapshot, files) }
    floorMutex.withLock { $0 = zone.head }
  }

  private func check(_ cursor: Cursor) throws {
    guard cursor.sequence < floor else { return }
    refusals.withLock { $0 += 1 }
    throw ProtocolError(
      .purged, "The log was purged", suggestion: "Take the snapshot.", head: zone.head,
      floor: floor)
  }

  func snapshot(of generation: UUID) async throws -> Snapshot? {
    try await folded.snapshot(of: generation)
  }

  func keptSnapshot(of generation: UUID) async throws -> Snapshot? {
    kept.withLock { $0?.snapshot }
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    if request.maxBytes == 1 { probes.withLock { $0 += 1 } }
    try check(request.cursor)
    return try await folded.pull(request)
  }

  func push(_ frame: Data) async throws -> PushReply {
    if let refusal = pushRefusal.withLock({ $0 }) { throw refusal }
    try check(ChangeSetDecoder().decodeHeader(frame).cursor)
    return try await folded.push(frame)
  }

  func zoneInfo() async throws -> ZoneInfo {
    var info = try await folded.zoneInfo()
    info.floor = floor > 0 ? floor : nil
    return info
  }
}

extension PurgedZone {
  /// The server that was put back has a floor of its own.
  func purgeAnew() throws {
    let other = try FoldedZone(zone)
    foldedMutex.withLock { $0 = other }
    try purge()
  }

  func forget() { floorMutex.withLock { $0 = 0 } }
}
