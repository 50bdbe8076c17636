import DriftlessProtocol
import DriftlessServer
import Foundation
import Logging
import Testing

/// Requests that wait while an operator's command changes what they wait for. The connection's patience is less than they
/// asked for.
@Suite("Long polls and operators", .serialized)
struct OperatorWatchTests {
  private func limits() -> ServerLimits {
    var limits = ServerLimits()
    limits.watchSeconds = 1
    return limits
  }

  enum Act: CaseIterable, Sendable {
    case revoke, renew, delete, rename

    var code: String {
      switch self {
      case .revoke, .delete: "unauthorized"
      case .renew: "generation-changed"
      case .rename: "forbidden"
      }
    }
  }

  @Test("A command that concerns it ends a long poll at once", arguments: Act.allCases)
  func ended(act: Act) async throws {
    try await withServer(limits: limits()) { server in
      let token = try server.token()
      let began = ContinuousClock.now
      async let poll = server.pull(after: 0, "&wait_seconds=50", token: token)
      while server.server.news.waiting == 0 { await Task.yield() }
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      switch act {
      case .revoke: try administration.revokeToken(id: token.id)
      case .renew: _ = try administration.renewZone("shop", intent: .offer)
      case .delete: try administration.deleteZone("shop")
      case .rename: _ = try administration.renameZone("shop", to: "other")
      }
      do {
        _ = try await poll
        Issue.record("it is answered")
      } catch let error as LiveServer.Refused {
        #expect(error.code == act.code)
      }
      #expect(ContinuousClock.now - began < .seconds(45), "it asked for 50 s")
    }
  }

  @Test("F35 V9 What is pushed after a token was revoked does not reach a long poll that it began")
  func revokedBeforeThePush() async throws {
    // No watch: the push itself wakes it.
    var limits = ServerLimits()
    limits.watchSeconds = 1000
    try await withServer(limits: limits) { server in
      let (token, other) = (try server.token(), try server.token())
      var maker = FrameMaker(try await server.zone())
      async let poll = server.pull(after: 0, "&wait_seconds=50", token: token)
      while server.server.news.waiting == 0 { await Task.yield() }
      try server.revoke(token)
      _ = try await server.accepted(try maker.insert(1), token: other)
      do {
        _ = try await poll
        Issue.record("it is answered")
      } catch let error as LiveServer.Refused {
        #expect(error == LiveServer.Refused(status: 401, code: "unauthorized"))
      }
    }
  }

  @Test("A command that does not concern it leaves a long poll waiting for its news")
  func left() async throws {
    try await withServer(limits: limits()) { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(1)
      async let poll = server.pull(after: 0, "&wait_seconds=50", token: token)
      while server.server.news.waiting == 0 { await Task.yield() }
      let administration = try Administration(folder: DataFolder(server.data))
      _ = try administration.createZone("other")
      administration.close()
      // As the watch does when it sees that.
      server.server.news.wakeAll()
      while server.server.news.waiting == 0 { await Task.yield() }
      _ = try await server.accepted(frame, token: token)
      #expect(try await poll.entries.map(\.frame) == [frame])
    }
  }

  @Test("F35 A token with an end is refused from then on, and one that was rotated after its grace")
  func tokenEnds() async throws {
    try await withServer { server in
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      let now = Administration.hostMilliseconds
      func status(_ token: AccessToken) async throws -> Int {
        try await server.request("GET", "/v1/zones/shop", token: token.text).status
      }
      let ended = try administration.createToken(
        zone: "shop", verbs: .read, label: "till", expiresMilliseconds: now - 1)
      #expect(try await status(ended) == 401)
      let valid = try administration.createToken(
        zone: "shop", verbs: .read, label: "till", expiresMilliseconds: now + 3_600_000)
      #expect(try await status(valid) == 200)
      let second = try administration.rotateToken(
        id: valid.id, grace: 60_000, expiresMilliseconds: nil)
      #expect(try await status(valid) == 200)
      #expect(try await status(second) == 200)
      let third = try administration.rotateToken(
        id: second.id, grace: 0, expiresMilliseconds: nil)
      #expect(try await status(second) == 401)
      #expect(try await status(third) == 200)
      #expect(throws: ServerError.self) {
        try administration.rotateToken(id: second.id, grace: 0, expiresMilliseconds: nil)
      }
      let records = try administration.tokens()
      #expect(records.allSatisfy { $0.name == "till" && $0.verbs == .read })
      let rotated = try #require(records.first { $0.id == valid.id }?.expiresMilliseconds)
      #expect(rotated <= Administration.hostMilliseconds + 60_000)
    }
  }

  @Test("An answer has an ID, under which the log says who asked for what")
  func requestID() async throws {
    try await withServer { server in
      let administration = try Administration(folder: DataFolder(server.data))
      let token = try administration.createToken(
        zone: "shop", verbs: [.read, .write], label: "till-3")
      administration.close()
      var maker = FrameMaker(try await server.zone())
      let response = try await server.push(try maker.insert(1), token: token)
      let id = try #require(response.headers["x-request-id"])
      let line = try #require(
        server.log.text.split(separator: "\n").first {
          $0.contains("msg=request") && $0.contains("request=\(id)")
        })
      for part in [
        "zone=shop", "token=\(token.id)", "tokenName=till-3", "address=127.0.0.1",
        "replica=\(maker.replica.uuidString.lowercased())",
      ] {
        #expect(line.contains(part), "\(line)")
      }
      let refused = try await server.request("GET", "/v1/zones/shop")
      #expect(refused.headers["x-request-id"] != nil)
      #expect(refused.headers["x-request-id"] != id)
    }
  }

  @Test("In an application whose log keeps nothing, the server answers with an ID as well")
  func noLog() async throws {
    let server = try await LiveServer(
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let answers = [
      try await server.request("GET", "/healthz"), try await server.request("GET", "/v1/none"),
    ]
    try await server.stop()
    #expect(answers.map(\.status) == [200, 404])
    #expect(Set(answers.map { $0.headers["x-request-id"] }).subtracting([nil]).count == 2)
  }
}
