import Synchronization

/// Those who wait for a zone in memory to change.
final class MemoryNews: Sendable {
  fileprivate struct Waiter {
    let continuation: CheckedContinuation<Void, Never>
    let timer: Task<Void, Never>
  }

  private struct State {
    var count: UInt64 = 0
    var nextWaiter: UInt64 = 0
    var waiters: [UInt64: Waiter] = [:]
  }

  private let state = Mutex(State())

  /// How often something changed.
  var count: UInt64 { state.withLock { $0.count } }

  /// Something has changed, or may have.
  func tell() {
    let waiters = state.withLock { state in
      defer { state.waiters = [:] }
      state.count += 1
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.end() }
  }

  /// Returns at the next change, when the time is over, or when the task is cancelled.
  ///
  /// - Parameter count: what `count` was when the caller looked; a change after that is one.
  func wait(since count: UInt64, seconds: Double) async {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          // Cancellation that came first finds nobody who waits; this check then sees it.
          guard state.count == count, !Task.isCancelled else { return true }
          let timer = Task { [weak self] in
            do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
            self?.end(id)
          }
          state.waiters[id] = Waiter(continuation: continuation, timer: timer)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      end(id)
    }
  }

  private func end(_ id: UInt64) { state.withLock { $0.waiters.removeValue(forKey: id) }?.end() }
}

extension MemoryNews.Waiter {
  fileprivate func end() {
    timer.cancel()
    continuation.resume()
  }
}
