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
