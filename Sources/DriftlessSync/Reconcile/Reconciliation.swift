public import Foundation

/// How a replica came back to a zone whose log is not the one that it knew.
public struct Reconciliation: Hashable, Sendable, Codable {
  /// What it took.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// The server had lost entries that this replica had kept, and got them back byte for byte.
    case refilled
    /// The logs had parted: what this replica held above the last common place was offered anew.
    case offered
    /// The zone was replaced on purpose, or this replica may only read: it took the zone's state, and kept an export of
    /// its own.
    case taken
  }

  /// What it took.
  public var kind: Kind
  /// When it was done.
  public var time: Date
  /// The last place that both logs share.
  public var place: UInt64
  /// Entries that were handed over, or objects that were offered or taken away.
  public var count: Int
  /// The file with what the replica held, where it was given up.
  public var export: String?
  /// Whether the state was taken because this replica may only read: nobody replaced the zone on purpose. Nil for false.
  public var isForReading: Bool?
  /// The generations of the zone that it left, the last ones, this time and before.
  public var left: [UUID]?
}

/// What a replica does when the server's log is not the one that it knew.
public enum DivergedAction: String, Hashable, Sendable, Codable {
  /// It comes back by itself: within one zone, by the generation's intent.
  case automatic
  /// It waits for a person (`SyncEngine.allowReconciliation(of:)`).
  case ask
}
