import Driftless
import DriftlessSync
import Foundation

/// A settled conflict as `conflicts --json` and `why --json` print it: the names are an interface, and stay.
struct ConflictReport: Encodable {
  let entry: JournalEntry

  private enum Key: String, CodingKey {
    case number, object, entity, property, policy, base, local, remote, kept, outcome, origin
    case localTime, remoteTime, transaction, sequence, explanation, waiting, decision, decidedAt
  }

  /// A text that is no JSON is shown as one: the journal of a damaged store may hold any.
  private static func value(_ text: String) -> JSONValue {
    (try? JSONParser.parse(text)) ?? .string(text)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(entry.number, forKey: .number)
    try container.encode(entry.object.uuidString.lowercased(), forKey: .object)
    try container.encode(entry.entity, forKey: .entity)
    try container.encode(entry.property, forKey: .property)
    try container.encode(entry.policy, forKey: .policy)
    // As an export has them; without the key where there is no value: unknown, or of a deleted object.
    for (text, key) in [
      (entry.base, Key.base), (entry.local, .local), (entry.remote, .remote), (entry.kept, .kept),
    ] {
      try container.encodeIfPresent(text.map(Self.value), forKey: key)
    }
    try container.encode(entry.outcome, forKey: .outcome)
    try container.encode(entry.origin.uuidString.lowercased(), forKey: .origin)
    try container.encode(entry.localTime.date, forKey: .localTime)
    try container.encode(entry.remoteTime.date, forKey: .remoteTime)
    try container.encode(entry.transaction, forKey: .transaction)
    try container.encode(entry.sequence, forKey: .sequence)
    try container.encode(entry.explanation, forKey: .explanation)
    try container.encode(entry.isWaiting, forKey: .waiting)
    try container.encode(entry.decision, forKey: .decision)
    try container.encode(entry.decidedAt, forKey: .decidedAt)
  }
}
