import DriftlessProtocol
import Foundation
import HTTPTypes
import Hummingbird

extension PullPage {
  /// The answer to a pull. Frames are sent as they are stored.
  static func response(_ page: LogPage, generation: UUID) -> Response {
    var buffer = ByteBuffer()
    buffer.reserveCapacity(page.entries.reduce(0) { $0 + 32 + $1.bytes.count })
    for entry in page.entries {
      let wire = PullPage.Entry(
        sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber,
        isOwnHeaderOnly: entry.isHeaderOnly, frame: entry.bytes)
      buffer.writeBytes(wire.headerBytes)
      buffer.writeBytes(entry.bytes)
    }
    var headers: HTTPFields = [.contentType: WirePath.logType]
    if let name = HTTPField.Name(PullPage.generationField) {
      headers[name] = generation.uuidString
    }
    if let name = HTTPField.Name(PullPage.headField) { headers[name] = "\(page.head)" }
    return Response(status: .ok, headers: headers, body: .init(byteBuffer: buffer))
  }
}
