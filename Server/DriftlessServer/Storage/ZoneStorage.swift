package import Foundation

/// Where zones, tokens and logs live. The routes know only this; SQLite is one answer to it.
///
/// An implementation keeps these laws, whatever the load:
/// * sequence numbers of a zone are dense, 1, 2, 3 …, in commit order;
/// * an append is durable before it returns, and has one effect however often it arrives;
/// * what `page` gives is what was appended, byte for byte.
package protocol ZoneStorage: Sendable {
  /// The zone of that name; nil when there is none.
  func zone(named name: String) async throws -> ZoneRecord?

  /// The token of that ID, revoked or not; nil when there is none.
  func token(id: String) async throws -> TokenRecord?

  /// Appends a push to its zone's log.
  ///
  /// - Throws: `ServerError` with the codes stale, generation-changed, forked, number-gap,
  ///   disk-full, busy …; then nothing was applied.
  func append(_ push: Push, to zone: ZoneRecord) async throws -> Appended

  /// The log after a sequence number.
  func page(of zone: ZoneRecord, _ request: PageRequest) async throws -> LogPage
}

/// A zone as it was at one moment.
package struct ZoneRecord: Sendable, Hashable {
  package let id: Int64
  package let name: String
  package let generation: UUID
  package let head: UInt64
}

/// A token without its secret.
package struct TokenRecord: Sendable {
  package let id: String
  package let hash: Data
  package let zoneID: Int64
  package let zoneName: String
  package let verbs: Verbs
  package let createdMilliseconds: Int64
  package let revokedMilliseconds: Int64?
}

/// What an append gave out, now or when the same push first arrived.
package struct Appended: Sendable, Hashable {
  package let sequence: UInt64
  package let firstObjectNumber: UInt64
  /// Whether the push had been appended before.
  package let isRepeat: Bool

  package init(sequence: UInt64, firstObjectNumber: UInt64, isRepeat: Bool) {
    self.sequence = sequence
    self.firstObjectNumber = firstObjectNumber
    self.isRepeat = isRepeat
  }
}

/// Which part of a log a replica asks for.
package struct PageRequest: Sendable {
  package var after: UInt64
  package var bytesMax: Int
  package var entriesMax: Int
  /// The asking replica: frames of its own, up to a push number, come back as headers only.
  package var own: (replica: UUID, incarnation: UInt32, through: UInt64)?

  package init(after: UInt64, bytesMax: Int, entriesMax: Int) {
    self.after = after
    self.bytesMax = bytesMax
    self.entriesMax = entriesMax
  }
}

/// One change set of the log.
package struct LogEntry: Sendable, Hashable {
  package let sequence: UInt64
  package let firstObjectNumber: UInt64
  /// The frame as it was pushed, or only its header when it is the asking replica's own.
  package let bytes: Data
  package let isHeaderOnly: Bool
}

/// Some of a log, and where the log ends.
package struct LogPage: Sendable {
  package let entries: [LogEntry]
  package let head: UInt64
}
