import DriftlessProtocol
import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessServer

/// The server's time, whatever becomes of its host's clock.
struct ServerClockTests {
  /// A host's two clocks.
  private final class HostClock: Sendable {
    private let state = Mutex<(wall: Int64, boot: Int64)>((1_800_000_000_000, 5_000_000))

    var wall: Int64 { state.withLock { $0.wall } }
    var boot: Int64 { state.withLock { $0.boot } }

    func pass(_ milliseconds: Int64) {
      state.withLock {
        $0.wall += milliseconds
        $0.boot += milliseconds
      }
    }

    func set(by milliseconds: Int64) { state.withLock { $0.wall += milliseconds } }
    /// It was off for a while.
    func restart(after milliseconds: Int64) {
      state.withLock {
        $0.wall += milliseconds
        $0.boot = 1000
      }
    }
  }

  private static let day: Int64 = 24 * 3600 * 1000
  private let host = HostClock()

  @Test("A clock that goes right is followed, and a step ahead of days at once")
  func right() {
    let clock = clock(Events().box)
    for step in [1, 40, 1000, Self.day, 29 * Self.day] {
      host.pass(step)
      #expect(clock.now() == host.wall)
    }
    host.set(by: 3 * Self.day)
    #expect(clock.now() == host.wall)
  }

  @Test(
    "F31 A clock that was set back is counted on from, and followed again when it has come so far")
  func setBack() {
    let events = Events()
    let clock = clock(events.box)
    var last = clock.now()
    let start = last
    host.set(by: -100_000)
    for _ in 0..<2000 {
      host.pass(7)
      let time = clock.now()
      #expect(time >= last)
      last = time
    }
    #expect(last - start > 14_000 * 8 / 10, "it goes on")
    #expect(last - start < 14_000)
    host.pass(900_000)
    _ = clock.now()
    host.pass(1)
    #expect(clock.now() == host.wall)
    #expect(events.all == ["behind", "right"])
  }

  @Test("A leap ahead of months is not followed unless it lasts")
  func leap() {
    let events = Events()
    let clock = clock(events.box)
    let start = clock.now()
    host.set(by: 4000 * Self.day)
    host.pass(60_000)
    #expect(clock.now() == start + 60_000)
    host.set(by: -4000 * Self.day)
    host.pass(60_000)
    #expect(clock.now() == start + 120_000)
    host.set(by: 4000 * Self.day)
    _ = clock.now()
    for _ in 0..<59 {
      host.pass(60_000)
      #expect(clock.now() < host.wall)
    }
    host.pass(60_000)
    #expect(clock.now() == host.wall, "it has stayed there for an hour")
    #expect(events.all == ["ahead", "right", "ahead", "right"])
  }

  private struct Events {
    let box = Box()
    final class Box: Sendable { let list = Mutex<[String]>([]) }
    var all: [String] { box.list.withLock { $0 } }
  }

  private func clock(_ box: Events.Box) -> ServerClock {
    ServerClock(
      last: 0, limits: ServerLimits(), wall: { [host] in host.wall },
      sinceBoot: { [host] in host.boot }
    ) { event in
      box.list.withLock {
        switch event {
        case .isRight: $0.append("right")
        case .isBehind: $0.append("behind")
        case .isAhead: $0.append("ahead")
        }
      }
    }
  }

  private func storage(_ folder: DataFolder) throws -> SQLiteZoneStorage {
    try SQLiteZoneStorage(
      folder: folder, now: { [host] in host.wall }, sinceBoot: { [host] in host.boot })
  }

  @Test(
    "F31 A server that is started again with its clock set back gives no time before the last that it gave",
    arguments: [false, true])
  func startedAgain(hasPushes: Bool) async throws {
    let test = try TestZone(
      now: { [host] in host.wall }, sinceBoot: { [host] in host.boot })
    let generation = try await test.zone().generation
    host.pass(10 * Self.day)
    var replica = TestReplica()
    if hasPushes {
      _ = try await test.storage.append(
        replica.push(generation, inserts: [.init(first: UUID(), count: 1)]), to: test.zone())
    } else {
      #expect(await test.storage.time() == UInt64(host.wall))
    }
    let given = host.wall
    test.storage.close()
    host.restart(after: -3 * Self.day)
    let again = try storage(test.folder)
    defer { again.close() }
    #expect(await again.time() >= UInt64(given))
    host.pass(1_000_000)
    #expect(await again.time() > UInt64(given))
    // What was stamped by the time before the step is taken.
    let zone = try #require(try await again.zone(named: "shop"))
    var late = TestReplica()
    _ = try await again.append(
      late.push(generation, inserts: [.init(first: UUID(), count: 1)]), to: zone)
    again.close()
    host.set(by: 3 * Self.day + 10_000)
    let right = try storage(test.folder)
    defer { right.close() }
    #expect(await right.time() == UInt64(host.wall))
  }

