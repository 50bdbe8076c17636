import DriftlessHTTP
import DriftlessProtocol
import Foundation
import Testing

@Suite struct CurlTransportTests {
  /// A transport whose delays are short enough for a test.
  private func transport(
    _ server: CrookedServer, _ change: (inout TransportOptions) -> Void = { _ in }
  ) throws -> CurlTransport {
    var options = TransportOptions()
    options.retry.delaySecondsFirst = 0.002
    options.retry.attemptsMax = 3
    change(&options)
    return try CurlTransport(
      server: server.url, zone: "shop", token: "secret-token", options: options)
  }

  private let chain = LogChain.start(generation: UUID())

  private var pullRequest: PullRequest {
    PullRequest(
      cursor: Cursor(generation: UUID(), sequence: 3, chain: chain),
      mark: LogMark(sequence: 2, chain: chain), maxBytes: 1_000, waitSeconds: 30,
      replica: UUID(), ownThrough: 0)
  }

  private func failure(_ body: () async throws -> some Any) async -> TransportError? {
    do {
      _ = try await body()
      return nil
    } catch {
      return error as? TransportError
    }
  }

  @Test("A request names the zone, carries the token in its header only, and its answer is read")
  func zoneInfo() async throws {
    let server = try CrookedServer([.send(Answer.json(Answer.zone))])
    defer { server.stop() }
    let info = try await transport(server).zoneInfo()
    #expect(info.zone == "shop")
    #expect(info.head == 7)
    let head = try #require(server.seen.first?.head)
    #expect(head.hasPrefix("GET /v1/zones/shop HTTP/1.1\r\n"))
    #expect(head.contains("\r\nAuthorization: Bearer secret-token"))
    #expect(head.components(separatedBy: "secret-token").count == 2)
  }

  @Test("Two ways to one zone are one; another server, zone, token or bound makes another")
  func interchangeable() throws {
    let server = try #require(URL(string: "http://127.0.0.1:1"))
    let other = try #require(URL(string: "http://127.0.0.1:2"))
    var options = TransportOptions()
    options.retry.attemptsMax = 1
    func way(
      _ server: URL, _ zone: String = "shop", _ token: String = "secret",
      _ options: TransportOptions = TransportOptions()
    ) throws -> CurlTransport {
      try CurlTransport(server: server, zone: zone, token: token, options: options)
    }
    let transport = try way(server)
    #expect(try transport.isInterchangeable(with: way(server)))
    #expect(try !transport.isInterchangeable(with: way(other)))
    #expect(try !transport.isInterchangeable(with: way(server, "books")))
    #expect(try !transport.isInterchangeable(with: way(server, "shop", "another")))
    #expect(try !transport.isInterchangeable(with: way(server, "shop", "secret", options)))
  }

  @Test("Requests one after the other use one connection")
  func reuse() async throws {
    let server = try CrookedServer([.send(Answer.json(Answer.zone))])
    defer { server.stop() }
    let transport = try transport(server)
    for _ in 0..<5 { _ = try await transport.zoneInfo() }
    #expect(server.seen.count == 5)
    #expect(server.connections == 1)
  }

  @Test("A large frame arrives byte for byte, without a wait for 100-continue")
  func pushBody() async throws {
    let server = try CrookedServer([.send(Answer.json(Answer.pushed))])
    defer { server.stop() }
    let frame = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let reply = try await transport(server).push(frame)
    #expect(reply.sequence == 8)
    let seen = try #require(server.seen.first)
    #expect(seen.body == frame)
    #expect(seen.head.contains("\r\nContent-Type: application/vnd.driftless.changeset"))
    #expect(!seen.head.contains("Expect:"))
  }

  @Test("F19 An answer that comes byte by byte is read whole")
  func trickle() async throws {
    let server = try CrookedServer([.trickle(Answer.json(Answer.zone))])
    defer { server.stop() }
    #expect(try await transport(server).zoneInfo().head == 7)
  }

  @Test("F24 A redirect is refused, and the token does not travel to where it points")
  func redirect() async throws {
    let other = try CrookedServer([.send(Answer.json(Answer.zone))])
    let server = try CrookedServer([
      .send(
        Answer.text(
          "", type: "text/html", status: "302 Found",
          fields: ["Location: \(other.url.absoluteString)/login"]))
    ])
    defer {
      server.stop()
      other.stop()
    }
    let error = await failure { try await transport(server).zoneInfo() }
    #expect(error?.code == .notDriftless)
    #expect(error?.message.contains(other.url.absoluteString) == true)
    #expect(other.connections == 0)
    #expect(server.seen.count == 1, "asking again would not help")
  }

