import Foundation
import Synchronization

/// The thread that is inside of a connection. SQLite is opened without locks of its own, so two threads at once would
/// damage its memory: debug builds end there, with the second one's call on the stack. Release builds know nothing of it.
final class ConnectionUser: Sendable {
  #if DEBUG
    /// The thread, and how many calls of it are on the stack: a function that SQL calls may run other statements.
    private let state = Mutex<(thread: UInt, depth: Int)>((0, 0))
  #endif

  @inline(__always)
  func enter() {
    #if DEBUG
      let thread = UInt(pthread_self())
      state.withLock { state in
        assert(
          state.depth == 0 || state.thread == thread,
          "a connection is used by two threads at the same time")
        state = (thread, state.depth + 1)
      }
    #endif
  }

  @inline(__always)
  func leave() {
    #if DEBUG
      state.withLock { $0.depth -= 1 }
    #endif
  }
}
