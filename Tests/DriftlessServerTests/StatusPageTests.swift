import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging
import TestSupport
import Testing

@testable import DriftlessServer

/// The page of an operator, over HTTP.
@Suite("Status page", .serialized)
struct StatusPageTests {
  private static func operatorToken(
    _ server: LiveServer, name: String = "ada", expires: Int64? = nil
  ) throws -> AccessToken {
    let administration = try Administration(folder: DataFolder(server.data))
    defer { administration.close() }
    return try administration.createOperator(name: name, expiresMilliseconds: expires)
  }

  /// What a browser does with the form.
  private static func signIn(
    _ server: LiveServer, _ token: String, headers: [String] = []
  ) async throws -> RawConnection.Response {
    try await server.request(
      "POST", "/sign-in",
      headers: ["Content-Type: application/x-www-form-urlencoded"] + headers,
      body: Data("token=\(token)".utf8))
  }

  private static func cookie(_ response: RawConnection.Response) throws -> String {
    let field = try #require(response.headers["set-cookie"])
    return "Cookie: " + (field.split(separator: ";").first.map(String.init) ?? "")
  }

  private static func signedIn(_ server: LiveServer, _ token: AccessToken) async throws -> String {
    let response = try await signIn(server, token.text)
    try #require(response.status == 303)
    return try cookie(response)
  }

  private static func page(
    _ server: LiveServer, _ path: String = "/", _ cookie: String
  ) async throws -> String {
    let response = try await server.request("GET", path, headers: [cookie])
    #expect(response.status == 200, "\(path)")
    return String(decoding: response.body, as: UTF8.self)
  }

