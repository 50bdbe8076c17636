public import Foundation

/// Where a replica stands. Every field is read from the store, so it holds with or without a
/// running engine.
public struct SyncStatus: Hashable, Sendable, Codable {
  /// What this replica changed and the zone has not acknowledged.
  public struct Pending: Hashable, Sendable, Codable {
    /// Objects with something pending.
    public var objects: Int
    /// Properties of objects that are pending.
    public var properties: Int
    /// Transactions with something pending.
    public var transactions: Int
    /// Whether more changes wait than were counted: the numbers are of the first hundred thousand, also of objects that later
    /// ones delete again.
    public var hasMore = false
    /// Whether nothing is pending.
    public var isEmpty: Bool { objects == 0 && !hasMore }

    /// - Parameters:
    ///   - objects: Objects with something pending.
    ///   - properties: Properties of objects that are pending.
    ///   - transactions: Transactions with something pending.
    public init(objects: Int = 0, properties: Int = 0, transactions: Int = 0) {
      self.objects = objects
      self.properties = properties
      self.transactions = transactions
    }

    /// Of a program of before, which counted all.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      objects = try container.decode(Int.self, forKey: .objects)
      properties = try container.decode(Int.self, forKey: .properties)
      transactions = try container.decode(Int.self, forKey: .transactions)
      hasMore = try container.decodeIfPresent(Bool.self, forKey: .hasMore) ?? false
    }

    private enum CodingKeys: String, CodingKey {
      case objects, properties, transactions
      case hasMore = "more"
    }
  }

  /// How the last sync failed, and since when.
  public struct Failure: Hashable, Sendable, Codable {
    /// What heals it.
    public enum Kind: String, Hashable, Sendable, Codable {
      /// Time may: no usable answer, or one that says "later".
      case offline
      /// A person has to decide something.
      case waiting
      /// The server or the store refuses, and time alone does not heal that.
      case refused
    }

    /// What heals it.
    public var kind: Kind
    /// A short name that programs can compare.
    public var code: String
    /// What went wrong, as a sentence.
    public var message: String
    /// What the reader can do about it.
    public var suggestion: String
    /// When the first attempt failed in this way.
    public var since: Date

    /// - Parameters:
    ///   - kind: What heals it.
    ///   - code: A short name that programs can compare.
    ///   - message: What went wrong, as a sentence.
    ///   - suggestion: What the reader can do about it.
    ///   - since: When the first attempt failed in this way.
    public init(kind: Kind, code: String, message: String, suggestion: String, since: Date) {
      self.kind = kind
      self.code = code
      self.message = message
      self.suggestion = suggestion
      self.since = since
    }
  }

  /// The store's path, or its identifier when it is in memory.
  public var store: String
  /// The server's address; nil when the store is not enrolled.
  public var server: URL?
  /// The zone's name; nil when the store is not enrolled.
  public var zone: String?
  /// The replica ID; nil when the store is not enrolled.
  public var replica: UUID?
  /// The name by which people know the replica: the one that it was given, or its host's; nil when the store is not enrolled.
  public var name: String?
  /// The life of the zone's log that the cursor is in; nil when the store is not enrolled.
  public var generation: UUID?
  /// The sequence number up to which the zone's log is applied here.
  public var cursor: UInt64
  /// The newest sequence number of the zone that this replica has heard of.
  public var head: UInt64
  /// What this replica changed and the zone has not acknowledged.
  public var pending: Pending
  /// Settled conflicts in the journal.
  public var conflicts: Int
  /// Conflicts that wait for a person, because their policy is `manual`
  /// (`SyncEngine.decide(conflict:for:of:)`).
  public var waiting: Int
  /// Objects that the server refuses for good, set aside with a reason: what was changed of them is
  /// pending still (`SyncEngine.quarantine(of:)`).
  public var quarantined: Int
  /// Change sets with parts that this model does not know, values that it cannot hold, and values that are unique here and
  /// that the zone has of two objects, kept for later, without those
  /// that a person has accepted (`SyncEngine.acceptParked(of:sequence:)`).
  public var parked: Int
  /// Large values of objects that the zone has and this store has not fetched: they are fetched when somebody asks for them.
  public var valuesInZone = 0
  /// Bytes of those, each value once.
  public var bytesInZone: Int64 = 0
  /// Values of those, each once, that this host's disk had no room for when they were to come: they are asked for again each hour.
  public var valuesWithoutRoom = 0
  /// Objects with edits of encrypted properties that wait for a key: nothing of these leaves the host without one.
  public var withoutKey = 0
  /// What the model here has again, or otherwise than the one before, and the store has not taken from the zone since: entities, and
  /// `Entity.property` of others. The next sync takes it.
  public var toComeAgain: [String] = []
  /// How the store came back last to a server whose log was another one; nil when it never had to.
  public var reconciled: Reconciliation?
  /// Whether the zone was replaced on purpose since the store took its state, as enrolling again found: the next sync keeps
  /// what the store holds in a file beside it, and takes the zone's state.
  public var zoneWasReplaced: Bool
  /// Whether the store's file is a copy of the one that it was enrolled or synced in, or that one put back, and has not synced
  /// itself so far: how the last sync ended is the other's then, and not told here.
  public var isCopy = false
  /// When a sync last succeeded; nil for never.
  public var lastSync: Date?
  /// What the last failure was; nil after a success.
  public var lastError: String?
  /// How the last sync failed; nil after a success.
  public var failure: Failure?
  /// Whether an engine holds the store's sync lock right now.
  public var syncing: Bool

  /// Whether the store is enrolled with a server.
  public var isEnrolled: Bool { replica != nil }
  /// Whether nothing waits, here or (as far as is known) at the zone.
  public var isCurrent: Bool {
    isEnrolled && !zoneWasReplaced && pending.isEmpty && cursor >= head && toComeAgain.isEmpty
  }
}
