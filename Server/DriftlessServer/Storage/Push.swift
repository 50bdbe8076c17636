public import DriftlessProtocol
public import Foundation

/// A change set on its way into a log: the bytes as they came, and what the server must know of
/// them.
public struct Push: Sendable {
  /// Who sends it.
  public let replica: UUID
  /// The replica's number of it.
  public let number: UInt64
  /// Up to where the replica had applied the log.
  public let cursor: Cursor
  /// The replica's highest acknowledged entry.
  public let mark: LogMark?
  /// The format level of the frame.
  public let formatLevel: UInt16
  /// The bytes as they came.
  public let frame: Data
  /// What the header says: tells a repeated push from another one under the same number.
  public let digest: Data
  /// What it touches; of one in several parts only what this part does, with names in place of numbers that are not given yet.
  public let contents: Contents
  /// Of one in several parts: what the part's header says.
  public let part: ChangeSetHeader?

  /// A push as it was read.
  public init(
    replica: UUID, number: UInt64, cursor: Cursor, mark: LogMark?,
    formatLevel: UInt16 = ChangeSetHeader.formatLevel, frame: Data, digest: Data,
    contents: Contents, part: ChangeSetHeader? = nil
  ) {
    self.part = part
    self.replica = replica
    self.number = number
    self.cursor = cursor
    self.mark = mark
    self.formatLevel = formatLevel
    self.frame = frame
    self.digest = digest
    self.contents = contents
  }

  /// Which objects a push makes and touches, in zone object numbers.
  public struct Contents: Sendable {
    /// Identities of the new objects in the order of their numbers.
    public var identities: [IdentityRun] = []
    /// What is done to objects that were there.
    public var touches: [Touch] = []
    /// Objects of the table that nothing is done to: what the push says of others names them.
    public var named: [UInt64] = []
    /// What it builds on.
    public var relied: [Reliance] = []
    /// Keys that its objects hold from now on.
    public var claims: [Claims] = []
    /// Identities of deleted objects that the zone does not know.
    public var tombstones: [UUID] = []
    /// The newest time of its transactions. Milliseconds since 1970.
    public var newestMilliseconds: UInt64 = 0
    /// What the transactions in it drew, listed and covered: 8 bytes little-endian each.
    public var names = Data()
    /// The large values that it names.
    public var values: [LargeValue] = []

    /// Nothing: what is read is set.
    public init() {}

    /// How many objects it makes.
    public var newCount: UInt64 { identities.reduce(0) { $0 + $1.count } }
  }

  /// `count` identities: each is the one before it plus 1 in the last eight bytes (big-endian).
  public struct IdentityRun: Sendable, Hashable {
    /// The first identity.
    public let first: UUID
    /// How many there are.
    public let count: UInt64

    /// A run of so many identities.
    public init(first: UUID, count: UInt64) {
      self.first = first
      self.count = count
    }
  }

  /// Properties of objects that existed before the push, on which it builds.
  public struct Reliance: Sendable {
    /// Names of properties.
    public let properties: [String]
    /// Zone object numbers.
    public let objects: [UInt64]

    /// What the push builds on.
    public init(properties: [String], objects: [UInt64]) {
      self.properties = properties
      self.objects = objects
    }
  }

  /// Keys of one constraint that objects hold from now on.
  public struct Claims: Sendable {
    /// An object of the push.
    public enum Holder: Sendable {
      /// The push's n-th new object, from 0 on.
      case new(UInt64)
      case known(UInt64)
    }

    /// The unique constraint.
    public let constraint: ZoneConstraint
    /// The objects, and the hashes of their keys.
    public let keys: [(holder: Holder, hash: Data)]

    /// Keys, by who holds them.
    public init(constraint: ZoneConstraint, keys: [(holder: Holder, hash: Data)]) {
      self.constraint = constraint
      self.keys = keys
    }
  }

  /// The same kind of change to the same properties of many objects.
  public struct Touch: Sendable {
    /// What is done: some properties are set, or the object is deleted, or it lives again.
    public enum Kind: Sendable { case update, delete, revive }
    /// What is done.
    public let kind: Kind
    /// Names of properties.
    public let properties: [String]
    /// Zone object numbers of objects that existed before the push.
    public let objects: [UInt64]

    /// One change of some objects.
    public init(kind: Kind, properties: [String], objects: [UInt64]) {
      self.kind = kind
      self.properties = properties
      self.objects = objects
    }
  }
}
