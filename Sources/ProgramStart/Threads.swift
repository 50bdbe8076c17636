import Dispatch
import Foundation

/// The system lets this process begin fewer threads than any work needs.
struct TooFewThreads: Error {
  let message: String
  let suggestion =
    "Let the user have more processes: ulimit -u, or TasksMax in a unit of systemd; or more memory: ulimit -v."
}

/// Looks whether threads can be made: what is below Swift's tasks does not say so where it gets none, and waits.
enum Threads {
  /// A program at work has so many beside its first: those of tasks, of timers and of signals, and one that asks a daemon.
  private static let count = 5
  private static let gate = DispatchSemaphore(value: 0)

  /// Checks that some threads can be had at once, by beginning them.
  static func require() throws(TooFewThreads) {
    var threads: [pthread_t] = []
    defer {
      for _ in threads { gate.signal() }
      for thread in threads { pthread_join(thread, nil) }
    }
    while threads.count < count {
      var thread = pthread_t()
      let reason = pthread_create(
        &thread, nil,
        { _ in
          Threads.gate.wait()
          return nil
        }, nil)
      guard reason == 0 else {
        throw TooFewThreads(
          message:
            "The system lets this process begin \(threads.count) threads, and it needs \(count): "
            + "\(String(cString: strerror(reason))).")
      }
      threads.append(thread)
    }
  }
}
