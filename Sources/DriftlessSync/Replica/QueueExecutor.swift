import Dispatch

/// Runs an actor's work on a queue of its own. SQLite waits for disks and locks: on the cooperative
/// pool, a few stores would keep every other task of the process waiting.
package final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  package init(label: String) {
    queue = DispatchQueue(label: label)
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
