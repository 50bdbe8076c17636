import DriftlessSQLite
import DriftlessServerTesting
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

  @Test("A push that waits is let in by who writes again and again")
  func push() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    let folder = test.folder
    let (isOver, began) = (Flag(), Flag())
    let roundsMax = 400
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
    for _ in 0..<5 {
      _ = try await test.storage.append(replica.push(zone.generation), to: zone)
    }
    isOver.set()
    #expect(try await rounds < roundsMax / 2)
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
