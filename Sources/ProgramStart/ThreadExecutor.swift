import Foundation

/// Runs an actor's work on a thread of its own: what Dispatch has for all queues are some hundred threads, and stores that wait
/// for disks can take them all.
package final class ThreadExecutor: SerialExecutor {
  private let thread: JobThread

  /// - Parameter name: The thread's.
  package init(name: String) { thread = JobThread(name: name) }

  deinit { thread.end() }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    thread.add { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

/// Runs tasks on a thread of its own, for the same reason.
final class ThreadTaskExecutor: TaskExecutor {
  private let thread: JobThread

  /// - Parameter name: The thread's.
  init(name: String) { thread = JobThread(name: name) }

  deinit { thread.end() }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    thread.add { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// A thread that does what it is given, one after the other.
private final class JobThread: @unchecked Sendable {
  private let condition = NSCondition()
  /// Under `condition`, as what follows.
  private var jobs: [@Sendable () -> Void] = []
  private var isEnded = false

  init(name: String) {
    let thread = Thread { [self] in
      while let due = wait() {
        for job in due { job() }
      }
    }
    thread.name = name
    thread.start()
  }

  func add(_ job: @escaping @Sendable () -> Void) {
    condition.lock()
    jobs.append(job)
    condition.signal()
    condition.unlock()
  }

  /// Ends the thread when it has done what it was given.
  func end() {
    condition.lock()
    isEnded = true
    condition.signal()
    condition.unlock()
  }

  /// Waits for work; nil when there will be none.
  private func wait() -> [@Sendable () -> Void]? {
    condition.lock()
    defer { condition.unlock() }
    while jobs.isEmpty, !isEnded { condition.wait() }
    defer { jobs = [] }
    return jobs.isEmpty ? nil : jobs
  }
}
