public import Foundation

// What a change set says beside its changes, so that a server can keep the log's laws without
// knowing a value: what it was built on, which keys it takes, whose edits it carries.

extension ChangeSetIndex {
  /// A transaction whose edits add up with others (a counter, a text, a set) and are part of what
  /// the change set sets, though the list of transactions does not name it.
  public struct CoveredTransaction: Hashable, Sendable {
    /// What the transaction drew, not 0.
    public var name: UInt64
    /// Whether something of the transaction was left out: then only the properties that the change
    /// set sets are acknowledged.
    public var isPartial: Bool

    /// - Parameters:
    ///   - name: What the transaction drew, not 0.
    ///   - isPartial: Whether something of it was left out.
    public init(name: UInt64, isPartial: Bool = false) {
      self.name = name
      self.isPartial = isPartial
    }
  }

  /// Properties that the replica read to make the change set: when another replica sets one of them
  /// in between, the push is stale.
  public struct Reliance: Hashable, Sendable {
    /// Index in `entities`.
    public var entity: Int
    /// Indexes in that entity's `properties`.
    public var properties: [Int]
    /// Indexes in the object table, ascending.
    public var objects: ObjectIndexes

    /// - Parameters:
    ///   - entity: Index in `entities`.
    ///   - properties: Indexes in that entity's `properties`.
    ///   - objects: Indexes in the object table, ascending.
    public init(entity: Int, properties: [Int], objects: ObjectIndexes) {
      self.entity = entity
      self.properties = properties
      self.objects = objects
    }
  }

  /// Unique keys of one constraint that objects hold from now on.
  ///
  /// A claim is also a reliance on the constraint's properties.
  public struct KeyClaims: Hashable, Sendable {
    /// Index in `entities`: the entity that declares the constraint.
    public var entity: Int
    /// Indexes in that entity's `properties`, in the order in which the constraint names them.
    public var properties: [Int]
    /// Which secret the hashes are made with; 0 is the zone's UUID.
    public var keyID: UInt32
    /// Indexes in the object table, ascending.
    public var objects: ObjectIndexes
    /// One an object.
    public var hashes: [KeyHash]

    /// - Parameters:
    ///   - entity: Index in `entities`: the entity that declares the constraint.
    ///   - properties: In the order in which the constraint names them.
    ///   - keyID: Which secret the hashes are made with; 0 is the zone's UUID.
    ///   - objects: Indexes in the object table, ascending.
    ///   - hashes: One an object.
    public init(
      entity: Int, properties: [Int], keyID: UInt32 = 0, objects: ObjectIndexes, hashes: [KeyHash]
    ) {
      self.entity = entity
      self.properties = properties
      self.keyID = keyID
      self.objects = objects
      self.hashes = hashes
    }
  }

  /// The delete of an object that the zone does not know.
  public struct Tombstone: Hashable, Sendable {
    /// The object's identity.
    public var identity: UUID
    /// Index in `entities`.
    public var entity: Int
    /// When it was deleted: milliseconds since 1970 in the upper 48 bits, a counter in the lower 16.
    public var hybridTime: UInt64

    /// - Parameters:
    ///   - identity: The object's identity.
    ///   - entity: Index in `entities`.
    ///   - hybridTime: When it was deleted.
    public init(identity: UUID, entity: Int, hybridTime: UInt64) {
      self.identity = identity
      self.entity = entity
      self.hybridTime = hybridTime
    }
  }
}
