import Dispatch
import Foundation
import Synchronization

/// Reads change sets on threads of its own, the zones in turns: however much work one zone's are, they take neither the threads
/// that answer requests, nor all of these.
package final class DecodingTurns: Sendable {
  private struct Line {
    let zone: Int64
    var waiting: [@Sendable () -> Void]
  }

  private struct State {
    /// In the order of their turns. None is empty.
    var lines: [Line] = []
    /// How many threads are at each zone's.
    var active: [Int64: Int] = [:]
    var running = 0
  }

  private let state = Mutex(State())
  private let threads: Int
  private let queue = DispatchQueue(label: "driftless.decoding", attributes: .concurrent)

  package init(threads: Int = max(2, ProcessInfo.processInfo.activeProcessorCount)) {
    self.threads = threads
  }

  /// Runs work of a zone when its turn has come.
  package func perform<Result: Sendable>(
    for zone: Int64, _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { answer in
      state.withLock { state in
        let job: @Sendable () -> Void = { answer.resume(with: Swift.Result { try work() }) }
        if let place = state.lines.firstIndex(where: { $0.zone == zone }) {
          state.lines[place].waiting.append(job)
        } else {
          state.lines.append(Line(zone: zone, waiting: [job]))
        }
      }
      begin()
    }
  }

  private func begin() {
    while let (zone, work) = next() {
      queue.async { [self] in
        work()
        state.withLock { state in
          state.running -= 1
          state.active[zone, default: 1] -= 1
          if state.active[zone] == 0 { state.active[zone] = nil }
        }
        begin()
      }
    }
  }

  /// The next zone whose turn it is; one thread is always left to the others.
  private func next() -> (zone: Int64, work: @Sendable () -> Void)? {
    state.withLock { state in
      guard state.running < threads,
        let place = state.lines.firstIndex(where: {
          state.active[$0.zone, default: 0] < max(1, threads - 1)
        })
      else { return nil }
      var line = state.lines.remove(at: place)
      let work = line.waiting.removeFirst()
      if !line.waiting.isEmpty { state.lines.append(line) }
      state.running += 1
      state.active[line.zone, default: 0] += 1
      return (line.zone, work)
    }
  }
}
