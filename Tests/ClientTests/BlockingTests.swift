import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import Logging
import ProgramStart
import Synchronization
import TestSupport
import Testing

@testable import SyncDaemon

@Suite("What waits for disks, locks and clients keeps no other task waiting", .serialized)
struct BlockingTests {
  /// More than there are threads for tasks.
  private static let many = 2 * ProcessInfo.processInfo.activeProcessorCount + 2

  /// Whether another task gets a turn within seconds. It is looked for by a thread that no task needs.
  private static func othersGoOn(_ seconds: Double = 8) async -> Bool {
    await withCheckedContinuation { continuation in
      Thread {
        let turn = DispatchSemaphore(value: 0)
        Task.detached { turn.signal() }
        continuation.resume(returning: turn.wait(timeout: .now() + seconds) == .success)
      }.start()
    }
  }

  @Test("Stores whose files another has locked", .timeLimit(.minutes(10)))
  func lockedStores() async throws {
    let directory = try TemporaryDirectory()
    var holders: [SQLiteConnection] = []
    var workers: [StoreWorker] = []
    var log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    log.logLevel = .critical
    for number in 0..<Self.many {
      let url = directory.file("shop\(number).sqlite")
      try PersistentStore.open(url: url, model: Shop.model()).close()
      let holder = try SQLiteConnection(path: url.path, mode: .readWrite)
      // Nobody else reads: whoever comes waits as long as a store waits for others.
      try holder.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
      holders.append(holder)
      workers.append(
        StoreWorker(
          entry: DaemonConfiguration.Store(path: url),
          mark: DaemonMark(pid: getpid(), socket: "none"), delays: .init(), log: log))
    }
    for worker in workers { await worker.start() }
    #expect(await Self.othersGoOn())
    for holder in holders { holder.close() }
    for worker in workers { await worker.stop() }
  }

  @Test("Clients of the daemon that do not read their answers", .timeLimit(.minutes(10)))
  func deafClients() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s.sock").path
    // More than a socket takes at once.
    let long = Failure(
      .failed, code: "long", String(repeating: "x", count: 4 << 20), suggestion: "")
    let answered = Answered()
    let listener = try DaemonListener(path: path) { _, _ in
      answered.count()
      return DaemonReply(pid: getpid(), failure: long)
    }
    var clients: [Int32] = []
    for _ in 0..<Self.many {
      let client = try #require(try UnixSocket.connect(path))
      #expect(UnixSocket.writeLine(try JSONEncoder().encode(DaemonRequest(.status)), to: client))
      clients.append(client)
    }
    // Each answer is under way before the others are looked at, or waits for the threads that others need.
    let deadline = ContinuousClock.now + .seconds(20)
    while answered.number < Self.many, .now < deadline {
      await withCheckedContinuation { continuation in
        Thread {
          usleep(2_000)
          continuation.resume()
        }.start()
      }
    }
    #expect(answered.number == Self.many)
    #expect(await Self.othersGoOn())
    for client in clients { close(client) }
    listener.stop()
  }

  private final class Answered: Sendable {
    private let value = Mutex(0)
    var number: Int { value.withLock { $0 } }
    func count() { value.withLock { $0 += 1 } }
  }

  @Test("The tasks of a program that may block", .timeLimit(.minutes(10)))
  func program() async {
    let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // The task itself waits on its own executor, and so do those that it waits for.
    let task = Task(executorPreference: BlockingExecutor.shared) {
      await withTaskGroup { group in
        for _ in 0..<Self.many {
          group.addTask {
            begun.signal()
            Self.waitHere(gate)
          }
        }
      }
    }
    let goesOn = await withCheckedContinuation { continuation in
      Thread {
        for _ in 0..<Self.many {
          guard begun.wait(timeout: .now() + 20) == .success else { break }
        }
        let turn = DispatchSemaphore(value: 0)
        Task.detached { turn.signal() }
        let isSo = turn.wait(timeout: .now() + 5) == .success
        for _ in 0..<Self.many { gate.signal() }
        continuation.resume(returning: isSo)
      }.start()
    }
    #expect(goesOn)
    await task.value
  }

  private static func waitHere(_ gate: DispatchSemaphore) { gate.wait() }
}
