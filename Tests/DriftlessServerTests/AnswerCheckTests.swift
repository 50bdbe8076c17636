import DriftlessProtocol
import DriftlessServer
import Foundation
import Testing

@Suite("Every answer has a check, over itself and the request")
struct AnswerCheckTests {
  private func isChecked(
    _ response: RawConnection.Response, _ method: String, _ path: String, token: String? = nil,
    contentDigest: String = ""
  ) -> Bool {
    let expected = response.body.withUnsafeBytes { body in
      AnswerCheck.value(
        for: .init(
          method: method, target: path, authorization: token.map { "Bearer \($0)" } ?? "",
          contentDigest: contentDigest),
        status: response.status, field: { response.headers[$0.lowercased()] }, body: body)
    }
    return response.headers[AnswerCheck.field.lowercased()] == expected
  }

  @Test("F25 Answers and refusals of every route, and of no route, carry it")
  func everyRoute() async throws {
    try await withServer { server in
      let token = try server.token()
      let reader = try server.token(verbs: [.read])
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(3)
      let zone = "/v1/zones/shop"
      let generation = try await server.zone().generation
      let chain = LogChain.start(generation: generation)
      let pull = "\(zone)/changes?generation=\(generation)&after=0&chain=\(chain)"
      let place = try JSONEncoder().encode(CommonPlaceRequest(generation: generation, marks: []))
      let requests: [(String, String, String?, Data, Int)] = [
        ("GET", zone, token.text, Data(), 200),
        ("GET", zone, nil, Data(), 401),
        ("GET", "/v1/zones/other", token.text, Data(), 403),
        ("GET", "/v1/zones/shop?x=1", token.text, Data(), 200),
        ("GET", "/elsewhere", token.text, Data(), 404),
        ("GET", "/healthz", nil, Data(), 200),
        ("POST", "\(zone)/changes", token.text, frame, 200),
        ("POST", "\(zone)/changes", token.text, frame, 200),
        ("POST", "\(zone)/changes", token.text, Data("no frame".utf8), 400),
        ("POST", "\(zone)/changes", reader.text, frame, 403),
        ("GET", pull, token.text, Data(), 200),
        ("GET", pull + "1", token.text, Data(), 400),
        (
          "GET", "\(zone)/changes?generation=\(UUID())&after=0&chain=\(chain)", token.text, Data(),
          409
        ),
        ("POST", "\(zone)/common", token.text, place, 200),
        ("POST", "\(zone)/common", token.text, Data("{}".utf8), 400),
        ("POST", "\(zone)/refill", token.text, Data("no entry".utf8), 400),
      ]
      for (method, path, token, body, status) in requests {
        let response = try await server.request(method, path, token: token, body: body)
        #expect(response.status == status, "\(method) \(path)")
        #expect(isChecked(response, method, path, token: token), "\(method) \(path)")
      }
    }
  }

  @Test("F25 A body that is not the one whose digest came with it is damaged, and has no effect")
  func bodyOfAnotherDigest() async throws {
    try await withServer { server in
      let token = try server.token()
      var maker = FrameMaker(try await server.zone())
      let frame = try maker.insert(3)
      let path = "/v1/zones/shop/changes"
      let digest = AnswerCheck.contentDigest(of: frame)
      for place in [0, 4, 9, 30, frame.count - 1] {
        var changed = frame
        changed[place] ^= 1
        let response = try await server.request(
          "POST", path, token: token.text, headers: ["Content-Digest: \(digest)"], body: changed)
        #expect(response.status == 400)
        #expect(response.code == "damaged", "byte \(place)")
        #expect(
          isChecked(response, "POST", path, token: token.text, contentDigest: digest))
      }
      #expect(try await server.zone().head == 0)
      let response = try await server.request(
        "POST", path, token: token.text, headers: ["Content-Digest: \(digest)"], body: frame)
      #expect(response.status == 200)
    }
  }
}
