import Foundation
import Synchronization
import Testing

@testable import Driftless

struct ReaderLineTests {
  private final class Log: Sendable {
    private let entries = Mutex<[Int]>([])
    func append(_ entry: Int) { entries.withLock { $0.append(entry) } }
    var all: [Int] { entries.withLock { $0 } }
  }

  private func until(_ isSo: () -> Bool) { while !isSo() { sched_yield() } }

  /// A thread that enters, tells, and leaves when it may.
  private func reader(
    _ number: Int, _ line: ReaderLine, _ log: Log, leaves: DispatchSemaphore
  ) -> DispatchSemaphore {
    let ended = DispatchSemaphore(value: 0)
    Thread {
      let pass = line.enter()
      HeldConnections.hold {
        log.append(number)
        leaves.wait()
      }
      line.leave(pass)
      ended.signal()
    }.start()
    return ended
  }

  @Test("Readers beyond the bound follow in the order in which they came")
  func order() {
    let line = ReaderLine(limit: 2)
    let log = Log()
    let leaves = DispatchSemaphore(value: 0)
    var ended: [DispatchSemaphore] = []
    for number in 0..<10 {
      ended.append(reader(number, line, log, leaves: leaves))
      until { line.workingCount + line.waitingCount == number + 1 }
    }
    #expect(line.workingCount == 2 && line.waitingCount == 8)
    for count in 3...10 {
      leaves.signal()
      until { log.all.count == count }
      #expect(line.workingCount == 2)
    }
    for _ in 0..<2 { leaves.signal() }
    for end in ended { end.wait() }
    #expect(log.all.dropFirst(2) == [2, 3, 4, 5, 6, 7, 8, 9])
    #expect(line.workingCount == 0 && line.waitingCount == 0)
  }

  @Test("Who has a connection already waits for nobody")
  func inner() {
    let line = ReaderLine(limit: 1)
    let other = ReaderLine(limit: 1)
    let pass = line.enter()
    let full = other.enter()
    HeldConnections.hold {
      for line in [line, other] {
        let inner = line.enter()
        #expect(inner == .inner)
        line.leave(inner)
      }
    }
    line.leave(pass)
    other.leave(full)
    #expect(!HeldConnections.areAny && line.workingCount == 0 && other.workingCount == 0)
  }

  @Test("Readers that wait for one in the line in a way of their own get it, one at a time")
  func patience() {
    let line = ReaderLine(limit: 1, patience: .milliseconds(20))
    let log = Log()
    let (stuck, rest) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let first = reader(0, line, log, leaves: stuck)
    until { line.workingCount == 1 }
    let second = reader(1, line, log, leaves: rest)
    until { line.waitingCount == 1 || log.all.count == 2 }
    // Nobody leaves until the second one has been at work.
    until { log.all.count == 2 }
    rest.signal()
    second.wait()
    stuck.signal()
    first.wait()
    #expect(log.all == [0, 1] && line.workingCount == 0)
  }

  @Test("Pieces of work that wait for others in the line get them", .timeLimit(.minutes(10)))
  func piecesThatWait() async throws {
    let line = WorkLine(limit: 2, patience: .milliseconds(20))
    let log = Log()
    let turns = (0..<3).map { _ in DispatchSemaphore(value: 0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        let queue = ContextQueue(label: "piece \(number)", line: line)
        group.addTask {
          try await queue.run {
            log.append(number)
            // Each of the first three waits for the last, which none of them lets in.
            if number < 3 { turns[number].wait() } else { for turn in turns { turn.signal() } }
          }
        }
        while log.all.count < min(number + 1, 2) { await Task.yield() }
      }
      try await group.waitForAll()
    }
    #expect(Set(log.all) == [0, 1, 2, 3] && line.waitingCount == 0)
  }

  @Test(
    "Where those within the bound stand still, the line moves on with each that ends",
    .timeLimit(.minutes(10)))
  func standingStill() async throws {
    let line = WorkLine(limit: 1, patience: .milliseconds(300))
    let log = Log()
    let stuck = DispatchSemaphore(value: 0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      let first = ContextQueue(label: "stuck", line: line)
      group.addTask { try await first.run { stuck.wait() } }
      while line.waitingCount > 0 || line.runningCount == 0 { await Task.yield() }
      for number in 0..<50 {
        let queue = ContextQueue(label: "piece \(number)", line: line)
        group.addTask { try await queue.run { log.append(line.beyondCount) } }
      }
      for _ in 0..<50 { _ = try await group.next() }
      stuck.signal()
      try await group.waitForAll()
    }
    // One that is let in beyond the bound gives its place to the next.
    #expect((log.all.max() ?? 50) < 25, "\(log.all)")
    #expect(line.beyondCount == 0)
  }

  @Test("Where readers within the bound stand still, the line moves on with each that leaves")
  func readersStandStill() {
    let line = ReaderLine(limit: 1, patience: .milliseconds(300))
    let log = Log()
    let (stuck, rest) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    for _ in 0..<30 { rest.signal() }
    let first = reader(-1, line, log, leaves: stuck)
    until { line.workingCount == 1 }
    let others = (0..<30).map { reader($0, line, log, leaves: rest) }
    until { line.beyondCount > 0 || line.waitingCount == 0 && log.all.count == 31 }
    let most = line.beyondCount
    for other in others { other.wait() }
    #expect(most < 15 && line.waitingCount == 0 && line.beyondCount == 0)
    stuck.signal()
    first.wait()
  }

  @Test(
    "A piece of work that is done is let go of outside of its queue's lock",
    .timeLimit(.minutes(10))
  )
  func letGo() async throws {
    /// Sends work to a queue when it ends, as a context does that ends on a thread of its own.
    final class Ending: Sendable {
      let queue: ContextQueue
      let log: Log
      init(_ queue: ContextQueue, _ log: Log) {
        self.queue = queue
        self.log = log
      }
      deinit { queue.async { [log] in log.append(1) } }
    }
    let queue = ContextQueue(label: "letting go", line: WorkLine(limit: 2))
    let log = Log()
    for round in 0..<200 {
      // Many wait, and then few: the places of those that are done are given to others.
      for _ in 0..<(round % 7 + 1) {
        let ending = Ending(queue, log)
        queue.async { withExtendedLifetime(ending) {} }
      }
      try await queue.run {}
    }
    while log.all.count < (0..<200).reduce(0, { $0 + $1 % 7 + 1 }) { try await queue.run {} }
    #expect(queue.waitingCount == 0)
  }
}
