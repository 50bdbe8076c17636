public import Foundation

/// How a replica came back to a zone whose log is not the one that it knew.
public struct Reconciliation: Hashable, Sendable, Codable {
  /// What it took.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// The server had lost entries that this replica had kept, and got them back byte for byte.
    case refilled
    /// The logs had parted: what this replica held above the last common place was offered anew.
    case offered
    /// It took the zone's state, and kept an export of its own: `cause` says why.
    case taken
  }

  /// Why a replica took the state of its zone.
  public enum Cause: String, Hashable, Sendable, Codable {
    /// The zone was replaced on purpose.
    case replaced
    /// The logs had parted, or it had forgotten what it knew of the zone, and this replica may only read.
    case mayOnlyRead
    /// A person gave up what was not sent (`SyncEngine.giveUpUnsent()`).
    case asked

    /// For a person, the beginning of a sentence.
    package var text: String {
      switch self {
      case .replaced: "the zone was replaced on purpose"
      case .mayOnlyRead: "this store may only read, and the server's log is not one that it knows"
      case .asked: "what was not sent was given up"
      }
    }
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
  /// Why the state of the zone was taken; nil where it was not.
  public var cause: Cause?
  /// The generations of the zone that it left, the last ones, this time and before.
  public var left: [UUID]?

  /// UUIDs are in small letters, as in all that is printed.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind, forKey: .kind)
    try container.encode(time, forKey: .time)
    try container.encode(place, forKey: .place)
    try container.encode(count, forKey: .count)
    try container.encodeIfPresent(export, forKey: .export)
    try container.encodeIfPresent(cause, forKey: .cause)
    try container.encodeIfPresent(left?.map { $0.uuidString.lowercased() }, forKey: .left)
  }
}

/// What a replica does when the server's log is not the one that it knew.
public enum DivergedAction: String, Hashable, Sendable, Codable {
  /// It comes back by itself: within one zone, by the generation's intent.
  case automatic
  /// It waits for a person (`SyncEngine.allowReconciliation(of:)`).
  case ask
}
