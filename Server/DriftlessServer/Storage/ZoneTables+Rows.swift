public import DriftlessProtocol
public import Foundation

/// A replica that a zone knows.
public struct KnownReplica: Sendable, Equatable {
  /// The small number that the tables have for it.
  public let id: Int64
  /// The number of its zone.
  public let zone: Int64
  /// Its number of the last push that the log has; 0 where there is none.
  public let lastPush: UInt64
  /// An operator had it forgotten, and it has not pushed since: the log alone tells of it, and it is not counted.
  public var isForgotten: Bool

  /// All that there is to say of one.
  public init(id: Int64, zone: Int64, lastPush: UInt64, isForgotten: Bool = false) {
    self.id = id
    self.zone = zone
    self.lastPush = lastPush
    self.isForgotten = isForgotten
  }
}

/// What is asked of an entry that a push became.
public struct KnownEntry: Sendable {
  /// The sequence number.
  public let sequence: UInt64
  /// The zone object number of the first object that it made.
  public let firstObjectNumber: UInt64
  /// What tells it from another push of its number (``Push/digest``).
  public let digest: Data
  /// The log's chain there.
  public let chain: LogChain

  /// All that there is to say of one.
  public init(sequence: UInt64, firstObjectNumber: UInt64, digest: Data, chain: LogChain) {
    self.sequence = sequence
    self.firstObjectNumber = firstObjectNumber
    self.digest = digest
    self.chain = chain
  }
}

/// A run of identities that were inserted together, and the object number of the first.
public struct KnownRun: Sendable, Equatable {
  /// The first identity.
  public let first: UUID
  /// How many there are: each is the one before it plus 1 in the last eight bytes.
  public let count: UInt64
  /// The zone object number of the first; the others follow.
  public let number: UInt64

  /// All that there is to say of one.
  public init(first: UUID, count: UInt64, number: UInt64) {
    self.first = first
    self.count = count
    self.number = number
  }
}

/// A push that passed every rule, on its way into the log.
public struct NewEntry: Sendable {
  /// The push.
  public let push: Push
  /// The sequence number that it gets.
  public let sequence: UInt64
  /// The log's chain there.
  public let chain: LogChain
  /// Who sent it.
  public let replica: KnownReplica
  /// When it came, by the server's time. Milliseconds since 1970.
  public let receivedMilliseconds: Int64
  /// It was the log's once, and comes back.
  public let isRefill: Bool
}

/// How far the numbers of a log go.
public enum LogBounds {
  /// One zone's log and its object numbers end here: at 1,000 change sets a second, after 35 years.
  public static let numberMax: UInt64 = (1 << 40) - 1
  /// A replica's own entries above the cursor of its push that are looked at.
  /// Where there are more, the older ones count as others', and what builds on them is stale until its replica has pulled.
  /// More than a push has parts (`partsPerPushMax`): the last one may build on the first.
  public static let ownFramesMax = 16_384
}
