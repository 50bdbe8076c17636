import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization

/// A transport to a zone that refuses some pushes for good: those above a size, and those that hold
/// a text.
final class PickyTransport: ForwardingTransport {
  struct Rule {
    var bytesMax = Int.max
    /// What a proxy before the zone takes of any request.
    var requestBytesMax = Int.max
    var word: String?
    /// Whether it says that what it refuses is stale, which no pull mends.
    var saysStale = false
    /// Whether it says that the zone is full, whatever comes.
    var saysFull = false
    /// How often it refuses before it is not to be reached.
    var refusalsMax = Int.max
  }

  let next: any SyncTransport
  private let rule: Mutex<Rule>
  private let counts = Mutex((pushes: 0, refusals: 0))

  init(_ zone: any SyncTransport, _ rule: Rule = Rule()) {
    next = zone
    self.rule = Mutex(rule)
  }

  var refusals: Int { counts.withLock { $0.refusals } }
  var pushes: Int { counts.withLock { $0.pushes } }

  func set(_ rule: Rule) { self.rule.withLock { $0 = rule } }

  func push(_ frame: Data) async throws -> PushReply {
    counts.withLock { $0.pushes += 1 }
    let rule = rule.withLock { $0 }
    try admit(frame, rule)
    if frame.count > rule.bytesMax {
      counts.withLock { $0.refusals += 1 }
      throw ProtocolError(
        rule.saysFull ? .zoneFull : rule.saysStale ? .stale : .tooLarge,
        "\(frame.count) bytes, \(rule.bytesMax) are allowed (bodyBytesMax)",
        suggestion: "Send less.")
    }
    if let word = rule.word, try Self.texts(frame).contains(word) {
      guard refusals < rule.refusalsMax else {
        throw ProtocolError(.busy, "Nobody is there", suggestion: "Try again.")
      }
      counts.withLock { $0.refusals += 1 }
      throw ProtocolError(
        rule.saysStale ? .stale : .malformed, "It says \(word)", suggestion: "Say something else.")
    }
    return try await next.push(frame)
  }

  func stage(_ part: Data) async throws -> StagedReply {
    try admit(part, rule.withLock { $0 })
    return try await next.stage(part)
  }

  private func admit(_ body: Data, _ rule: Rule) throws {
    guard body.count > rule.requestBytesMax else { return }
    counts.withLock { $0.refusals += 1 }
    throw ProtocolError(.tooLarge, "413", suggestion: "Raise the limit.")
  }

  private static func texts(_ frame: Data) throws -> Set<String> {
    var texts: Set<String> = []
    for column in try ChangeSetDecoder().decode(frame).columns {
      guard case .strings(let rows) = column.values else { continue }
      for row in 0..<rows.count { texts.insert(rows.string(at: row)) }
    }
    return texts
  }
}
