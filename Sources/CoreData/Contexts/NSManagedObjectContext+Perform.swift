import Driftless
import Foundation

extension NSManagedObjectContext {
  /// Whether work that is sent from the context's own queue waits for what was sent before.
  public enum ScheduledTaskType: Hashable, Sendable {
    /// It runs at once when the caller is on the queue.
    case immediate
    /// It runs after what was sent before.
    case enqueued
  }

  /// Runs the block on the context's queue and waits for it; at once when the caller is there already. Two contexts whose
  /// work waits for each other wait for ever.
  /// - Throws: what the block throws.
  @discardableResult
  public func performAndWait<T, E: Error>(_ block: () throws(E) -> T) throws(E) -> T {
    if isHere { return try inside(block) }
    guard let queue else { return try run(block) }
    // The queue's own method knows no typed errors.
    let outcome = queue.sync { () -> Result<T, E> in
      do throws(E) { return .success(try run(block)) } catch { return .failure(error) }
    }
    return try outcome.get()
  }

  /// Whether the caller is on the context's queue, or waits on it for what runs here.
  private var isHere: Bool { queue?.isHeld ?? true }

  /// Does the work on the context's queue after what was sent before.
  func send(_ work: @escaping @Sendable () -> Void) {
    if let queue { queue.async(work) } else { work() }
  }

  /// Runs the block on the context's queue, ends the event, and gives what the block gave.
  ///
  /// Objects belong on the queue: give IDs and values.
  /// - Throws: what the block throws.
  @preconcurrency
  @discardableResult
  public func perform<T, E: Error>(
    schedule: ScheduledTaskType = .immediate, _ block: @escaping @Sendable () throws(E) -> T
  ) async throws(E) -> sending T {
    let outcome = await withCheckedContinuation { continuation in
      let job: @Sendable () -> Void = {
        let outcome: Result<T, E>
        do throws(E) {
          outcome = .success(try self.run(block))
        } catch { outcome = .failure(error) }
        continuation.resume(returning: Carried(outcome))
      }
      if schedule == .immediate, self.isHere { job() } else { self.send(job) }
    }
    nonisolated(unsafe) let result = outcome.value  // the queue is done with it
    return try result.get()
  }

  /// Runs the block as an event of its own.
  func run<T, E: Error>(_ block: () throws(E) -> T) throws(E) -> T {
    base.beginWork()
    defer { base.processPendingChanges() }
    return try inside(block)
  }

  /// The context whose block the thread is in: what a fetch request is executed in.
  static var current: NSManagedObjectContext? {
    (Thread.current.threadDictionary[currentKey] as? WeakReference<NSManagedObjectContext>)?.object
  }

  private static let currentKey = "coredata.context"

  private func inside<T, E: Error>(_ block: () throws(E) -> T) throws(E) -> T {
    let thread = Thread.current
    let former = thread.threadDictionary[Self.currentKey]
    thread.threadDictionary[Self.currentKey] = WeakReference(self)
    defer { thread.threadDictionary[Self.currentKey] = former }
    return try block()
  }
}
