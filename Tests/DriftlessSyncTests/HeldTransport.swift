import DriftlessProtocol
import DriftlessTesting
import Foundation
import Synchronization

/// A transport whose answers wait until the test lets them go. The zone has taken a request when
/// its answer is held.
final class HeldTransport: ForwardingTransport {
  private struct State {
    var isHolding = false
    var held: [CheckedContinuation<Void, Never>] = []
    var pushes = 0
    var pulls = 0
  }

  let next: any SyncTransport
  private let state = Mutex(State())

  init(_ zone: any SyncTransport) { next = zone }

  /// How many answers wait.
  var held: Int { state.withLock { $0.held.count } }
  /// How many pushes and pulls the zone has got.
  var requests: (pushes: Int, pulls: Int) { state.withLock { ($0.pushes, $0.pulls) } }

  func hold() { state.withLock { $0.isHolding = true } }

  /// Lets all answers go, those that come too.
  func release() {
    let held = state.withLock { state in
      defer { state.held = [] }
      state.isHolding = false
      return state.held
    }
    for answer in held { answer.resume() }
  }

  func push(_ frame: Data) async throws -> PushReply {
    let reply = try await next.push(frame)
    state.withLock { $0.pushes += 1 }
    await wait()
    try Task.checkCancellation()
    return reply
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    let page = try await next.pull(request)
    state.withLock { $0.pulls += 1 }
    await wait()
    try Task.checkCancellation()
    return page
  }

  private func wait() async {
    await withCheckedContinuation { continuation in
      let goes = state.withLock { state in
        if state.isHolding { state.held.append(continuation) }
        return !state.isHolding
      }
      if goes { continuation.resume() }
    }
  }
}

/// Waits until other tasks have made something so.
func until(_ isSo: () -> Bool) async {
  while !isSo() { await Task.yield() }
}
