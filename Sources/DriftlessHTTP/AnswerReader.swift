import DriftlessProtocol
import Foundation

/// Reads what a server answered, and believes nothing that no Driftless server said.
struct AnswerReader {
  /// The server's, as messages name it: without path, query and token.
  let address: String

  /// Refuses every answer that is no success of a Driftless server.
  ///
  /// What carries no check was not written by one: nothing in it is believed, but that something stands in the way.
  func check(_ response: HTTPResponse, to request: HTTPRequest) throws {
    let check = response.fields[AnswerCheck.field.lowercased()]
    if let check, check != response.check(for: request) {
      throw TransportError.damagedBody(
        address, "it is not what the server sent, or not to what was asked")
    }
    let isChecked = check != nil
    if response.status == 200 {
      guard isChecked else { throw unchecked(response) }
      return
    }
    if (300..<400).contains(response.status) { throw redirected(response) }
    let wire = isChecked ? wireError(in: response) : nil
    let retryAfter = RetryPolicy.retryAfterSeconds(response.fields["retry-after"])
    switch response.status {
    case 429, 500, 502, 503, 504:
      let said = wire.map { ": \($0.message)" } ?? ""
      throw TransportError(
        .busy, "\(address) answered \(response.status)\(said).",
        suggestion: "Changes stay queued here; try again later.", retryAfterSeconds: retryAfter)
    case 413 where !isChecked:
      // A proxy in front of the server has a limit of its own.
      throw ProtocolError(
        .tooLarge, "\(address) answered 413: the request is larger than it takes.",
        suggestion: "Raise the body limit of the server or of the proxy before it.")
    default:
      guard let wire else { throw unchecked(response) }
      throw wire.protocolError(status: response.status)
    }
  }

  /// Decodes a JSON answer.
  func decode<Value: Decodable>(_ type: Value.Type, from response: HTTPResponse) throws -> Value {
    guard response.mediaType == "application/json" else { throw foreign(response) }
    do {
      return try JSONDecoder().decode(type, from: response.body)
    } catch {
      throw TransportError.damagedBody(address, "it is no \(type)")
    }
  }

  /// Reads a page of the log; nothing of a damaged one is used.
  func page(from response: HTTPResponse) throws -> PullPage {
    guard response.mediaType == WirePath.logType else { throw foreign(response) }
    guard
      let generation = response.fields[PullPage.generationField.lowercased()]
        .flatMap({ UUID(uuidString: $0) }),
      let head = number(PullPage.headField, of: response),
      let time = number(PullPage.timeField, of: response)
    else {
      throw TransportError.damagedBody(address, "it does not say where the zone's log stands")
    }
    do {
      var page = try PullPage(
        body: response.body, generation: generation, head: head, serverTimeMilliseconds: time)
      page.lostValues = response.fields[PullPage.lostField.lowercased()]
      return page
    } catch {
      guard error.code == .damaged else { throw error }
      throw TransportError.damagedBody(address, error.message)
    }
  }

  private func number(_ field: String, of response: HTTPResponse) -> UInt64? {
    response.fields[field.lowercased()].flatMap { UInt64($0) }
  }

  /// The error that the server put into the body, if it is one of ours.
  private func wireError(in response: HTTPResponse) -> WireError? {
    guard response.mediaType == "application/json" else { return nil }
    return try? JSONDecoder().decode(WireError.self, from: response.body)
  }

  /// An answer in the server's form, but without its check, has lost or never had it.
  private func unchecked(_ response: HTTPResponse) -> TransportError {
    guard ["application/json", WirePath.logType].contains(response.mediaType) else {
      return foreign(response)
    }
    return .damagedBody(address, "it has no field \(AnswerCheck.field)")
  }

  /// A redirect is refused whole: whoever answers it would get the token (F24).
  private func redirected(_ response: HTTPResponse) -> TransportError {
    TransportError(
      .notDriftless,
      "\(address) redirects to \(response.redirect ?? "another address"); the token stays here.",
      suggestion: "Sign in to the network, or enrol with the server's real address.")
  }

  /// An answer in a shape that no Driftless server gives: a captive portal, a proxy's page, another
  /// program.
  func foreign(_ response: HTTPResponse) -> TransportError {
    let type = response.mediaType.isEmpty ? "no content type" : response.mediaType
    return TransportError(
      .notDriftless, "\(address) answered \(response.status) with \(type): no Driftless server.",
      suggestion: "Check the address; a network that asks to sign in answers like this too.")
  }
}
