import Foundation
import Synchronization

/// Runs the work on several threads at once, and gives the first error that one threw, when all have ended.
///
/// - Parameter body: The work, with the number of its thread.
public func onSeveralThreads(
  _ count: Int = 8, _ body: @escaping @Sendable (Int) throws -> Void
) async throws {
  let (failure, left) = (FirstError(), DispatchGroup())
  await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
    for number in 0..<count {
      left.enter()
      Thread.detachNewThread {
        do { try body(number) } catch { failure.note(error) }
        left.leave()
      }
    }
    left.notify(queue: .global()) { continuation.resume() }
  }
  try failure.rethrow()
}

private final class FirstError: Sendable {
  private let error = Mutex<(any Error)?>(nil)

  func note(_ new: any Error) { error.withLock { if $0 == nil { $0 = new } } }
  func rethrow() throws { if let error = error.withLock({ $0 }) { throw error } }
}
