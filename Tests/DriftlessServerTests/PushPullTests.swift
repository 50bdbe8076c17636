import DriftlessProtocol
import DriftlessServer
import DriftlessStorageConformance
import Foundation
import Testing

@Suite("Push and pull over real sockets")
struct PushPullTests {
  @Test("A push gets its place, and a pull gives the same bytes with it")
  func roundTrip() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let first = try maker.insert(100)
      let second = try maker.insert(3)
      let reply = try await server.accepted(first, token: token)
      #expect(reply.sequence == 1)
      #expect(reply.firstObjectNumber == 1)
      #expect(try await server.accepted(second, token: token).firstObjectNumber == 101)
      let page = try await server.pull(after: 0, token: token)
      #expect(page.head == 2)
      #expect(page.generation == reply.generation)
      #expect(page.entries.map(\.frame) == [first, second])
      #expect(page.entries.map(\.firstObjectNumber) == [1, 101])
      #expect(try ChangeSetDecoder().decode(page.entries[0].frame).index.newObjectCount == 100)
      #expect(try await server.pull(after: 2, token: token).entries.isEmpty)
    }
  }

  @Test("The replica's own frames come back as headers, its others' whole")
  func ownFrames() async throws {
    try await withServer { server in
      let token = try server.token()
      let zone = try await server.zone()
      var mine = FrameMaker(zone)
      var other = FrameMaker(zone)
      let frames = [try mine.insert(5), try other.insert(5), try mine.insert(5)]
      for frame in frames { _ = try await server.accepted(frame, token: token) }
      let page = try await server.pull(
        after: 0, "&replica=\(mine.replica)&own_through=1", token: token)
      #expect(page.entries.map(\.isOwnHeaderOnly) == [true, false, false])
      #expect(page.entries[0].frame == frames[0].prefix(ChangeSetHeader.size))
      #expect(page.entries[1].frame == frames[1])
      let clone = try await server.pull(
        after: 0, "&replica=\(UUID())&own_through=9", token: token)
      #expect(clone.entries.map(\.frame) == frames)
    }
  }

  @Test("F18 The same push twice, one after the other or at one time, has one effect")
  func duplicates() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(10)
      let replies = try await withThrowingTaskGroup(of: PushReply.self) { group in
        for _ in 0..<8 { group.addTask { try await server.accepted(frame, token: token) } }
        return try await group.reduce(into: [PushReply]()) { $0.append($1) }
      }
      #expect(Set(replies.map(\.sequence)) == [1])
      #expect(Set(replies.map(\.firstObjectNumber)) == [1])
      #expect(try await server.zone().head == 1)
    }
  }

  @Test("F28 Pushes of many replicas at one time get dense sequence numbers")
  func concurrent() async throws {
    try await withServer { server in
      let token = try server.token()
      let zone = try await server.zone()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<12 {
          group.addTask {
            var maker = FrameMaker(zone)
            for _ in 0..<5 { _ = try await server.accepted(try maker.insert(2), token: token) }
          }
        }
        try await group.waitForAll()
      }
      let page = try await server.pull(after: 0, token: token)
      #expect(page.entries.map(\.sequence) == Array(1...60))
      #expect(page.entries.map(\.firstObjectNumber) == (0..<60).map { 1 + 2 * $0 })
    }
  }

  @Test("What changed after the push's cursor makes it stale, and the answer says the head")
  func stale() async throws {
    try await withServer { server in
      let token = try server.token()
      let zone = try await server.zone()
      var a = FrameMaker(zone)
      var b = FrameMaker(zone)
      _ = try await server.accepted(try a.insert(3), token: token)
      a.cursor = try await server.cursor(at: 1)
      b.cursor = a.cursor
      _ = try await server.accepted(try a.update([2]), token: token)
      let refused = try await server.push(try b.update([1, 2]), token: token)
      #expect(refused.status == 409)
      let error = try JSONDecoder().decode(WireError.self, from: refused.body)
      #expect(error.protocolError(status: 409).code == .stale)
      #expect(error.head == 2)
      b.cursor = try await server.cursor(at: 2)
      b.number = 0
      #expect(try await server.accepted(try b.update([1, 2]), token: token).sequence == 3)
    }
  }

  @Test("Other bytes under one number, another log, and another generation each have their code")
  func conflicts() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      _ = try await server.accepted(try maker.insert(1), token: token)
      maker.number = 0
      #expect(try await server.push(try maker.insert(1), token: token).code == "forked")
      maker.number = 5
      #expect(try await server.push(try maker.insert(1), token: token).status == 200)
      maker.number = 2
      #expect(try await server.push(try maker.insert(1), token: token).code == "forked")
      maker.number = 9
      maker.cursor.chain = .start(generation: UUID())
      let diverged = try await server.push(try maker.insert(1), token: token)
      #expect(diverged.code == "diverged")
      #expect(diverged.status == 409)
      maker.cursor.generation = UUID()
      let changed = try await server.push(try maker.insert(1), token: token)
      #expect(changed.code == "generation-changed")
      #expect(changed.status == 409)
      #expect(try await server.zone().head == 2)
    }
  }

  @Test(
    "F30 A time more than a day ahead is refused with the server's clock, one within a day is not")
  func clockAhead() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let now = maker.milliseconds
      maker.milliseconds = now + 25 * 3600 * 1000
      let refused = try await server.push(try maker.insert(1), token: token)
      #expect(refused.status == 409)
      #expect(refused.code == "clock-ahead")
      maker.number = 0
      maker.milliseconds = now + 23 * 3600 * 1000
      #expect(try await server.push(try maker.insert(1), token: token).status == 200)
    }
  }

  @Test("A long poll is answered by the next push, and by the end of its time")
  func longPoll() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(1)
      async let poll = server.pull(after: 0, "&wait_seconds=30", token: token)
      while server.server.news.waiting == 0 { await Task.yield() }
      _ = try await server.accepted(frame, token: token)
      #expect(try await poll.entries.map(\.frame) == [frame])
      let empty = try await server.pull(after: 1, "&wait_seconds=1", token: token)
      #expect(empty.entries.isEmpty)
      #expect(empty.head == 1)
    }
  }

  @Test("A stop answers those who wait, and what was pushed is there after the next start")
  func stopAndStart() async throws {
    let server = try await LiveServer()
    let token = try server.token()
    var maker = FrameMaker(try await server.zone())
    let frame = try maker.insert(4)
    _ = try await server.accepted(frame, token: token)
    async let poll = server.pull(after: 1, "&wait_seconds=40", token: token)
    while server.server.news.waiting == 0 { await Task.yield() }
    let start = ContinuousClock.now
    try await server.stop()
    #expect(ContinuousClock.now - start < .seconds(35))
    // The answer is an empty page, or a connection that ended with the server: never a wait to the end.
    _ = try? await poll
    let again = try await LiveServer(directory: server.directory)
    #expect(try await again.pull(after: 0, token: token).entries.map(\.frame) == [frame])
    #expect(try await again.accepted(frame, token: token).sequence == 1)
    try await again.stop()
  }

  @Test(
    "A query that is wrong is malformed, not a crash",
    arguments: [
      "", "generation=x", "generation={G}&after=-1", "generation={G}&after=99999999999999999999",
      "generation={G}&after=a", "generation={G}&max_bytes=x", "generation={G}&wait_seconds=1.5",
      "generation={G}&replica=1", "generation={G}&after=1", "generation={G}&after=1&chain=1",
      "generation={G}&mark=1", "generation={G}&mark=1&mark_chain=+0000000000000000000000000000000",
      "generation={G}&replica={G}&own_through=x", "generation={G}&own_through=x",
      "generation={G}&mark_chain=1", "generation={G}&generation={G}",
      "generation={G}&max_bytes=1&max_bytes=1",
    ])
  func wrongQuery(query: String) async throws {
    try await withServer { server in
      let token = try server.token()
      let generation = try await server.zone().generation.uuidString
      let text = query.replacingOccurrences(of: "{G}", with: generation)
      let response = try await server.request(
        "GET", "/v1/zones/shop/changes?\(text)", token: token.text)
      #expect(response.status == 400)
      #expect(response.code == "malformed")
    }
  }

  @Test("Huge numbers in a query are cut to the server's limits")
  func hugeQuery() async throws {
    try await withServer { server in
      let token = try server.token()
      let huge = UInt64.max
      let page = try await server.pull(
        after: 0, "&max_bytes=\(huge)&replica=\(UUID())&own_through=\(huge)", token: token)
      #expect(page.entries.isEmpty)
      let after = try await server.request(
        "GET",
        "/v1/zones/shop/changes?generation=\(try await server.zone().generation)&after=\(huge)"
          + "&chain=\(try await server.zone().chain)",
        token: token.text)
      #expect(after.code == "diverged")
    }
  }
}
