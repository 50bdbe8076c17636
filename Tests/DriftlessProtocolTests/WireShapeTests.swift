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
    let chain = Samples.chain
    let parent = ZoneParent(generation: Samples.replica, sequence: 2, chain: chain)
    let info = ZoneInfo(
      zone: "shop", zoneID: Samples.imported, generation: Samples.generation, parent: parent,
      intent: .replace, head: .max, chain: chain, serverTimeMilliseconds: 5)
    #expect(
      try json(info)
        == #"{"chain":"\#(chain)","formatLevel":1,"#
        + #""generation":"B0000000-0000-4000-8000-000000000002","head":18446744073709551615,"#
        + #""intent":"replace","mayWrite":true,"parent":{"chain":"\#(chain)","#
        + #""generation":"A0000000-0000-4000-8000-000000000001","sequence":2},"#
        + #""replacements":[],"#
        + #""serverTimeMilliseconds":5,"zone":"shop","#
        + #""zoneID":"D0000000-0000-5000-8000-000000000003"}"#)
    #expect(try JSONDecoder().decode(ZoneInfo.self, from: Data(json(info).utf8)) == info)
    let reply = PushReply(
      sequence: 3, firstObjectNumber: 10, chain: chain, generation: Samples.generation,
      pushNumber: 2, digest: Data([1, 2, 3]), serverTimeMilliseconds: 5)
    #expect(
      try json(reply)
        == #"{"chain":"\#(chain)","digest":"AQID","firstObjectNumber":10,"#
        + #""generation":"B0000000-0000-4000-8000-000000000002","pushNumber":2,"#
        + #""sequence":3,"serverTimeMilliseconds":5}"#)
    #expect(
      try json(RefillReply(head: 1, chain: chain)) == #"{"chain":"\#(chain)","head":1}"#)
    #expect(
      try json(CommonPlaceReply(place: LogMark(sequence: 2, chain: chain)))
        == #"{"place":{"chain":"\#(chain)","sequence":2}}"#)
    let error = WireError(code: "stale", message: "m", suggestion: "s", head: 4)
    #expect(try json(error) == #"{"code":"stale","head":4,"message":"m","suggestion":"s"}"#)
  }

  @Test("A refusal becomes the error with its code; without a code, its status decides")
  func errors() {
    let known = WireError(code: "stale", message: "m", suggestion: "s", head: 4)
    let error = known.protocolError(status: 409)
    #expect(error == ProtocolError(.stale, "m", suggestion: "s", head: 4))
    #expect(WireError(error) == known)
    let stale = WireError(
      ProtocolError(
        .stale, "m", suggestion: "s", head: 4, objects: [3, 1], serverTimeMilliseconds: 9))
    #expect(stale.objects == [3, 1])
    #expect(stale.protocolError(status: 409).serverTimeMilliseconds == 9)
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
