package import DriftlessProtocol
package import Foundation

/// Answers as bytes with the check that they have as HTTP (`AnswerCheck`), for networks that change bytes on their way.
package enum CarriedAnswer {
  /// The answer to a request, or its refusal, as it comes out at the other end.
  ///
  /// - Parameter way: what becomes of the bytes.
  /// - Throws: the refusal; `ProtocolError` (`.damaged`) when bytes were changed; what `request` throws else.
  package static func answer<Answer: Codable>(
    to request: () async throws -> Answer, over way: (Data) -> Data
  ) async throws -> Answer {
    let message = try await message(over: way) {
      Message(
        status: 200, fields: Message.json, body: try JSONEncoder().encode(try await request()))
    }
    return try JSONDecoder().decode(Answer.self, from: message.body)
  }

  /// The answer to a pull, or its refusal, as it comes out at the other end.
  ///
  /// - Parameter way: what becomes of the bytes.
  /// - Throws: as `answer(to:over:)`.
  package static func page(
    to request: () async throws -> PullPage, over way: (Data) -> Data
  ) async throws -> PullPage {
    let message = try await message(over: way) {
      let page = try await request()
      var fields = [
        "Content-Type": WirePath.logType,
        PullPage.generationField: page.generation.uuidString,
        PullPage.headField: "\(page.head)",
        PullPage.timeField: "\(page.serverTimeMilliseconds)",
      ]
      fields[PullPage.lostField] = page.lostValues
      return Message(status: 200, fields: fields, body: page.body)
    }
    guard
      let generation = message.fields[PullPage.generationField].flatMap({ UUID(uuidString: $0) }),
      let head = message.fields[PullPage.headField].flatMap({ UInt64($0) }),
      let time = message.fields[PullPage.timeField].flatMap({ UInt64($0) })
    else { throw Message.damaged }
    var page = try PullPage(
      body: message.body, generation: generation, head: head, serverTimeMilliseconds: time)
    page.lostValues = message.fields[PullPage.lostField]
    return page
  }

  private static func message(
    over way: (Data) -> Data, _ answer: () async throws -> Message
  ) async throws -> Message {
    let sent: Message
    do {
      sent = try await answer()
    } catch let error as ProtocolError {
      sent = Message(
        status: WireError.status(for: error.code), fields: Message.json,
        body: try JSONEncoder().encode(WireError(error)))
    }
    let message = try Message(reading: way(try JSONEncoder().encode(sent)))
    guard message.status == 200 else {
      throw try JSONDecoder().decode(WireError.self, from: message.body)
        .protocolError(status: message.status)
    }
    return message
  }
}

private struct Message: Codable {
  static let json = ["Content-Type": "application/json"]
  static let damaged = ProtocolError(
    .damaged, "The answer was damaged on the way", suggestion: "Ask again.")

  let status: Int
  let fields: [String: String]
  let body: Data
  private var check = ""

  init(status: Int, fields: [String: String], body: Data) {
    self.status = status
    self.fields = fields
    self.body = body
    check = expectedCheck
  }

  /// - Throws: `ProtocolError` (`.damaged`) when the bytes are not those that were sent.
  init(reading bytes: Data) throws {
    guard let message = try? JSONDecoder().decode(Message.self, from: bytes),
      message.check == message.expectedCheck
    else { throw Self.damaged }
    self = message
  }

  private var expectedCheck: String {
    let request = AnswerCheck.Request(
      method: "", target: "", authorization: "", contentDigest: "")
    return body.withUnsafeBytes { body in
      AnswerCheck.value(for: request, status: status, field: { fields[$0] }, body: body)
    }
  }
}