  @Test("Nobody sees it without an operator's token, and a zone's token is none")
  func signIn() async throws {
    try await withServer { server in
      for path in ["/", "/zones/shop"] {
        let response = try await server.request("GET", path)
        #expect(
          response.status == 303 && response.headers["location"]?.hasSuffix("sign-in") == true)
        #expect(response.body.isEmpty)
      }
      let form = try await server.request("GET", "/sign-in")
      #expect(form.status == 200)
      let policy = form.headers["content-security-policy"] ?? ""
      #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"), "\(policy)")
      #expect(form.headers["cache-control"] == "no-store")
      let token = try Self.operatorToken(server)
      let wrong = "dl_\(token.id)_" + String(repeating: "0", count: 64)
      for text in [try server.token().text, wrong, "", "x", "%00", "token=1&token=2"] {
        let response = try await Self.signIn(server, text)
        #expect(response.status == 401 && response.headers["set-cookie"] == nil, "\(text)")
      }
      let response = try await Self.signIn(server, token.text)
      #expect(response.status == 303)
      let cookie = response.headers["set-cookie"] ?? ""
      for word in ["HttpOnly", "SameSite=Strict", "Max-Age=43200"] {
        #expect(cookie.contains(word), "\(cookie)")
      }
      #expect(!cookie.contains("Secure"), "\(cookie)")
      let behind = try await Self.signIn(server, token.text, headers: ["X-Forwarded-Proto: https"])
      #expect(behind.headers["set-cookie"]?.contains("; Secure") == true)
      let page = try await Self.page(server, "/", try Self.cookie(response))
      #expect(page.contains("<a href=\"./zones/shop\">shop</a>") && page.contains("ada, "))
      // Its token opens no zone.
      #expect(
        try await server.request("GET", "/v1/zones/shop", token: token.text).status == 401)
      #expect(!server.log.text.contains(token.secret))
      #expect(server.log.text.contains("operator=ada"))
    }
  }

  @Test("What it says of zones, replicas and their lag is so")
  func content() async throws {
    try await withServer(zones: ["shop", "other"]) { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(2)
      _ = try await server.accepted(frame, token: token)
      let reader = UUID()
      // It asks again, so what it was given has not come.
      for _ in 0..<2 {
        _ = try await server.pull(after: 0, "&replica=\(reader)&own_through=0", token: token)
      }
      let cookie = try await Self.signedIn(server, try Self.operatorToken(server))
      let page = try await Self.page(server, "/", cookie)
      for words in [
        "data-name=\"Change sets\">1<", "data-name=\"Log\">\(Figure.bytes(frame.count))<",
        "data-name=\"Replicas\">2<", "data-name=\"Furthest behind\">1<",
        "<span class=\"quiet\">Zones</span><b class=\"\">2</b>", "<svg viewBox=",
      ] { #expect(page.contains(words), "\(words): \(page)") }
      let zone = try await Self.page(server, "/zones/shop", cookie)
      #expect(zone.contains(reader.uuidString.lowercased()), "\(zone)")
      #expect(zone.contains("data-name=\"Behind\">1<"), "\(zone)")
      #expect(zone.contains(token.id), "\(zone)")
      for path in ["/zones/none", "/zones/..%2fshop", "/zones/%3Cscript%3E"] {
        let none = try await server.request("GET", path, headers: [cookie])
        #expect(none.status == 404, "\(path)")
        #expect(!String(decoding: none.body, as: UTF8.self).contains("<script"))
      }
    }
  }

  @Test("Names that anybody gave are text, and no HTML")
  func names() async throws {
    try await withServer { server in
      let html = "<script>alert('x')</script>&\"\u{202E}"
      let administration = try Administration(folder: DataFolder(server.data))
      let token = try administration.createToken(
        zone: "shop", verbs: [.read], label: "<script>alert('x')</script>&\"")
      // What no command makes, a hand may.
      try administration.connection.run("UPDATE zone SET name = ? WHERE name = 'shop'", .text(html))
      let other = try administration.createZone("other")
      try administration.connection.run(
        "INSERT INTO sighting(zone, replica, cursor, token, seen_ms) VALUES(?, ?, 0, ?, 1)",
        .integer(other.id), .blob(UUID().bytes),
        .text(token.id))
      let ada = try administration.createOperator(name: "<b>ada</b>")
      administration.close()
      let cookie = try await Self.signedIn(server, ada)
      let escaped = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"
      let page = try await Self.page(server, "/", cookie)
      #expect(page.contains(escaped + "\\u{202e}"), "\(page)")
      #expect(page.contains("zones/%3Cscript%3Ealert"), "\(page)")
      let zone = try await Self.page(server, "/zones/other", cookie)
      #expect(zone.contains(escaped), "\(zone)")
      let searched = try await Self.page(
        server, "/?from=%22%3E%3Cscript%3E%00&after=%3Cscript%3E", cookie)
      for text in [page, zone, searched] {
        #expect(!text.contains("<script") && !text.contains("<b>ada"), "\(text)")
        #expect(
          !text.contains("style=") && !text.contains(/\son[a-z]+=/),
          "inline things break its policy")
      }
    }
  }

  @Test("A session ends with signing out, with its time, and with the token")
  func ends() async throws {
    var limits = ServerLimits()
    limits.sessionsMax = 2
    try await withServer(limits: limits) { server in
      func isIn(_ cookie: String) async throws -> Bool {
        try await server.request("GET", "/", headers: [cookie]).status == 200
      }
      let (ada, bob) = (try Self.operatorToken(server), try Self.operatorToken(server, name: "bob"))
      let (first, second) = (
        try await Self.signedIn(server, ada), try await Self.signedIn(server, bob)
      )
      #expect(try await isIn(first))
      #expect(try await isIn(second))
      let third = try await Self.signedIn(server, ada)
      #expect(try await !isIn(first), "of three the first ended")
      #expect(try await isIn(second))
      let out = try await server.request("POST", "/sign-out", headers: [third])
      #expect(out.headers["set-cookie"]?.contains("Max-Age=0") == true)
      #expect(try await !isIn(third))
      let forged = try await server.request(
        "POST", "/sign-out", headers: [second, "Sec-Fetch-Site: cross-site"])
      #expect(forged.status == 403)
      #expect(try await isIn(second))
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      try administration.revokeOperator(id: bob.id)
      #expect(try await !isIn(second))
      #expect(try await Self.signIn(server, bob.text).status == 401)
      let late = try Self.operatorToken(server, name: "late", expires: 1)
      #expect(try await Self.signIn(server, late.text).status == 401)
      var shorter = ServerLimits()
      shorter.sessionSeconds = 1
      let fourth = try await Self.signedIn(server, ada)
      var options = server.server.options
      options.limits = shorter
      _ = try server.server.reload(options)
      try await until("a session ends") { try await !isIn(fourth) }
    }
  }

  @Test("A flood of wrong tokens is refused, and the right one passes beside it")
  func flood() async throws {
    try await withServer { server in
      let token = try Self.operatorToken(server)
      var statuses: [Int] = []
      for number in 0..<60 {
        let wrong = "dl_\(token.id)_" + String(format: "%064x", number)
        statuses.append(try await Self.signIn(server, wrong).status)
      }
      #expect(statuses.filter { $0 == 429 }.count >= 20, "\(statuses)")
      #expect(Set(statuses) == [401, 429])
      #expect(try await Self.signIn(server, token.text).status == 303)
      // The zones' own tokens are counted apart.
      #expect(
        try await server.request("GET", "/v1/zones/shop", token: try server.token().text).status
          == 200)
    }
  }

  @Test("Huge cookies, forms that are huge, slow or cut off, and other methods end nothing")
  func hostile() async throws {
    var limits = ServerLimits()
    limits.idleSeconds = 2
    try await withServer(limits: limits) { server in
      let cookie = try await Self.signedIn(server, try Self.operatorToken(server))
      let many = (0..<400).map { "a\($0)=\(Sessions.cookie)=\($0)" }.joined(separator: "; ")
      for value in [
        many, "\(Sessions.cookie)=" + String(repeating: "a", count: 20_000),
        "\(Sessions.cookie)=" + String(repeating: "z", count: 64), ";;;=;\(Sessions.cookie)",
      ] {
        #expect(
          try await server.request("GET", "/", headers: ["Cookie: \(value)"]).status == 303,
          "\(value.prefix(40))")
      }
      let above = String(repeating: "a", count: 40_000)
      let tooMuch = try await server.request("GET", "/", headers: ["Cookie: a=\(above)"])
      #expect(tooMuch.status >= 400 && tooMuch.status < 500)
      let large = try await server.request(
        "POST", "/sign-in", body: Data(repeating: 0x61, count: 100_000))
      #expect(large.status == 413)
      let port = server.port
      try await blocking {
        // One that says much and sends nothing, one that sends without an end.
        let silent = try RawConnection(port: port)
        silent.send(LiveServer.head("POST", "/sign-in", length: 500))
        let endless = try RawConnection(port: port)
        endless.send(
          LiveServer.head("POST", "/sign-in", headers: ["Transfer-Encoding: chunked"], length: nil))
        var isTaken = true
        for _ in 0..<1000 where isTaken {
          isTaken = endless.send(Data("100\r\n\(String(repeating: "a", count: 256))\r\n".utf8))
        }
        #expect(endless.isHungUp())
        let cut = try RawConnection(port: port)
        cut.send(LiveServer.head("POST", "/sign-in", length: 100) + Data("token=".utf8))
        cut.finishSending()
        #expect(cut.isHungUp())
        #expect(silent.isHungUp())
      }
      for method in ["PUT", "DELETE", "OPTIONS"] {
        #expect(try await server.request(method, "/", headers: [cookie]).status == 404)
      }
      _ = try await Self.page(server, "/", cookie)
    }
  }

  @Test(
    "With 10,000 zones a page has a hundred, in the time of a hundred, and is asked of the database once"
  )
  func manyZones() async throws {
    try await withServer(zones: []) { server in
      let administration = try Administration(folder: DataFolder(server.data))
      try administration.write {
        for number in 1...10_000 {
          try administration.connection.insert(
            .new(id: Int64(number), name: String(format: "zone-%05d", number)),
            createdMilliseconds: 1)
        }
      }
      let ada = try administration.createOperator(name: "ada")
      administration.close()
      let cookie = try await Self.signedIn(server, ada)
      let start = ContinuousClock.now
      let page = try await Self.page(server, "/", cookie)
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      print("a page of 10,000 zones: \(seconds) s, \(page.utf8.count) bytes")
      #expect(seconds < 5)
      #expect(page.contains(">zone-00001<") && page.contains(">zone-00100<"))
      #expect(!page.contains(">zone-00101<"))
      #expect(page.contains("10\u{202F}000"))
      let next = try await Self.page(server, "/?from=zone-00100&after=1", cookie)
      #expect(next.contains(">zone-00101<") && !next.contains(">zone-00100<"))
      #expect(try await Self.page(server, "/?from=zone-09950", cookie).contains(">zone-10000<"))
      // Two operators, and many looks.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<8 {
          group.addTask {
            for _ in 0..<5 {
              _ = try await Self.page(server, number % 2 == 0 ? "/" : "/?from=zone-05000", cookie)
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test("What a log comes to is counted bit by bit, and not twice")
  func sizes() throws {
    let sizes = LogSizes()
    func zone(_ id: Int64, head: UInt64, _ generation: UUID) -> ZoneLook {
      ZoneLook(
        ZoneRecord(
          id: id, name: "z\(id)", zoneID: UUID(), generation: generation, parent: nil,
          intent: .offer, replacements: [], formatLevel: 1, head: head,
          chain: Cursor.start(generation: generation).chain, nextObject: 1, newestMilliseconds: 0))
    }
    let generation = UUID()
    var asked: UInt64 = 0
    func look(_ looks: [ZoneLook]) -> [ZoneLook] {
      var looks = looks
      sizes.count(&looks) { _, after, through in
        asked += through - after
        return (through - after) * 10
      }
      return looks
    }
    let large = LogSizes.entriesMax * 2 + 5
    for (round, isCounted) in [(1, false), (2, false), (3, true), (4, true)] {
      let seen = look([zone(1, head: large, generation), zone(2, head: 7, generation)])
      #expect(seen[0].isCounted == isCounted, "\(round)")
      #expect(seen[0].logBytes == min(large, LogSizes.entriesMax * UInt64(round)) * 10)
    }
    #expect(asked == large + 7)
    #expect(look([zone(1, head: large + 1, generation)])[0].logBytes == (large + 1) * 10)
    #expect(look([zone(1, head: 3, UUID())])[0].logBytes == 30, "it began anew")
  }

  @Test("Throughput is told by the second, for an hour")
  func activity() {
    let activity = ServerActivity()
    var totals = ServerMetrics.Totals()
    let start = ContinuousClock.now
    activity.note(totals, longPolls: 0, at: start)
    #expect(activity.samples.isEmpty)
    for number in 1...(ServerActivity.samplesMax + 5) {
      totals.pushes += 30
      activity.note(totals, longPolls: 2, at: start + .seconds(10 * number))
    }
    #expect(activity.samples.count == ServerActivity.samplesMax)
    #expect(activity.samples.allSatisfy { abs($0.pushes - 3) < 0.001 && $0.longPolls == 2 })
  }

  #if PostgreSQL
    @Test("PostgreSQL has the page as well, with the replicas that its nodes saw")
    func postgres() async throws {
      let database = try PostgresCluster.shared().place()
      let administration = try PostgresAdministration(database: database)
      defer { administration.close() }
      _ = try administration.createZone("shop")
      _ = try administration.createZone("Zebra")
      let ada = try administration.createOperator(name: "ada")
      #expect(try administration.operators().map(\.name) == ["ada"])
      try await withServer(database: database) { server in
        let token = try server.token()
        var maker = FrameMaker(try await server.zone())
        let frame = try maker.insert(2)
        _ = try await server.accepted(frame, token: token)
        let reader = UUID()
        // It asks again, so what it was given has not come.
        for _ in 0..<2 {
          _ = try await server.pull(after: 0, "&replica=\(reader)&own_through=0", token: token)
        }
        let cookie = try await Self.signedIn(server, ada)
        let page = try await Self.page(server, "/", cookie)
        for words in [
          "data-name=\"Change sets\">1<", "data-name=\"Log\">\(Figure.bytes(frame.count))<",
          "data-name=\"Replicas\">2<", "data-name=\"Furthest behind\">1<", ">Database<",
        ] { #expect(page.contains(words), "\(words): \(page)") }
        let names = page.components(separatedBy: "href=\"./zones/").dropFirst()
          .map { $0.prefix { $0 != "\"" } }
        #expect(names == ["Zebra", "shop"], "by bytes")
        let zone = try await Self.page(server, "/zones/shop", cookie)
        #expect(zone.contains(reader.uuidString.lowercased()), "\(zone)")
        let lags = try administration.replicas(of: "shop").map(\.lag)
        #expect(lags == [1, 0], "who pushed has what it pushed, and who asks again has nothing")
        try administration.revokeOperator(id: ada.id)
        #expect(try await server.request("GET", "/", headers: [cookie]).status == 303)
      }
    }
  #endif
}
