import DriftlessProtocol
import Foundation
import HTTPTypes
import Hummingbird

extension PullPage {
  /// The answer to a pull. Frames are sent as they are stored.
  static func response(_ page: LogPage, generation: UUID, nowMilliseconds: UInt64) -> Response {
    var buffer = ByteBuffer()
    buffer.reserveCapacity(
      page.entries.reduce(0) { $0 + PullPage.Entry.headerSize + $1.bytes.count })
    for entry in page.entries {
      let wire = PullPage.Entry(
        sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber,
        chain: entry.chain, isOwnHeaderOnly: entry.isHeaderOnly, frame: entry.bytes)
      buffer.writeBytes(wire.headerBytes)
      buffer.writeBytes(entry.bytes)
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
    return Response(status: .ok, headers: headers, body: .init(byteBuffer: buffer))
  }
}
