public import Driftless
public import Foundation

/// One settled conflict: what each side wanted, what was kept, and why. The value that lost is
/// never gone.
public struct JournalEntry: Hashable, Sendable, Codable {
  /// Which value stands now.
  public enum Outcome: String, Hashable, Sendable, Codable {
    /// This replica's value stands and waits to be pushed.
    case local
    /// The zone's value stands.
    case remote
    /// A value made of both stands.
    case combined
  }

  /// The entry's number: grows with each conflict of this replica.
  public var number: Int64
  /// The object's identity, and its entity.
  public var object: UUID
  /// The name of the object's entity.
  public var entity: String
  /// The property, or nil when the conflict is about the object as a whole (a delete against an
  /// edit).
  public var property: String?
  /// The rule that settled it, as the model spells it.
  public var policy: String
  /// The values as JSON text; nil when unknown (base) or when the object is deleted on that side.
  public var base: String?
  /// What this replica had.
  public var local: String?
  /// What the zone had.
  public var remote: String?
  /// What stands.
  public var kept: String?
  /// Which value stands now.
  public var outcome: Outcome
  /// The replica that made the remote change.
  public var origin: UUID
  /// When each side's edit was made.
  public var localTime: HybridTime
  /// When the remote edit was made.
  public var remoteTime: HybridTime
  /// The history transaction of the import that settled it.
  public var transaction: Int64
  /// The sequence number of the remote change set.
  public var sequence: UInt64
  /// One sentence for a person.
  public var explanation: String
  /// What a person decided since, and when: nil when nobody did.
  public var decision: Side?
  /// When a person decided; nil when nobody did.
  public var decidedAt: Date?

  /// One of the two sides of a conflict.
  public enum Side: String, Hashable, Sendable, Codable {
    /// What this replica had.
    case local
    /// What the other replica had.
    case remote
  }

  /// Whether the conflict waits for a person: its policy is `manual`, and nobody decided so far.
  public var isWaiting: Bool {
    policy == ConflictPolicy.manual.text && property != nil && decision == nil
  }

  /// The rule of a delete that was made here and given up before the zone had it.
  static let deletePolicy = "delete"

  /// The rule of what a repair gave the store, and nobody edited.
  static let repairPolicy = "repair"
  /// When a repair made the entry, and no edit of this store did; nil of others.
  package var repairedAt: HybridTime? {
    policy == Self.repairPolicy && localTime != remoteTime ? localTime : nil
  }

  /// The side whose value does not stand. Of a value that was made of both, this replica's.
  public var loser: Side { outcome == .local ? .remote : .local }
}

/// The answer to "why does this property have this value?".
public struct PropertyExplanation: Hashable, Sendable, Codable {
  /// The object's identity.
  public var object: UUID
  /// The name of the object's entity.
  public var entity: String
  /// The name of the property.
  public var property: String
  /// The value now, as JSON text.
  public var value: String
  /// The property's rule, as the model spells it.
  public var policy: String
  /// Whether the value waits to be pushed.
  public var isPending: Bool
  /// When it was last changed here, by whom.
  public var changedAt: HybridTime?
  /// Who made that change; nil where nothing says so.
  public var author: String?
  /// The settled conflicts of the property, oldest first.
  public var conflicts: [JournalEntry]
  /// The relationship that says the fact from its other end, as `Entity.property`; nil for a property that says it itself.
  public var follows: String?
}