  @Test("F24 A sign-in page with status 200 is no answer", arguments: ["/", "/changes"])
  func captivePortal(path: String) async throws {
    let server = try CrookedServer([.send(Answer.text("<html>hello</html>", type: "text/html"))])
    defer { server.stop() }
    let transport = try transport(server)
    let error = await failure {
      if path == "/" { return try await transport.zoneInfo() as Any }
      return try await transport.pull(pullRequest)
    }
    #expect(error?.code == .notDriftless)
  }

  @Test("F25 A body that ends early is refused whole and asked for again")
  func truncated() async throws {
    let whole = Answer.json(Answer.zone)
    let server = try CrookedServer(
      [.send(String(whole.dropLast(20))), .close], [.send(whole)])
    defer { server.stop() }
    #expect(try await transport(server).zoneInfo().head == 7)
    #expect(server.seen.count == 2)
  }

  @Test("F25 A body that never comes whole ends as an error after the attempts are used up")
  func alwaysTruncated() async throws {
    let server = try CrookedServer([.send(String(Answer.json(Answer.zone).dropLast(1))), .close])
    defer { server.stop() }
    let error = await failure { try await transport(server).zoneInfo() }
    #expect(error?.code == .damagedBody)
    #expect(server.seen.count == 3)
  }

  /// What a parameter of the requests that a server saw was.
  private func values(of parameter: String, in server: CrookedServer) -> [Int] {
    server.seen.compactMap { seen in
      seen.head.prefix { $0 != "\r" }.split { "?& ".contains($0) }
        .first { $0.hasPrefix("\(parameter)=") }.flatMap { Int($0.dropFirst(parameter.count + 1)) }
    }
  }

  @Test("F22 A line that breaks after so many bytes is asked for fewer, and then for more")
  func shorterPages() async throws {
    let cut = CrookedServer.Step.send(
      String(Answer.text("an answer that is cut", type: WirePath.logType).dropLast(3)))
    let server = try CrookedServer(
      [cut, .close], [cut, .close], [cut, .close], [.send(Answer.json(Answer.zone))], [cut, .close])
    defer { server.stop() }
    let transport = try transport(server)
    var request = pullRequest
    request.maxBytes = 4_194_304
    var error = await failure { try await transport.pull(request) }
    #expect(error?.code == .damagedBody)
    _ = try await transport.zoneInfo()
    error = await failure { try await transport.pull(request) }
    #expect(error?.code == .damagedBody)
    let asked: [Int] = [4_194_304, 1_048_576, 262_144, 65_536, 16_384, 16_384]
    #expect(values(of: "max_bytes", in: server) == asked)
  }

  @Test("F22 So it is of a snapshot's files, where each piece that came lets the next be larger")
  func shorterPieces() async throws {
    let piece = Answer.text(
      "bytes", type: WirePath.segmentType, fields: ["\(AnswerCheck.field): the check"])
    let cut = CrookedServer.Step.send(String(piece.dropLast(3)))
    let server = try CrookedServer([cut, .close], [cut, .close], [.send(piece)])
    defer { server.stop() }
    let transport = try transport(server)
    for _ in 0..<4 {
      let came = try await transport.segment("name", of: UUID(), range: 0..<1_048_576)
      #expect(came == Data("bytes".utf8))
    }
    let asked: [Int] = [1_048_576, 262_144, 65_536, 131_072, 262_144, 524_288]
    #expect(values(of: "count", in: server) == asked)
  }

