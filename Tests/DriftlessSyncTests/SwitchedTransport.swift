import DriftlessProtocol
import DriftlessTesting
import Foundation
import Synchronization

/// A way to a zone in memory that can be away or refuse a token. Its long polls wait until then.
final class SwitchedTransport: ZoneTransport {
  struct Away: Error {}

  private struct State {
    var error: (any Error)?
    var pullError: (any Error)?
    var polls: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var count: UInt64 = 0
    var asked = 0
    var pushes = 0
  }

  let memory: MemoryZone
  let zone: String
  private let state = Mutex(State())

  init(_ memory: MemoryZone, zone: String? = nil) {
    self.memory = memory
    self.zone = zone ?? memory.name
  }

  var server: URL { MemoryZone.url }
  /// How often the zone was asked for what an enrolment takes.
  var asked: Int { state.withLock { $0.asked } }
  var pushes: Int { state.withLock { $0.pushes } }
  /// How many long polls wait.
  var polls: Int { state.withLock { $0.polls.count } }

  /// Fails all from now on, or nothing.
  func fail(with error: (any Error)?) {
    state.withLock { $0.error = error }
    wake()
  }

  /// There is news: long polls look again.
  func wake() {
    let polls = state.withLock { state in
      defer { state.polls = [:] }
      return state.polls.values
    }
    for poll in polls { poll.resume() }
  }

  /// Fails pulls alone.
  func failPulls(with error: (any Error)?) { state.withLock { $0.pullError = error } }

  private func check() throws {
    if let error = state.withLock({ $0.error }) { throw error }
  }

  func zoneInfo() async throws -> ZoneInfo {
    state.withLock { $0.asked += 1 }
    try check()
    return try await memory.zoneInfo()
  }

  func push(_ frame: Data) async throws -> PushReply {
    try check()
    state.withLock { $0.pushes += 1 }
    return try await memory.push(frame)
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try check()
    return try await memory.refill(entries)
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try check()
    return try await memory.commonPlace(of: marks, generation: generation)
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    try check()
    if let error = state.withLock({ $0.pullError }) { throw error }
    // It waits here, where the test can wake it.
    var atOnce = request
    atOnce.waitSeconds = 0
    let page = try await memory.pull(atOnce)
    guard request.waitSeconds > 0, page.entries.isEmpty else { return page }
    let number = state.withLock { state in
      state.count += 1
      return state.count
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goes = state.withLock { state in
          guard !Task.isCancelled, state.error == nil else { return true }
          state.polls[number] = continuation
          return false
        }
        if goes { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.polls.removeValue(forKey: number) }?.resume()
    }
    try Task.checkCancellation()
    try check()
    return try await memory.pull(atOnce)
  }
}
