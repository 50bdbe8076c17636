import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Driftless

/// In which order observers of a store hear of its commits.
struct CommitOrderTests {
  private let name = UUID().uuidString
  private let notifications: CommitNotifications

  init() { notifications = CommitNotifications(url: nil, store: name) }

  /// The numbers that one observer is told.
  private final class Heard: Sendable {
    private let heard = Mutex<[Int64]>([])
    var numbers: [Int64] { heard.withLock { $0 } }
    func hear(_ number: Int64) { heard.withLock { $0.append(number) } }
  }

  private final class Counter: Sendable {
    let number: Mutex<Int64>
    init(_ first: Int64 = 0) { number = Mutex(first) }
  }

  private func observe(_ body: @escaping @Sendable (Int64) -> Void) -> any NSObjectProtocol {
    let name = name
    return NotificationCenter.default.addObserver(
      forName: .persistentStoreRemoteChange, object: nil, queue: nil
    ) { note in
      guard note.userInfo?["storeIdentifier"] as? String == name,
        let token = note.userInfo?["historyToken"] as? PersistentHistoryToken
      else { return }
      body(token.numbers[name] ?? -1)
    }
  }

  private static func isInOrder(_ numbers: [Int64]) -> Bool {
    zip(numbers, numbers.dropFirst()).allSatisfy { $0 <= $1 }
  }

  @Test("A commit that is told after a later one takes no observer back")
  func toldLate() throws {
    let heard = Heard()
    let observer = observe { heard.hear($0) }
    defer { NotificationCenter.default.removeObserver(observer) }
    let first = try #require(notifications.note(1) { 1 })
    let second = try #require(notifications.note(2) { 2 })
    notifications.tell(second)
    notifications.tell(first)
    #expect(Self.isInOrder(heard.numbers) && heard.numbers.last == 2)
    let third = try #require(notifications.note(3) { 3 })
    _ = notifications.note(4) { 4 }
    notifications.tell(third)
    #expect(heard.numbers.last == 4)
  }

  @Test("What an observer commits is told to the others after what it was told of")
  func observerCommits() throws {
    let (notifications, heard) = (notifications, Heard())
    // Whoever comes first commits at once: the others are told of that commit after this one.
    let counter = Counter(1)
    let observers = (0..<3).map { _ in
      observe { number in
        let next = counter.number.withLock { last -> Int64? in
          guard last == number, last < 5 else { return nil }
          last += 1
          return last
        }
        if let next { notifications.tell(next) { next } }
        heard.hear(number)
      }
    }
    defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
    notifications.tell(1) { 1 }
    #expect(Self.isInOrder(heard.numbers))
    #expect(heard.numbers.count == 15 && heard.numbers.last == 5)
  }

  @Test("Commits of several threads come one after the other, and none is missing at the end")
  func threads() async throws {
    let (notifications, heard) = (notifications, Heard())
    let observer = observe { heard.hear($0) }
    defer { NotificationCenter.default.removeObserver(observer) }
    let stream = notifications.stream { 0 }
    let counter = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<200 {
            // As a save does: the number is noted with the lock of the writer, and told without it.
            let commits = counter.number.withLock { number in
              number += 1
              return notifications.note(number) { nil }
            }
            if let commits { notifications.tell(commits) }
          }
        }
      }
    }
    #expect(Self.isInOrder(heard.numbers))
    #expect(heard.numbers.count == 1600 && heard.numbers.last == 1600)
    notifications.close()
    var last: Int64 = 0
    for await number in stream { last = number }
    #expect(last == 1600)
  }

  @Test("Where an older copy was put back, its transactions are told")
  func olderCopy() throws {
    let heard = Heard()
    let observer = observe { heard.hear($0) }
    defer { NotificationCenter.default.removeObserver(observer) }
    notifications.tell(7) { 7 }
    notifications.tell(3) { 3 }
    #expect(heard.numbers == [7, 3])
  }
}
