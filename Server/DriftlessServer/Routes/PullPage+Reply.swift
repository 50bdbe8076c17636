import DriftlessProtocol
import Foundation
import HTTPTypes
import Hummingbird

extension PullPage {
  /// The answer to a pull. Frames are sent as they are stored.
  static func response(_ page: LogPage, generation: UUID, nowMilliseconds: UInt64) -> Response {
    let count = page.entries.reduce(0) { $0 + PullPage.Entry.headerSize + $1.bytes.count }
    let body =
      count <= Response.pieceBytes
      ? page.body(of: count)
      : ResponseBody(contentLength: count) { writer in
        try await page.write(to: &writer)
        try await writer.finish(nil)
      }
    var headers: HTTPFields = [.contentType: WirePath.logType]
    if let name = HTTPField.Name(PullPage.generationField) {
      headers[name] = generation.uuidString
    }
    if let name = HTTPField.Name(PullPage.headField) { headers[name] = "\(page.head)" }
    if let name = HTTPField.Name(PullPage.timeField) { headers[name] = "\(nowMilliseconds)" }
    if let name = HTTPField.Name(PullPage.lostField), let mark = page.lostValues {
      headers[name] = mark
    }
    return Response(status: .ok, headers: headers, body: body)
  }
}

extension LogPage {
  /// All of a small page, so that it goes in one piece with the answer's head.
  fileprivate func body(of count: Int) -> ResponseBody {
    var buffer = ByteBuffer()
    buffer.reserveCapacity(count)
    for entry in entries {
      buffer.writeBytes(entry.wireHeader)
      buffer.writeBytes(entry.bytes)
    }
    return ResponseBody(byteBuffer: buffer)
  }

  /// Puts a large page together as it goes: it is not in memory once more, and each piece goes to the socket from the processor's
  /// cache.
  fileprivate func write(to writer: inout any ResponseBodyWriter) async throws {
    var piece = ByteBuffer()
    piece.reserveCapacity(Response.pieceBytes)
    for entry in entries {
      var rest = entry.bytes[...]
      piece.writeBytes(entry.wireHeader)
      while piece.readableBytes + rest.count > Response.pieceBytes {
        let fitting = max(0, Response.pieceBytes - piece.readableBytes)
        piece.writeBytes(rest.prefix(fitting))
        rest = rest.dropFirst(fitting)
        try await writer.write(piece)
        piece = ByteBuffer()
        piece.reserveCapacity(Response.pieceBytes)
      }
      piece.writeBytes(rest)
    }
    if piece.readableBytes > 0 { try await writer.write(piece) }
  }
}

extension LogEntry {
  /// What stands before the frame in a page.
  fileprivate var wireHeader: [UInt8] {
    PullPage.Entry(
      sequence: sequence, firstObjectNumber: firstObjectNumber, chain: chain,
      isOwnHeaderOnly: isHeaderOnly, frame: bytes
    ).headerBytes
  }
}
