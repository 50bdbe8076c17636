package import DriftlessProtocol
package import Foundation

/// A change set on its way into a log: the bytes as they came, and what the server must know of
/// them.
package struct Push: Sendable {
  package let replica: UUID
  package let number: UInt64
  /// Up to where the replica had applied the log.
  package let cursor: Cursor
  /// The replica's highest acknowledged entry.
  package let mark: LogMark?
  package let formatLevel: UInt16
  package let frame: Data
  /// What the header says: tells a repeated push from another one under the same number.
  package let digest: Data
  /// What it touches; of one in several parts only what this part does, with names in place of numbers that are not given yet.
  package let contents: Contents
  /// Of one in several parts: what the part's header says.
  package let part: ChangeSetHeader?

  package init(
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
  package struct Contents: Sendable {
    /// Identities of the new objects in the order of their numbers.
    package var identities: [IdentityRun] = []
    package var touches: [Touch] = []
    /// Objects of the table that nothing is done to: what the push says of others names them.
    package var named: [UInt64] = []
    package var relied: [Reliance] = []
    package var claims: [Claims] = []
    /// Identities of deleted objects that the zone does not know.
    package var tombstones: [UUID] = []
    /// The newest time of its transactions. Milliseconds since 1970.
    package var newestMilliseconds: UInt64 = 0
    /// What the transactions in it drew, listed and covered: 8 bytes little-endian each.
    package var names = Data()
    /// The large values that it names.
    package var values: [LargeValue] = []

    package init() {}

    package var newCount: UInt64 { identities.reduce(0) { $0 + $1.count } }
  }

  /// `count` identities: each is the one before it plus 1 in the last eight bytes (big-endian).
  package struct IdentityRun: Sendable, Hashable {
    package let first: UUID
    package let count: UInt64

    package init(first: UUID, count: UInt64) {
      self.first = first
      self.count = count
    }
  }

  /// Properties of objects that existed before the push, on which it builds.
  package struct Reliance: Sendable {
    package let properties: [String]
    package let objects: [UInt64]

    package init(properties: [String], objects: [UInt64]) {
      self.properties = properties
      self.objects = objects
    }
  }

  /// Keys of one constraint that objects hold from now on.
  package struct Claims: Sendable {
    /// An object of the push.
    package enum Holder: Sendable {
      /// The push's n-th new object, from 0 on.
      case new(UInt64)
      case known(UInt64)
    }

    package let constraint: ZoneConstraint
    package let keys: [(holder: Holder, hash: Data)]

    package init(constraint: ZoneConstraint, keys: [(holder: Holder, hash: Data)]) {
      self.constraint = constraint
      self.keys = keys
    }
  }

  /// The same kind of change to the same properties of many objects.
  package struct Touch: Sendable {
    package enum Kind: Sendable { case update, delete, revive }
    package let kind: Kind
    package let properties: [String]
    /// Zone object numbers of objects that existed before the push.
    package let objects: [UInt64]

    package init(kind: Kind, properties: [String], objects: [UInt64]) {
      self.kind = kind
      self.properties = properties
      self.objects = objects
    }
  }
}
