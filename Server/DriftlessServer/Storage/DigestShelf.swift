import Dispatch
import DriftlessProtocol
import Foundation
import Synchronization

/// The digests of zones that replicas compare themselves with, those that were asked for last.
///
/// They are in memory alone, and made anew when they are asked for after a start. What is read from a snapshot's files for them
/// is read by one thread, one request after the other.
final class DigestShelf: Sendable {
  private struct Made {
    var zone: UUID
    var digests: SnapshotDigests
  }

  private struct State {
    /// Those that were used last stand last.
    var made: [Made] = []
    var failures: [UUID: (place: LogMark, error: ServerError)] = [:]
    var waiting = 0
  }

  /// Zones whose digests are kept: some 16 MB each at most.
  private static let zonesMax = 4
  /// Requests that wait for the thread.
  private static let waitingMax = 32
  private static let failuresMax = 256

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "driftless.digests", qos: .utility)

  func put(_ digests: SnapshotDigests, of zone: ZoneRecord) {
    state.withLock { state in
      state.failures[zone.zoneID] = nil
      state.made.removeAll { $0.zone == zone.zoneID }
      state.made.append(Made(zone: zone.zoneID, digests: digests))
      if state.made.count > Self.zonesMax { state.made.removeFirst() }
    }
  }

  /// Notes why there are none, for whoever asks for them next.
  func fail(_ error: ServerError, of zone: ZoneRecord, at place: LogMark) {
    state.withLock { state in
      if state.failures.count >= Self.failuresMax { state.failures.removeAll() }
      state.failures[zone.zoneID] = (place, error)
    }
  }

  func drop(of zone: ZoneRecord) {
    state.withLock { $0.made.removeAll { $0.zone == zone.zoneID } }
  }

  /// What was made of a zone, up to a place of its log at least; nil where it is to be made.
  ///
  /// - Throws: why it could not be made the last time; then it may be tried again.
  func take(of zone: ZoneRecord, at place: LogMark) throws -> SnapshotDigests? {
    let (made, failure) = state.withLock { state -> (SnapshotDigests?, ServerError?) in
      if let found = state.made.firstIndex(where: { $0.zone == zone.zoneID }) {
        let made = state.made.remove(at: found)
        guard made.digests.snapshot.generation == zone.generation else { return (nil, nil) }
        state.made.append(made)
        if made.digests.snapshot.place.sequence >= place.sequence { return (made.digests, nil) }
      }
      return (nil, state.failures.removeValue(forKey: zone.zoneID)?.error)
    }
    if let failure { throw failure }
    return made
  }

  func answer(_ part: DigestPart, of zone: ZoneRecord, at place: LogMark) async throws -> Data {
    guard let made = try take(of: zone, at: place), made.snapshot.place == place else {
      throw ServerError(ProtocolError.noSnapshot)
    }
    let isAdmitted = state.withLock { state in
      guard state.waiting < Self.waitingMax else { return false }
      state.waiting += 1
      return true
    }
    guard isAdmitted else {
      var error = ServerError(
        .busy, "too many replicas compare themselves with their zones",
        suggestion: "Try again later.")
      error.retryAfterSeconds = 5
      throw error
    }
    defer { state.withLock { $0.waiting -= 1 } }
    return try await withCheckedThrowingContinuation { continuation in
      queue.async {
        continuation.resume(
          with: Result {
            do { return try made.answer(part) } catch let error as ProtocolError {
              guard error.code == .damaged || error.code == .noSnapshot else {
                throw ServerError(error)
              }
              // A file was damaged, or removed by a newer fold: the digests are made anew.
              self.drop(of: zone)
              throw ServerError(ProtocolError.noSnapshot)
            }
          })
      }
    }
  }
}
