import Synchronization
import Testing

@testable import DriftlessServer

/// Parts of large pushes come one after the other.
struct StagingLineTests {
  /// Something that is done until it is told to end.
  private final class Held: Sendable {
    private let state = Mutex<(isOver: Bool, waiter: CheckedContinuation<Void, Never>?)>(
      (false, nil))

    func wait() async {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if !state.isOver { state.waiter = continuation }
          return state.isOver
        }
        if isOver { continuation.resume() }
      }
    }

    func end() {
      state.withLock { state in
        state.isOver = true
        defer { state.waiter = nil }
        return state.waiter
      }?.resume()
    }
  }

  /// What was done in a line, and when.
  private final class Seen: Sendable {
    private let state = Mutex<(order: [Int64], running: Int, most: Int)>(([], 0, 0))
    var order: [Int64] { state.withLock { $0.order } }
    var most: Int { state.withLock { $0.most } }

    /// - Returns: whether it is the first.
    func begin(_ zone: Int64) -> Bool {
      state.withLock { state in
        state.order.append(zone)
        state.running += 1
        state.most = max(state.most, state.running)
        return state.order.count == 1
      }
    }

    func end() { state.withLock { $0.running -= 1 } }
  }

  private func part(of zone: Int64, _ line: StagingLine, _ seen: Seen, _ held: Held) async throws {
    try await line.run(of: zone, cost: 8 << 20, most: 512) {
      if seen.begin(zone) { await held.wait() }
      await Task.yield()
      seen.end()
    }
  }

  private func wait(for count: Int, in line: StagingLine) async {
    while line.waiting < count { await Task.yield() }
  }

  @Test(
    "Of a fleet's parts one is looked at at a time, and another zone's comes before the fleet's others"
  )
  func oneAtATime() async throws {
    let line = StagingLine()
    let held = Held()
    let seen = Seen()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask { try await part(of: 1, line, seen, held) }
        await wait(for: number, in: line)
      }
      group.addTask { try await part(of: 2, line, seen, held) }
      await wait(for: 50, in: line)
      held.end()
      try await group.waitForAll()
    }
    #expect(seen.most == 1)
    let places = seen.order
    #expect(places.count == 51)
    #expect(try #require(places.firstIndex(of: 2)) <= 20, "\(places)")
  }

  @Test("As many are looked at at one time as the line is wide")
  func severalAtATime() async throws {
    let line = StagingLine(width: 3)
    let held = (0..<3).map { _ in Held() }
    let seen = Seen()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for held in held {
        group.addTask {
          try await line.run(of: 1, cost: 1, most: 9) {
            _ = seen.begin(1)
            await held.wait()
            seen.end()
          }
        }
      }
      while seen.order.count < 3 { await Task.yield() }
      for number in 1...4 {
        group.addTask {
          try await line.run(of: 1, cost: 1, most: 9) {
            _ = seen.begin(1)
            await Task.yield()
            seen.end()
          }
        }
        await wait(for: number, in: line)
      }
      #expect(seen.most == 3 && seen.order.count == 3)
      for held in held { held.end() }
      try await group.waitForAll()
    }
    #expect(seen.most == 3 && seen.order.count == 7 && line.waiting == 0)
  }

  @Test("Beyond so many a zone is told to come back later, and one that has none waiting is not")
  func bounded() async throws {
    let line = StagingLine()
    let held = Held()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask { try await line.run(of: 1, cost: 1, most: 3) { await held.wait() } }
        await wait(for: number, in: line)
      }
      let error = await #expect(throws: ServerError.self) {
        try await line.run(of: 1, cost: 1, most: 3) {}
      }
      #expect(error?.code == .busy)
      group.addTask { try await line.run(of: 2, cost: 1, most: 3) {} }
      await wait(for: 4, in: line)
      held.end()
      try await group.waitForAll()
    }
    // Nobody holds it any more.
    try await line.run(of: 1, cost: 1, most: 3) {}
  }

  @Test(
    "What waits for rows of zones is one at a time of each, and of all no more than so many bytes")
  func patient() async throws {
    let lines = ZoneLines()
    let held = [Held(), Held()]
    let most = (count: 2, bytes: 100)
    let seen = Seen()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (zone, held) in zip([1, 2] as [Int64], held) {
        group.addTask {
          try await lines.run(of: zone, bytes: 40, most: most) {
            _ = seen.begin(zone)
            await held.wait()
          }
        }
        while !seen.order.contains(zone) { await Task.yield() }
      }
      // A third zone, which has nothing waiting, and one of the others.
      for zone in [3, 1] as [Int64] {
        let error = await #expect(throws: ServerError.self) {
          try await lines.run(of: zone, bytes: 21, most: most) {}
        }
        #expect(error?.code == .busy)
      }
      try await lines.run(of: 3, bytes: 20, most: most) {}
      for held in held { held.end() }
      try await group.waitForAll()
    }
    try await lines.run(of: 1, bytes: 1000, most: most) {}
  }
}
