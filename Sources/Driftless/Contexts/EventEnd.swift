import Synchronization

/// Ends a context's event as soon as the main queue is free, once however often it is awaited meanwhile.
final class EventEnd: Sendable {
  private let isAwaited = Atomic(false)
  private let end: @Sendable () -> Void

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  /// Does nothing for work that is elsewhere than the context belongs: the main queue would get to it at the same time.
  func await() {
    guard ContextQueue.main.isHeld, !isAwaited.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    ContextQueue.main.async {
      self.isAwaited.store(false, ordering: .releasing)
      self.end()
    }
  }
}
