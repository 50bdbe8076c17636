import DriftlessProtocol
import Foundation
import Synchronization
import Testing

@testable import DriftlessSync

/// A transport that notes what it is asked and answers from a list.
private final class NotedTransport: SyncTransport {
  let asked = Mutex<[PullRequest]>([])
  let pages: Mutex<[PullPage]>

  init(_ pages: [PullPage]) { self.pages = Mutex(pages) }

  func zoneInfo() async throws -> ZoneInfo { throw CancellationError() }
  func push(_ frame: Data) async throws -> PushReply { throw CancellationError() }

  func pull(_ request: PullRequest) async throws -> PullPage {
    asked.withLock { $0.append(request) }
    guard let page = pages.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
      throw CancellationError()
    }
    return page
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply { throw CancellationError() }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    throw CancellationError()
  }
}

@Suite struct NewsTransportTests {
  private let generation = UUID()
  private let chain = LogChain.start(generation: UUID())

  private func page(_ sequence: UInt64?) -> PullPage {
    PullPage(
      generation: generation, head: sequence ?? 3, serverTimeMilliseconds: 0,
      entries: sequence.map {
        [
          PullPage.Entry(
            sequence: $0, firstObjectNumber: 0, chain: chain, isOwnHeaderOnly: true,
            frame: Data([1]))
        ]
      } ?? [])
  }

  private var request: PullRequest {
    PullRequest(
      cursor: Cursor(generation: generation, sequence: 3, chain: chain), maxBytes: 100,
      waitSeconds: 0,
      replica: UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)),
      ownThrough: 0)
  }

  @Test("The long poll repeats the last pull, and its page is fetched once")
  func keptPage() async throws {
    let noted = NotedTransport([page(nil), page(nil), page(4)])
    let transport = NewsTransport(noted, sleep: { _ in })
    #expect(try await transport.pull(request).entries.isEmpty)
    #expect(try await !transport.waitForNews(seconds: 50))
    #expect(try await transport.waitForNews(seconds: 50))
    #expect(try await transport.pull(request).entries.count == 1)
    #expect(noted.asked.withLock { $0.map(\.waitSeconds) } == [0, 50, 50])
    await #expect(throws: CancellationError.self) { try await transport.pull(request) }
  }

  @Test("A kept page is not given to another request")
  func otherRequest() async throws {
    let noted = NotedTransport([page(nil), page(4), page(5)])
    let transport = NewsTransport(noted)
    _ = try await transport.pull(request)
    #expect(try await transport.waitForNews(seconds: 1))
    var other = request
    other.cursor.sequence = 4
    #expect(try await transport.pull(other).entries.first?.sequence == 5)
  }

  @Test(
    "Where long polls are answered at once without news, there is a pause between them, which grows"
  )
  func earlyAnswers() async throws {
    let noted = NotedTransport([page(nil)] + Array(repeating: page(nil), count: 6) + [page(4)])
    let pauses = Mutex<[Double]>([])
    let transport = NewsTransport(
      noted, sleep: { seconds in pauses.withLock { $0.append(seconds) } })
    _ = try await transport.pull(request)
    for _ in 0..<6 { #expect(try await !transport.waitForNews(seconds: 50)) }
    #expect(try await transport.waitForNews(seconds: 50))
    let slept = pauses.withLock { $0 }
    #expect(slept.count == 6, "news is not kept waiting")
    for (seconds, usual) in zip(slept, [1.0, 2, 4, 8, 8, 8]) {
      #expect((usual * 0.75...usual * 1.25).contains(seconds), "\(slept)")
    }
  }

  @Test("Before any pull there is something to look for")
  func beforeFirstPull() async throws {
    #expect(try await NewsTransport(NotedTransport([])).waitForNews(seconds: 1))
  }
}
