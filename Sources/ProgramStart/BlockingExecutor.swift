import Dispatch

/// Runs tasks that wait for disks, locks or other processes: each piece of them on a thread of its own while it runs.
package final class BlockingExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "driftless.program", attributes: .concurrent)

  package static let shared = BlockingExecutor()

  private init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
