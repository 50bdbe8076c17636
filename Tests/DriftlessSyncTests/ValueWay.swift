import DriftlessProtocol
import DriftlessTesting
import Foundation
import Synchronization

/// A way to a zone that breaks off between the pieces of large values, changes bytes of them, or lets a test act meanwhile.
final class ValueWay: ForwardingTransport {
  struct Cut: Error {}

  struct Rule {
    /// So many pieces with bytes pass; nil: all do.
    var passing: Int?
    /// So many pieces that come have a byte that is another one.
    var flipped = 0
    /// What the zone says of each piece that it is sent.
    var putRefusal: ProtocolError.Code?
    /// What it says when it is asked about itself.
    var infoRefusal: ProtocolError.Code?
    /// Called before a piece goes to the zone.
    var beforePut: (@Sendable () throws -> Void)?
    /// What it says to who asks for a value, by the digest.
    var refusals: [Data: ProtocolError.Code] = [:]
    /// Called before a piece is asked for.
    var beforeValue: (@Sendable () throws -> Void)?
    /// What it says to who compares itself with it.
    var digestRefusal: ProtocolError.Code?
    /// The values of which nothing comes, though the zone answers to all else, and what the way to it says then.
    var stalled: (isMeant: @Sendable (Data) -> Bool, failure: Stall)?
    /// So many bytes of each piece of those come first.
    var stalledBytes = 0
  }

  /// Nothing came in time, or the server asks for patience.
  struct Stall: TransportFailure, Equatable {
    var name = "timed-out"
    var message = "Nothing came."
    var suggestion = "It is tried again."
    var isTransient = true
    var retryAfterSeconds: Double?
  }

  struct Passed: Equatable {
    var sent = 0
    var received = 0
  }

  let next: any SyncTransport
  private let rule = Mutex(Rule())
  private let passed = Mutex(Passed())

  init(_ next: any SyncTransport) { self.next = next }

  private let asked = Mutex(0)
  private let askedForInfo = Mutex(0)
  private let stalls = Mutex<[Data]>([])

  /// The values of which nothing came, one for each attempt.
  var stalled: [Data] { stalls.withLock { $0 } }

  /// How often the zone was asked about itself.
  var infos: Int { askedForInfo.withLock { $0 } }

  /// Requests about large values.
  var questions: Int { asked.withLock { $0 } }

  /// Bytes of pieces.
  var bytes: Passed { passed.withLock { $0 } }
  func set(_ rule: Rule) { self.rule.withLock { $0 = rule } }

  private static func check(_ refusal: ProtocolError.Code?) throws {
    guard let refusal else { return }
    throw ProtocolError(refusal, "No", suggestion: "Try again.")
  }

  func zoneInfo() async throws -> ZoneInfo {
    askedForInfo.withLock { $0 += 1 }
    try Self.check(rule.withLock { $0.infoRefusal })
    return try await next.zoneInfo()
  }

  func digests(at cursor: Cursor) async throws -> ZoneDigests {
    try Self.check(rule.withLock { $0.digestRefusal })
    return try await next.digests(at: cursor)
  }

  private func pass() throws {
    try rule.withLock { rule in
      guard let left = rule.passing else { return }
      guard left > 0 else { throw Cut() }
      rule.passing = left - 1
    }
  }

  func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues {
    asked.withLock { $0 += 1 }
    return try await next.lostValues(of: generation, after: digest)
  }

  func put(_ piece: ValuePiece) async throws -> ValueState {
    asked.withLock { $0 += 1 }
    try Self.check(rule.withLock { $0.putRefusal })
    if !piece.bytes.isEmpty {
      try pass()
      passed.withLock { $0.sent += piece.bytes.count }
      try rule.withLock { $0.beforePut }?()
    }
    return try await next.put(piece)
  }

  func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    asked.withLock { $0 += 1 }
    try rule.withLock { $0.beforeValue }?()
    try Self.check(rule.withLock { $0.refusals[digest] })
    if let (isMeant, failure) = rule.withLock({ $0.stalled }), isMeant(digest) {
      stalls.withLock { $0.append(digest) }
      let count = rule.withLock { $0.stalledBytes }
      guard count > 0 else { throw failure }
      let part = try await next.value(digest, of: generation, range: range.prefix(count))
      passed.withLock { $0.received += part.count }
      throw PartOfValue(bytes: part, reason: failure)
    }
    try pass()
    var piece = try await next.value(digest, of: generation, range: range)
    passed.withLock { $0.received += piece.count }
    let isFlipped = rule.withLock { rule in
      rule.flipped -= 1
      return rule.flipped >= 0
    }
    if isFlipped { piece[piece.startIndex + piece.count / 2] ^= 1 }
    return piece
  }
}
