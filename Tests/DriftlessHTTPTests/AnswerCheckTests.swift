import DriftlessHTTP
import DriftlessProtocol
import Foundation
import Testing

/// No answer is believed but the one that the server gave to the question that was asked.
@Suite struct AnswerCheckTests {
  /// Changes an answer that has its check already, once; nil where the change does not apply.
  private func pushing(
    _ answer: String, changed change: (String) -> String
  ) async throws -> (error: any Error, requests: Int)? {
    let honest = try CrookedServer([.send(answer)])
    defer { honest.stop() }
    var options = TransportOptions()
    options.retry.delaySecondsFirst = 0.002
    options.retry.attemptsMax = 2
    let frame = Data("frame".utf8)
    func push(_ server: CrookedServer) async throws {
      let transport = try CurlTransport(
        server: server.url, zone: "shop", token: "secret-token", options: options)
      _ = try await transport.push(frame)
    }
    try? await push(honest)
    let asked = try #require(honest.seen.first?.head)
    let changed = change(Answer.checked(answer, to: asked))
    guard changed != Answer.checked(answer, to: asked) else { return nil }
    let crooked = try CrookedServer([.send(changed)])
    defer { crooked.stop() }
    do {
      try await push(crooked)
      return nil
    } catch { return (error, crooked.seen.count) }
  }

  private static let refusals = ["diverged", "stale", "generation-changed", "malformed"].map {
    Answer.json(#"{"code":"\#($0)","message":"m","suggestion":"s"}"#, status: "409 Conflict")
  }

  @Test("F25 An answer with one changed character is damaged, and is asked for again")
  func changed() async throws {
    let changes: [(String, (String) -> String)] = [
      (
        "a sequence number",
        { $0.replacingOccurrences(of: #""sequence":8"#, with: #""sequence":9"#) }
      ),
      ("an object number", { $0.replacingOccurrences(of: "Number\":100", with: "Number\":101") }),
      ("a code", { $0.replacingOccurrences(of: "diverged", with: "diverge!") }),
      ("a status", { $0.replacingOccurrences(of: "HTTP/1.1 409", with: "HTTP/1.1 401") }),
      ("another's word", { $0.replacingOccurrences(of: "stale", with: "stall") }),
      ("a time to wait", { $0.replacingOccurrences(of: "Retry-After: 1", with: "Retry-After: 9") }),
      ("no check", { $0.replacingOccurrences(of: AnswerCheck.field, with: "Driftless-Chec+") }),
    ]
    let answers =
      [Answer.json(Answer.pushed)] + Self.refusals + [
        Answer.json(
          #"{"code":"busy","message":"m","suggestion":"s"}"#, status: "503 Service Unavailable",
          fields: ["Retry-After: 1"])
      ]
    var noticed: Set<String> = []
    for (name, change) in changes {
      for answer in answers {
        guard let (error, requests) = try await pushing(answer, changed: change) else { continue }
        let isBusy = answer.contains("503") && name == "no check"
        let code = (error as? TransportError)?.code
        #expect(code == (isBusy ? .busy : .damagedBody), "\(name): \(error)")
        #expect(requests == 2, "\(name): it was not asked again")
        noticed.insert(name)
      }
    }
    #expect(noticed == Set(changes.map(\.0)))
  }

  @Test("F25 The answer to another question is none")
  func otherQuestion() async throws {
    let zone = try CrookedServer([.send(Answer.json(Answer.zone))])
    defer { zone.stop() }
    _ = try await CurlTransport(server: zone.url, zone: "shop", token: "mine").zoneInfo()
    let asked = try #require(zone.seen.first?.head)
    let server = try CrookedServer([.send(Answer.checked(Answer.json(Answer.zone), to: asked))])
    defer { server.stop() }
    var options = TransportOptions()
    options.retry.attemptsMax = 1
    for (name, token) in [("other", "mine"), ("shop", "yours")] {
      let transport = try CurlTransport(
        server: server.url, zone: name, token: token, options: options)
      do {
        _ = try await transport.zoneInfo()
        Issue.record("\(name) \(token): another's answer was believed")
      } catch let error as TransportError {
        #expect(error.code == .damagedBody)
      }
    }
    let transport = try CurlTransport(
      server: server.url, zone: "shop", token: "mine", options: options)
    #expect(try await transport.zoneInfo().head == 7)
  }

  @Test("F24 A refusal that carries no check is no word of the server's")
  func strangersRefusal() async throws {
    let refusal = #"{"code":"diverged","message":"m","suggestion":"s"}"#
    for status in ["401 Unauthorized", "404 Not Found", "409 Conflict", "400 Bad Request"] {
      let server = try CrookedServer([
        .send(Answer.text(refusal, type: "application/json", status: status))
      ])
      defer { server.stop() }
      var options = TransportOptions()
      options.retry.attemptsMax = 1
      let transport = try CurlTransport(
        server: server.url, zone: "shop", token: "mine", options: options)
      do {
        _ = try await transport.zoneInfo()
        Issue.record("\(status) gave an answer")
      } catch {
        #expect((error as? TransportError)?.code == .damagedBody, "\(status): \(error)")
      }
    }
  }
}
