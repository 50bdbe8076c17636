public import Foundation

/// Where a replica stands. Every field is read from the store, so it holds with or without a
/// running engine.
public struct SyncStatus: Hashable, Sendable, Codable {
  /// What this replica changed and the zone has not acknowledged.
  public struct Pending: Hashable, Sendable, Codable {
    public var objects: Int
    public var properties: Int
    public var transactions: Int

    public init(objects: Int = 0, properties: Int = 0, transactions: Int = 0) {
      self.objects = objects
      self.properties = properties
      self.transactions = transactions
    }
  }

  /// The store's path, or its identifier when it is in memory.
  public var store: String
  public var server: URL?
  public var zone: String?
  public var replica: UUID?
  public var generation: UUID?
  /// The sequence number up to which the zone's log is applied here.
  public var cursor: UInt64
  /// The newest sequence number of the zone that this replica has heard of.
  public var head: UInt64
  public var pending: Pending
  /// Settled conflicts in the journal.
  public var conflicts: Int
  /// Conflicts that wait for a person, because their policy is `manual`
  /// (`SyncEngine.decide(conflict:for:of:)`).
  public var waiting: Int
  /// Objects that the server refuses for good, set aside with a reason: what was changed of them is
  /// pending still (`SyncEngine.quarantine(of:)`).
  public var quarantined: Int
  /// Change sets with parts that this model does not know, kept for later.
  public var parked: Int
  /// How the store came back last to a server whose log was another one; nil when it never had to.
  public var reconciled: Reconciliation?
  public var lastSync: Date?
  public var lastError: String?
  /// Whether an engine holds the store's sync lock right now.
  public var syncing: Bool

  /// Whether the store is enrolled with a server.
  public var isEnrolled: Bool { replica != nil }
  /// Whether nothing waits, here or (as far as is known) at the zone.
  public var isCurrent: Bool { isEnrolled && pending.objects == 0 && cursor >= head }
}
