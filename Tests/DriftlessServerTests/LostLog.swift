import DriftlessProtocol
import Foundation

@testable import DriftlessServer

/// A log as it was before its zone lost the end of it.
struct LostLog {
  private(set) var log: ZoneLog
  private var writer: ZoneWriter

  init(_ generation: UUID) {
    log = ZoneLog(name: "shop", generation: generation)
    writer = ZoneWriter(generation)
  }

  /// One more entry, of a new user.
  ///
  /// - Returns: its bytes, for a zone that has it.
  @discardableResult mutating func grow(at milliseconds: UInt64? = nil) throws -> Data {
    let frame = try writer.frame {
      $0.inserts = 1
      $0.milliseconds = milliseconds
    }
    _ = try log.append(frame, nowMilliseconds: milliseconds ?? 0)
    writer.cursor = LogMark(sequence: log.head, chain: log.chain)
    return frame
  }

  /// All of it.
  var entries: [PullPage.Entry] {
    get throws {
      try log.page(
        PullRequest(
          cursor: .start(generation: log.generation), maxBytes: 1 << 30, waitSeconds: 0,
          replica: UUID(), ownThrough: 0), nowMilliseconds: 0
      ).entries
    }
  }

  /// All of it, as a server reads it.
  var refills: [Refill] {
    get throws {
      let reader = PushReader(limits: .init())
      return try entries.map { ($0, try reader.read($0.frame)) }
    }
  }
}