  @Test("JSON of another shape is refused")
  func otherShape() async throws {
    let server = try CrookedServer([.send(Answer.json(#"{"zone":"shop"}"#))])
    defer { server.stop() }
    let error = await failure { try await transport(server).zoneInfo() }
    #expect(error?.code == .damagedBody)
  }

  @Test("A body over the bound is refused, by its announced length and by its bytes")
  func oversized() async throws {
    let large = String(repeating: "x", count: 70_000)
    let chunked =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "11170\r\n\(large)\r\n0\r\n\r\n"
    for answer in [Answer.json(large), chunked] {
      let server = try CrookedServer([.send(answer)])
      defer { server.stop() }
      let error = await failure { try await transport(server).zoneInfo() }
      #expect(error?.code == .tooLarge)
      #expect(server.seen.count == 1, "asking again would not make it smaller")
    }
  }

  @Test("F19 A connection that breaks before the answer is made again", arguments: [true, false])
  func broken(byReset: Bool) async throws {
    let server = try CrookedServer(
      [byReset ? .reset : .close], [.send(Answer.json(Answer.pushed))])
    defer { server.stop() }
    let reply = try await transport(server).push(Data("frame".utf8))
    #expect(reply.sequence == 8)
    #expect(server.seen.map(\.body) == [Data("frame".utf8), Data("frame".utf8)])
  }

  @Test("F26 A port where nobody listens is unreachable")
  func refused() async throws {
    let server = try CrookedServer([.close])
    let transport = try transport(server)
    server.stop()
    // The listener closes once its thread has seen the stop; until then a connection is accepted
    // and closed.
    let error = await failure { try await transport.zoneInfo() }
    #expect(error?.code == .unreachable)
    #expect(error?.message.contains("127.0.0.1:\(server.port)") == true)
  }

  @Test("What answers without HTTP is no Driftless server")
  func noHTTP() async throws {
    let server = try CrookedServer([.send("SSH-2.0-OpenSSH_9.2p1\r\n"), .close])
    defer { server.stop() }
    let error = await failure { try await transport(server).zoneInfo() }
    #expect(error?.code == .notDriftless)
  }

  @Test("F21 A server that says nothing is given up after the stall time")
  func stalled() async throws {
    let server = try CrookedServer([.silence])
    defer { server.stop() }
    let error = await failure {
      try await transport(server) {
        $0.stallTimeoutSeconds = 1
        $0.retry.attemptsMax = 1
      }.zoneInfo()
    }
    #expect(error?.code == .timedOut)
  }

  @Test("F21 A body that stops half-way is given up after the stall time")
  func blackhole() async throws {
    let server = try CrookedServer([
      .send(String(Answer.json(Answer.zone).dropLast(10))), .silence,
    ])
    defer { server.stop() }
    let error = await failure {
      try await transport(server) {
        $0.stallTimeoutSeconds = 1
        $0.retry.attemptsMax = 1
      }.zoneInfo()
    }
    #expect(error?.code == .timedOut)
  }

  @Test("F23 A busy server is asked again; the change is not dropped")
  func busyOnce() async throws {
    let busy = Answer.json(
      #"{"code":"busy","message":"too many","suggestion":"wait"}"#,
      status: "503 Service Unavailable", fields: ["Retry-After: 0"])
    let server = try CrookedServer([.send(busy)], [.send(Answer.json(Answer.pushed))])
    defer { server.stop() }
    #expect(try await transport(server).push(Data("frame".utf8)).sequence == 8)
    #expect(server.seen.count == 2)
  }

  @Test("F23 A long Retry-After ends the request at once, with the time in the error")
  func busyForLong() async throws {
    let server = try CrookedServer([
      .send(
        Answer.text(
          "slow down", type: "text/plain", status: "429 Too Many Requests",
          fields: ["Retry-After: 3600"]))
    ])
    defer { server.stop() }
    let error = await failure { try await transport(server).push(Data("frame".utf8)) }
    #expect(error?.code == .busy)
    #expect(error?.retryAfterSeconds == 3_600)
    #expect(server.seen.count == 1)
  }

  @Test("What the server refuses for a reason is not asked again, and keeps the server's words")
  func refusedByServer() async throws {
    let server = try CrookedServer([
      .send(
        Answer.json(
          #"{"code":"unauthorized","message":"This token is not known.","suggestion":"Ask for another."}"#,
          status: "401 Unauthorized"))
    ])
    defer { server.stop() }
    do {
      _ = try await transport(server).zoneInfo()
      Issue.record("a refused request gave an answer")
    } catch let error as ProtocolError {
      #expect(error.code.rawValue == "unauthorized")
      #expect(error.message.contains("This token is not known."))
    }
    #expect(server.seen.count == 1)
  }

  @Test("Cancelling the task ends a long poll at once")
  func cancellation() async throws {
    let server = try CrookedServer([.silence])
    defer { server.stop() }
    let transport = try transport(server)
    let request = pullRequest
    let poll = Task { try await transport.pull(request) }
    while server.seen.isEmpty { await Task.yield() }
    let clock = ContinuousClock()
    let took = await clock.measure {
      poll.cancel()
      let error = await failure { try await poll.value }
      #expect(error?.code == .cancelled)
    }
    #expect(took < .seconds(5), "the poll itself would have waited a minute")
  }

  @Test("A closed transport answers, too")
  func closed() async throws {
    let server = try CrookedServer([.send(Answer.json(Answer.zone))])
    defer { server.stop() }
    let transport = try transport(server)
    transport.close()
    let error = await failure { try await transport.zoneInfo() }
    #expect(error?.code == .cancelled)
  }

  @Test("A pull says its cursor, its bounds and who asks")
  func pullQuery() async throws {
    let server = try CrookedServer([.send(Answer.text("", type: "text/plain", status: "404 No"))])
    defer { server.stop() }
    let request = pullRequest
    _ = await failure { try await transport(server).pull(request) }
    let line = try #require(server.seen.first?.head.split(separator: "\r\n").first)
    for part in [
      "after=3", "max_bytes=1000", "wait_seconds=30", "chain=\(chain)", "mark=2",
      "mark_chain=\(chain)", "own_through=0",
      "generation=\(request.cursor.generation.uuidString)",
      "replica=\(request.replica.uuidString)",
    ] {
      #expect(line.contains(part), "\(line)")
    }
  }
}
