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

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(entry.number, forKey: .number)
    try container.encode(entry.object.uuidString.lowercased(), forKey: .object)
    try container.encode(entry.entity, forKey: .entity)
    try container.encode(entry.property, forKey: .property)
    try container.encode(entry.policy, forKey: .policy)
    try container.encode(entry.base, forKey: .base)
    try container.encode(entry.local, forKey: .local)
    try container.encode(entry.remote, forKey: .remote)
    try container.encode(entry.kept, forKey: .kept)
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