  @Test("A server that is ended keeps the last time that it gave, to the millisecond")
  func ended() async throws {
    let test = try TestZone(
      now: { [host] in host.wall }, sinceBoot: { [host] in host.boot })
    _ = await test.storage.time()
    host.pass(1234)
    let given = await test.storage.time()
    test.storage.close()
    host.restart(after: -5000)
    let again = try storage(test.folder)
    defer { again.close() }
    #expect(await again.time() >= given)
  }

  @Test("A server that is started again with its clock years ahead gives the time that it gave")
  func startedAhead() async throws {
    let test = try TestZone(
      now: { [host] in host.wall }, sinceBoot: { [host] in host.boot })
    let given = await test.storage.time()
    test.storage.close()
    host.restart(after: 5000 * Self.day)
    let again = try storage(test.folder)
    defer { again.close() }
    #expect(await again.time() < given + UInt64(Self.day))
    host.pass(3_600_001)
    #expect(await again.time() == UInt64(host.wall))
  }

  @Test(
    "A server that was off for weeks, or a year, has the right time at once", arguments: [42, 390])
  func offForLong(days: Int64) async throws {
    let test = try TestZone(
      now: { [host] in host.wall }, sinceBoot: { [host] in host.boot })
    _ = await test.storage.time()
    test.storage.close()
    host.restart(after: days * Self.day)
    let again = try storage(test.folder)
    defer { again.close() }
    #expect(await again.time() == UInt64(host.wall))
  }

  @Test("A clock that is set only after the server was started is followed at once")
  func setAfterStart() {
    let clock = clock(Events().box)
    host.set(by: -host.wall)
    #expect(clock.now() == 0)
    host.pass(20_000)
    host.set(by: 1_800_000_000_000)
    #expect(clock.now() == host.wall)
    host.pass(60_000)
    host.set(by: 300 * Self.day)
    #expect(clock.now() == host.wall, "the process is young")
    host.pass(3_600_000)
    let right = clock.now()
    host.set(by: 300 * Self.day)
    #expect(clock.now() == right, "now it is not")
  }

  @Test("A time that could not be kept is due again at once, and one that is being kept is not")
  func notKept() throws {
    let clock = clock(Events().box)
    _ = clock.now()
    let due = try #require(clock.dueToKeep())
    #expect(clock.dueToKeep() == nil)
    clock.didNotKeep()
    #expect(clock.dueToKeep() == due)
    clock.didKeep(due)
    host.pass(59_000)
    _ = clock.now()
    #expect(clock.dueToKeep() == nil)
    host.pass(1000)
    _ = clock.now()
    #expect(clock.dueToKeep() == due + 60_000)
  }

  @Test("A data folder of before, without the table, gets it")
  func folderOfBefore() async throws {
    let test = try TestZone()
    test.storage.close()
    let connection = try SQLiteConnection(path: test.folder.database.path, mode: .readWrite)
    try connection.execute("DROP TABLE clock")
    connection.close()
    let again = try SQLiteZoneStorage(folder: test.folder)
    defer { again.close() }
    #expect(await again.time() > 0)
  }

  @Test(
    "F31 A server that believed a leap goes on from the right time by its operator's word alone")
  func setBackByOperator() async throws {
    let test = try TestZone(
      now: { [host] in host.wall }, sinceBoot: { [host] in host.boot })
    let zone = try await test.zone()
    _ = await test.storage.time()
    test.storage.close()
    host.restart(after: 300 * Self.day)
    let leapt = try storage(test.folder)
    var replica = TestReplica()
    _ = try await leapt.append(
      replica.push(zone.generation, inserts: [.init(first: UUID(), count: 1)]), to: zone)
    leapt.close()
    host.restart(after: -300 * Self.day)
    let still = try storage(test.folder)
    #expect(await still.time() > UInt64(host.wall + 299 * Self.day))
    still.close()
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    #expect(try administration.clock(at: host.wall).state == .behind)
    let serving = try test.folder.lockForServing()
    let refused = #expect(throws: ServerError.self) {
      try administration.setClockBack(to: host.wall)
    }
    #expect(refused?.code == .locked)
    #expect(
      refused?.message.contains("process \(ProcessInfo.processInfo.processIdentifier)") == true)
    serving.release()
    let before = try administration.setClockBack(to: host.wall)
    #expect(try #require(before.aheadMilliseconds) > 299 * Self.day)
    let after = try administration.clock(at: host.wall)
    #expect(after.state == .right)
    #expect(after.givenMilliseconds == host.wall)
    let again = #expect(throws: ServerError.self) {
      try administration.setClockBack(to: host.wall)
    }
    #expect(again?.code == .nothingToSetBack)
    #expect(throws: ServerError.self) { try administration.setClockBack(to: 1000) }
    let right = try storage(test.folder)
    defer { right.close() }
    #expect(await right.time() == UInt64(host.wall))
    host.pass(1000)
    #expect(await right.time() == UInt64(host.wall))
    #expect(
      try administration.clock(at: host.wall + 500 * Self.day).state == .ahead)
  }
}
