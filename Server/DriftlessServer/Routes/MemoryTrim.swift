import Dispatch
import Synchronization

/// Gives back to the system what large bodies took, beside the threads that answer: soon after each, and once for all that
/// come until then. It takes time however little there is to give back, and many may send.
final class MemoryTrim: Sendable {
  private let trims: @Sendable () -> Void
  private let milliseconds: Int
  private let isDue = Atomic(false)
  private let queue = DispatchQueue(label: "driftless.trim", qos: .utility)
  /// Bytes of a body from which on it is worth while.
  private static let bytesMin = 1 << 20

  /// - Parameter milliseconds: after which it is done; 0 for before `note` returns.
  init(milliseconds: Int = 200, _ trims: @escaping @Sendable () -> Void) {
    self.trims = trims
    self.milliseconds = milliseconds
  }

  /// Has it done after a body of so many bytes was read.
  func note(bytes: Int) {
    guard bytes >= Self.bytesMin else { return }
    guard milliseconds > 0 else { return trims() }
    guard !isDue.exchange(true, ordering: .relaxed) else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [self] in
      // What is noted from here on may not be free yet.
      isDue.store(false, ordering: .relaxed)
      trims()
    }
  }
}
