import DriftlessProtocol
import HTTPTypes
import Hummingbird

extension Response {
  /// Gives the answer its check (`AnswerCheck`).
  ///
  /// - Returns: the bytes of the body; none of a page of the log, which is put together when it is sent.
  mutating func checkBody(for request: Request) async throws -> ByteBuffer {
    if let count = body.contentLength, headers[.contentType] == WirePath.logType {
      let fields = headers
      let value = AnswerCheck.value(
        for: request.checked, status: status.code,
        field: { name in HTTPField.Name(name).flatMap { fields[$0] } }, pageBytes: count)
      if let name = HTTPField.Name(AnswerCheck.field) { headers[name] = value }
      return ByteBuffer()
    }
    let collected = CollectedBody()
    try await body.write(collected)
    let bytes = collected.bytes
    let fields = headers
    let value = bytes.withUnsafeReadableBytes { bytes in
      AnswerCheck.value(
        for: request.checked, status: status.code,
        field: { name in
          HTTPField.Name(name).flatMap { fields[$0] }
        }, body: bytes)
    }
    if let name = HTTPField.Name(AnswerCheck.field) { headers[name] = value }
    body = .init(byteBuffer: bytes)
    return bytes
  }
}

extension Request {
  /// The digest that the request says its body has.
  var contentDigest: String? { HTTPField.Name(AnswerCheck.requestField).flatMap { headers[$0] } }

  fileprivate var checked: AnswerCheck.Request {
    AnswerCheck.Request(
      method: method.rawValue, target: uri.string, authorization: headers[.authorization] ?? "",
      contentDigest: contentDigest ?? "")
  }
}

/// A body as the routes write it: one buffer, as it is.
private final class CollectedBody: ResponseBodyWriter {
  private(set) var bytes = ByteBuffer()

  func write(_ buffer: ByteBuffer) {
    if bytes.readableBytes == 0 { bytes = buffer } else { bytes.writeImmutableBuffer(buffer) }
  }

  func finish(_ trailingHeaders: HTTPFields?) {}
}
