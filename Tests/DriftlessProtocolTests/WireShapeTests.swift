import DriftlessProtocol
import Foundation
import Testing

/// The JSON of the wire, as it is written down for other implementations.
@Suite struct WireShapeTests {
  private func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  @Test("Zone info, push reply and refusal have these keys")
  func keys() throws {
    let info = ZoneInfo(
      zone: "shop", generation: Samples.generation, head: .max, serverTimeMilliseconds: 5)
    #expect(
      try json(info)
        == #"{"generation":"B0000000-0000-4000-8000-000000000002","head":18446744073709551615,"#
        + #""serverTimeMilliseconds":5,"zone":"shop"}"#)
    #expect(try JSONDecoder().decode(ZoneInfo.self, from: Data(json(info).utf8)) == info)
    let reply = PushReply(
      sequence: 3, firstObjectNumber: 10, generation: Samples.generation, serverTimeMilliseconds: 5)
    #expect(
      try json(reply)
        == #"{"firstObjectNumber":10,"generation":"B0000000-0000-4000-8000-000000000002","#
        + #""sequence":3,"serverTimeMilliseconds":5}"#)
    let error = WireError(code: "stale", message: "m", suggestion: "s", head: 4)
    #expect(try json(error) == #"{"code":"stale","head":4,"message":"m","suggestion":"s"}"#)
  }

  @Test("A refusal becomes the error with its code; without a code, its status decides")
  func errors() {
    let known = WireError(code: "stale", message: "m", suggestion: "s", head: 4)
    let error = known.protocolError(status: 409)
    #expect(error == ProtocolError(.stale, "m", suggestion: "s", head: 4))
    #expect(WireError(error) == known)
    let newer = WireError(code: "of-a-newer-server", message: "m", suggestion: "s")
    #expect(newer.protocolError(status: 400).code.rawValue == "of-a-newer-server")
    let none = WireError(code: "", message: "m", suggestion: "s")
    for (status, code) in [
      (401, ProtocolError.Code.unauthorized), (413, .tooLarge), (507, .diskFull),
    ] {
      #expect(none.protocolError(status: status).code == code)
      #expect(WireError.status(for: code) == status)
    }
  }
}
