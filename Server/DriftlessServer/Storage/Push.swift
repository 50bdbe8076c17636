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
  package let frame: Data
  /// What the header says: tells a repeated push from another one under the same number.
  package let digest: Data
  package let contents: Contents

  package init(
    replica: UUID, number: UInt64, cursor: Cursor, mark: LogMark?, frame: Data, digest: Data,
    contents: Contents
  ) {
    self.replica = replica
    self.number = number
    self.cursor = cursor
    self.mark = mark
    self.frame = frame
    self.digest = digest
    self.contents = contents
  }

  /// Which objects a push makes and touches, in zone object numbers.
  package struct Contents: Sendable {
    /// Identities of the new objects in the order of their numbers.
    package var identities: [IdentityRun] = []
    package var touches: [Touch] = []

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
