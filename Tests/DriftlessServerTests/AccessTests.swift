import DriftlessProtocol
import DriftlessServer
import Foundation
import Testing

@Suite("Who may do what over HTTP")
struct AccessTests {
  @Test("F82 Every route of a zone says forbidden to another zone's token, whatever else is wrong")
  func otherZoneFirst() async throws {
    try await withServer(zones: ["shop", "other"]) { server in
      let token = try server.token(zone: "other")
      let paths = [
        "", "/changes", "/changes?generation=x", "/snapshot", "/snapshot/x", "/digests",
        "/digests/ranges?x=1", "/digests/blocks", "/digests/objects",
      ]
      for path in paths {
        let response = try await server.request(
          "GET", "/v1/zones/shop" + path, token: token.text)
        #expect(response.status == 403, "\(path)")
      }
      for path in ["/changes", "/refill", "/common"] {
        let response = try await server.request(
          "POST", "/v1/zones/shop" + path, token: token.text, body: Data("x".utf8))
        #expect(response.status == 403, "\(path)")
      }
    }
  }

  @Test("A token opens its zone; the zone says its generation and head")
  func zone() async throws {
    try await withServer { server in
      let token = try server.token()
      let response = try await server.request("GET", "/v1/zones/shop", token: token.text)
      #expect(response.status == 200)
      let json = try #require(
        try JSONSerialization.jsonObject(with: response.body) as? [String: Any])
      #expect(json["zone"] as? String == "shop")
      #expect(json["head"] as? Int == 0)
      #expect(json["generation"] as? String == (try await server.zone().generation.uuidString))
      let ahead = abs(
        (json["serverTimeMilliseconds"] as? Double ?? 0) / 1000 - Date().timeIntervalSince1970)
      #expect(ahead < 60)
    }
  }

  @Test("No token, a wrong one, a changed one, or one in the URL is unauthorized")
  func unauthorized() async throws {
    try await withServer { server in
      let token = try server.token()
      let others = [
        nil, "", "x", AccessToken.mint().text, token.text.dropLast() + "x", "\(token.text) a",
      ]
      for other in others {
        let response = try await server.request("GET", "/v1/zones/shop", token: other)
        #expect(response.status == 401, "\(other ?? "none")")
        #expect(response.code == "unauthorized")
        #expect(response.headers["www-authenticate"] == "Bearer")
      }
      let inURL = try await server.request("GET", "/v1/zones/shop?access_token=\(token.text)")
      #expect(inURL.status == 401)
    }
  }

  @Test("Another zone and no zone are refused alike, on every route")
  func otherZone() async throws {
    try await withServer(zones: ["shop", "field"]) { server in
      let token = try server.token(zone: "shop").text
      for (method, rest) in [("GET", ""), ("GET", "/changes"), ("POST", "/changes")] {
        var answers: [Data] = []
        for zone in ["field", "nothing", "..", "%2e%2e", "a%2Fb", "shop%00"] {
          let path = "/v1/zones/\(zone)\(rest)"
          let response = try await server.request(method, path, token: token)
          #expect(response.status == 403, "\(method) \(path)")
          answers.append(Data((response.code ?? "").utf8))
        }
        #expect(Set(answers).count == 1)
      }
      #expect(try await server.zone("field").head == 0)
    }
  }

  @Test("A token without the verb is refused")
  func verbs() async throws {
    try await withServer { server in
      let reader = try server.token(verbs: .read).text
      let writer = try server.token(verbs: .write).text
      #expect(try await server.request("GET", "/v1/zones/shop", token: reader).status == 200)
      let push = try await server.request("POST", "/v1/zones/shop/changes", token: reader)
      #expect(push.status == 403)
      // A token that only writes would be of no use to a replica.
      #expect(String(decoding: push.body, as: UTF8.self).contains("--verbs read,write"))
      #expect(try await server.request("GET", "/v1/zones/shop", token: writer).status == 403)
    }
  }

  @Test("F35 A revoked token is refused at the next request")
  func revoked() async throws {
    try await withServer { server in
      let token = try server.token()
      #expect(try await server.request("GET", "/v1/zones/shop", token: token.text).status == 200)
      try server.revoke(token)
      #expect(try await server.request("GET", "/v1/zones/shop", token: token.text).status == 401)
    }
  }

  @Test("F35 A token that is revoked while a body comes lets nothing of it in")
  func revokedMeanwhile() async throws {
    var limits = ServerLimits()
    limits.watchSeconds = 1
    try await withServer(limits: limits) { server in
      let token = try server.token()
      let port = server.port
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(50)
      let head = LiveServer.head(
        "POST", "/v1/zones/shop/changes", token: token.text,
        headers: ["Content-Type: \(WirePath.changeSetType)"], length: frame.count)
      let connection = try await blocking { try RawConnection(port: port) }
      _ = try await blocking { connection.send(head + frame.prefix(100)) }
      // What comes after it on another connection is admitted later.
      #expect(try await server.request("GET", "/v1/zones/shop", token: token.text).status == 200)
      let since = ContinuousClock.now
      try server.revoke(token)
      try await until("so much time has passed") { ContinuousClock.now - since > .seconds(2) }
      let response = try await blocking {
        connection.send(frame.dropFirst(100))
        return try connection.response()
      }
      #expect(response.status == 401 && response.headers["connection"] == "close")
      #expect(try await server.zone().head == 0)
    }
  }

  @Test("The log holds neither tokens nor anything else of the Authorization header")
  func secrets() async throws {
    try await withServer { server in
      let token = try server.token()
      _ = try await server.request("GET", "/v1/zones/shop", token: token.text)
      _ = try await server.request(
        "GET", "/v1/zones/\(token.text)?t=\(token.text)", token: "wrong-secret")
      _ = try await server.request("GET", "/\(token.text)", token: token.text)
      let log = server.log.text
      #expect(log.contains("status=200"))
      #expect(log.contains("status=401"))
      #expect(!log.contains(token.secret))
      #expect(!log.contains("wrong-secret"))
    }
  }

  @Test("Health and metrics answer without a token, and say nothing of zones")
  func operatorRoutes() async throws {
    try await withServer { server in
      let token = try server.token()
      _ = try await server.request("GET", "/v1/zones/shop", token: token.text)
      _ = try await server.request("GET", "/v1/zones/shop")
      #expect(try await server.request("GET", "/healthz").status == 200)
      let metrics = try await server.request("GET", "/metrics")
      let text = String(decoding: metrics.body, as: UTF8.self)
      #expect(metrics.headers["content-type"]?.hasPrefix("text/plain") == true)
      #expect(text.contains(#"{route="GET /v1/zones/{zone}",status="200"} 1"#))
      #expect(text.contains(#"driftless_refusals_total{code="unauthorized"} 1"#))
      #expect(!text.contains("shop"))
    }
  }

  @Test("An address that is not of the API says so in the API's own form")
  func nowhere() async throws {
    try await withServer { server in
      for path in ["/x", "/v1", "/v1/zones", "/v2/zones/shop", "/../etc/passwd"] {
        let response = try await server.request("GET", path)
        #expect(response.status == 404, "\(path)")
        #expect(response.code == "not-found")
      }
      #expect(try await server.request("DELETE", "/v1/zones/shop").status == 404)
    }
  }
}
