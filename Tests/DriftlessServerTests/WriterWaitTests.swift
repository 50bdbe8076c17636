import DriftlessSQLite
import DriftlessStorageConformance
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessServer

/// Who writes much, in many transactions, lets those in between who wait for the writer, and loses no time else.
@Suite("Those who wait for the writer")
struct WriterWaitTests {
  private final class Flag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock { $0 } }

    func set() { value.withLock { $0 = true } }
  }

  @Test("Where nobody waits, nobody is waited for")
  func nobody() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    var replica = TestReplica()
    _ = try await test.storage.append(replica.push(zone.generation), to: zone)
    let wait = WriterWait(test.folder)
    let time = ContinuousClock().measure { for _ in 0..<100 { wait.giveWay() } }
    #expect(time < .seconds(5))
  }

  /// Who waits for the writer.
  enum Writer: CaseIterable, Sendable {
    case push, time, readiness, command
  }

  @Test(
    "Whoever waits for the writer is let in by who writes again and again",
    arguments: Writer.allCases)
  func letsIn(_ writer: Writer) async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let folder = test.folder
    let (isOver, began) = (Flag(), Flag())
    // More than a minute: a busy machine takes seconds for what is let in at once.
    let roundsMax = 4_000
    async let rounds: Int = withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            let connection = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
            defer { connection.close() }
            let wait = WriterWait(folder)
            var rounds = 0
            while !isOver.isSet, rounds < roundsMax {
              try connection.transaction(.immediate) {
                began.set()
                usleep(20_000)
              }
              wait.giveWay()
              rounds += 1
            }
            return rounds
          })
      }
    }
    while !began.isSet { await Task.yield() }
    var replica = TestReplica()
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    for count in 0..<5 {
      switch writer {
      case .push: _ = try await test.storage.append(replica.push(zone.generation), to: zone)
      case .time:
        try test.storage.writer.run { try SQLiteZoneStorage.keepTime(Int64(count), on: $0) }
      case .readiness: try await test.storage.checkReady(bytes: 1)
      case .command: _ = try administration.createZone("zone-\(count)")
      }
    }
    isOver.set()
    #expect(try await rounds < roundsMax)
  }

  @Test("A purge lets a command in after the transaction that it is at")
  func purge() async throws {
    let test = try TestZone()
    var boxes = BoxReplica(try await test.zone())
    for _ in 0..<600 { _ = try await test.storage.append(boxes.insert(1), to: test.zone()) }
    let folder = test.folder
    let isOver = Flag()
    async let purged: Int = blocking {
      defer { isOver.set() }
      let administration = try Administration(folder: folder)
      defer { administration.close() }
      let options = PurgeOptions(keepDays: 0, replicaDays: 0, isTried: true)
      return try administration.purgeZone(
        "shop", options, at: Administration.hostMilliseconds + 10_000
      ).entries
    }
    let passed = try await blocking {
      let administration = try Administration(folder: folder)
      defer { administration.close() }
      let reader = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
      defer { reader.close() }
      func entries() throws -> Int64 { try reader.integer("SELECT count(*) FROM log") ?? 0 }
      var passed: [Int64] = []
      let connection = administration.connection
      let told = try #require(connection.whileWaiting)
      connection.whileWaiting = { wait in
        try told {
          let before = try entries()
          try wait()
          passed.append(try before - entries())
        }
      }
      var count = 0
      let wait = WriterWait(folder)
      while !isOver.isSet {
        _ = try administration.createZone("zone-\(count)")
        count += 1
        // The next command is another process's, which takes a moment to come.
        wait.giveWay()
      }
      return passed
    }
    // The last entry stays.
    #expect(try await purged == 599)
    // The transaction that it was at when the command came; then the command.
    #expect(passed.allSatisfy { $0 <= 500 }, "\(passed)")
  }

  @Test("One who waits without end is not waited for without end")
  func stopped() throws {
    let test = try TestZone()
    let wait = WriterWait(test.folder)
    let time = try ContinuousClock().measure {
      try wait.run { wait.giveWay(milliseconds: 50) }
    }
    #expect(time >= .milliseconds(50))
  }
}
