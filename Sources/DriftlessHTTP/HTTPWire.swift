import DriftlessProtocol
import Foundation

/// How requests of the protocol look as HTTP.
enum HTTPWire {
  /// What a list of a snapshot's files may take: of ten million objects it has some hundred kilobytes.
  static let snapshotBytesMax = 16 << 20

  /// The query of a pull. Numbers, UUIDs and chains only, so nothing needs escaping.
  static func query(of request: PullRequest) -> String {
    var fields = [
      "generation=\(request.cursor.generation.uuidString)",
      "after=\(request.cursor.sequence)",
      "chain=\(request.cursor.chain)",
      "max_bytes=\(request.maxBytes)",
      "wait_seconds=\(request.waitSeconds)",
      "replica=\(request.replica.uuidString)",
      "own_through=\(request.ownThrough)",
    ]
    if let mark = request.mark { fields += ["mark=\(mark.sequence)", "mark_chain=\(mark.chain)"] }
    return fields.joined(separator: "&")
  }

  /// The query that names a place of a log.
  static func query(of cursor: Cursor) -> String {
    "generation=\(cursor.generation.uuidString)&sequence=\(cursor.sequence)&chain=\(cursor.chain)"
  }

  /// Where a part of a zone's digests is asked for, and what its answer is.
  static func path(of part: DigestPart) -> (path: String, type: String) {
    func list(_ columns: [Int]) -> String { columns.map(String.init).joined(separator: ",") }
    return switch part {
    case .ranges(let ranges, let columns):
      (
        "/digests/ranges?first=\(ranges.lowerBound)&count=\(ranges.count)&columns=\(list(columns))",
        WirePath.digestsType
      )
    case .blocks(let range, let columns):
      ("/digests/blocks?first=\(range)&columns=\(list(columns))", WirePath.digestsType)
    case .cells(let blocks, let columns):
      (
        "/digests/cells?first=\(blocks.lowerBound)&count=\(blocks.count)&columns=\(list(columns))",
        WirePath.digestsType
      )
    case .objects(let numbers):
      ("/digests/objects?first=\(numbers.lowerBound)&count=\(numbers.count)", WirePath.segmentType)
    }
  }

  static func path(of piece: ValuePiece) -> String {
    "/values/\(piece.value.name)?generation=\(piece.generation.uuidString)"
      + "&replica=\(piece.replica.uuidString)&length=\(piece.value.length)&first=\(piece.first)"
  }

  static func path(ofValue digest: Data, _ generation: UUID, _ range: Range<Int>) -> String {
    "/values/\(hexadecimal(digest))?generation=\(generation.uuidString)"
      + "&first=\(range.lowerBound)&count=\(range.count)"
  }

  static func path(ofLostValues generation: UUID, after digest: Data?) -> String {
    "/values?generation=\(generation.uuidString)"
      + (digest.map { "&after=\(hexadecimal($0))" } ?? "")
  }

  private static func hexadecimal(_ bytes: Data) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// What the answer may take: of objects as much as a change set may, since one object is never cut.
  static func bytesMax(of part: DigestPart) -> Int {
    part.digestCount.map { $0 * StateDigest.size + (1 << 16) }
      ?? ChangeSetLimits().frameBytesMax + (4 << 20)
  }

  /// The most bytes that a page may have: what was asked for, and room for one change set that is
  /// larger.
  static func pageBytesMax(of request: PullRequest, slack: Int) -> Int {
    let asked = request.maxBytes
    return max(0, asked).addingReportingOverflow(slack).overflow ? Int.max : max(0, asked) + slack
  }

  static func waitSeconds(of request: PullRequest) -> Int {
    max(0, min(request.waitSeconds, 3_600))
  }
}
