public import Foundation

/// What a change set touches, without a value: the part that the server reads.
///
/// Objects are named by their index in the object table: first the new ones, in the order of
/// `newObjects`, then those that the zone knows, in the order of `knownNumbers`.
public struct ChangeSetIndex: Hashable, Sendable {
  /// An entity and those of its properties that the change set names.
  ///
  /// Beside the to-one relationship `NAME` whose inverse is ordered, `NAME#place` names a column of
  /// integers: the object's place among those that refer to the same one, ascending. To the format
  /// and to a server it is a property like any other; a reader that does not know it keeps it for
  /// later, as it does with every name that is new to it.
  public struct Entity: Hashable, Sendable {
    /// The entity's name.
    public var name: String
    /// The names of its properties.
    public var properties: [String]

    /// - Parameters:
    ///   - name: The entity's name.
    ///   - properties: The names of its properties.
    public init(name: String, properties: [String]) {
      self.name = name
      self.properties = properties
    }
  }

  /// New objects of one entity that follow each other in the object table.
  public struct NewObjects: Hashable, Sendable {
    /// Index in `entities`.
    public var entity: Int
    /// One an object.
    public var identities: Identities
    /// Whether the identities come from outside (an import of external keys): then one identity is
    /// one object wherever it comes from. Minted ones belong to the replica that minted them.
    public var isGiven: Bool
    /// The names of the saves that made the objects, one an object; 0 where the transaction of the
    /// insert is that save. Empty: it is for all. An offer tells them, whose transactions are
    /// named by their times: by its maker whoever minted an identity knows its object again.
    public var makers: [UInt64]

    /// How many objects there are.
    public var count: Int { identities.count }

    /// - Parameters:
    ///   - entity: Index in `entities`.
    ///   - identities: One an object.
    ///   - isGiven: Whether the identities come from outside.
    ///   - makers: The names of the saves that made the objects; empty where their inserts tell.
    public init(
      entity: Int, identities: Identities, isGiven: Bool = false, makers: [UInt64] = []
    ) {
      self.entity = entity
      self.identities = identities
      self.isGiven = isGiven
      self.makers = makers
    }
  }

  /// The UUIDs of new objects.
  public enum Identities: Hashable, Sendable {
    /// Object `i` has `first` with `i` added to its last eight bytes, read big-endian; the addition
    /// never overflows.
    case range(first: UUID, count: Int)
    case listed([UUID])

    /// How many there are.
    public var count: Int {
      switch self {
      case .range(_, let count): count
      case .listed(let identities): identities.count
      }
    }

    /// The identity of one object, from 0 on.
    public subscript(index: Int) -> UUID {
      switch self {
      case .range(let first, _): first.advanced(by: UInt64(max(0, index)))
      case .listed(let identities): identities[index]
      }
    }
  }

  /// A save at the replica: when, and by whom.
  public struct Transaction: Hashable, Sendable {
    /// What the save drew: the same at every replica and after every restore. 0: no edit, such as
    /// the defaults of an insert.
    public var name: UInt64
    /// Milliseconds since 1970 in the upper 48 bits, a counter in the lower 16.
    public var hybridTime: UInt64
    /// The context's `transactionAuthor`; nil for none.
    public var author: String?
    /// The context's name; nil for none.
    public var contextName: String?
    /// In an *offer*, the replica whose edit of the zone this was, brought back after the zone lost
    /// it: it is settled by time and author alone. Nil: an edit of the replica that pushes.
    public var origin: UUID?

    /// - Parameters:
    ///   - name: What the save drew; 0 for no edit.
    ///   - hybridTime: When it was saved.
    ///   - author: The context's `transactionAuthor`.
    ///   - contextName: The context's name.
    ///   - origin: In an offer, the replica whose edit this was.
    public init(
      name: UInt64 = 0, hybridTime: UInt64, author: String? = nil, contextName: String? = nil,
      origin: UUID? = nil
    ) {
      self.name = name
      self.hybridTime = hybridTime
      self.author = author
      self.contextName = contextName
      self.origin = origin
    }
  }

  /// The same kind of change to the same properties of objects of one entity.
  public struct Group: Hashable, Sendable {
    /// What is done to the objects.
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
      /// New objects, with the values that they begin with.
      case insert = 0
      /// Values set on objects, new or known.
      case update = 1
      /// Known objects, deleted. No properties.
      case delete = 2
      /// Known objects that were deleted, brought back with these values.
      case revive = 3
    }

    /// Rows that belong to one transaction.
    public struct TransactionRun: Hashable, Sendable {
      /// Index in `transactions`.
      public var transaction: Int
      /// How many rows, at least 1.
      public var count: Int

      /// - Parameters:
      ///   - transaction: Index in `transactions`.
      ///   - count: How many rows, at least 1.
      public init(transaction: Int, count: Int) {
        self.transaction = transaction
        self.count = count
      }
    }

    /// What is done to the objects.
    public var kind: Kind
    /// Index in `entities`.
    public var entity: Int
    /// Indexes in that entity's `properties`; each has a column.
    public var properties: [Int]
    /// Indexes in the object table, ascending.
    public var objects: ObjectIndexes
    /// Which transaction each row belongs to; the counts add up to the rows.
    public var transactionRuns: [TransactionRun]

    /// - Parameters:
    ///   - kind: What is done to the objects.
    ///   - entity: Index in `entities`.
    ///   - properties: Indexes in that entity's `properties`.
    ///   - objects: Indexes in the object table, ascending.
    ///   - transactionRuns: Which transaction each row belongs to.
    public init(
      kind: Kind, entity: Int, properties: [Int], objects: ObjectIndexes,
      transactionRuns: [TransactionRun]
    ) {
      self.kind = kind
      self.entity = entity
      self.properties = properties
      self.objects = objects
      self.transactionRuns = transactionRuns
    }
  }

  /// The entities that are named, with their properties.
  public var entities: [Entity]
  /// The objects that begin the object table.
  public var newObjects: [NewObjects]
  /// Zone object numbers, ascending.
  public var knownNumbers: [UInt64]
  /// The saves that the groups belong to.
  public var transactions: [Transaction]
  /// Something of these saves was left out, because it is in quarantine or would be too much at
  /// once: their names say nothing of what no group sets.
  public var isPartial = false
  /// What is done, in order.
  public var groups: [Group]
  /// Transactions that are part of what the groups set, beside those listed. Each once.
  public var covered: [CoveredTransaction]
  /// What was read to make the change set.
  public var relied: [Reliance]
  /// The unique keys that objects hold from now on.
  public var claims: [KeyClaims]
  /// Deletes of objects that the zone does not know.
  public var tombstones: [Tombstone]
  /// The large values that the columns name, ascending, each once. The encoder fills it in.
  public package(set) var values: [LargeValue] = []

  /// Takes the parts as they are; the encoder checks them.
  public init(
    entities: [Entity] = [], newObjects: [NewObjects] = [], knownNumbers: [UInt64] = [],
    transactions: [Transaction] = [], groups: [Group] = [], covered: [CoveredTransaction] = [],
    relied: [Reliance] = [], claims: [KeyClaims] = [], tombstones: [Tombstone] = []
  ) {
    self.entities = entities
    self.newObjects = newObjects
    self.knownNumbers = knownNumbers
    self.transactions = transactions
    self.groups = groups
    self.covered = covered
    self.relied = relied
    self.claims = claims
    self.tombstones = tombstones
  }

  /// Objects that are new to the zone.
  public var newObjectCount: Int { newObjects.reduce(0) { $0.addingClamped($1.count) } }
  /// Objects in the object table.
  public var objectCount: Int { newObjectCount.addingClamped(knownNumbers.count) }
  /// How many columns the change set has.
  public var columnCount: Int { groups.reduce(0) { $0 + $1.properties.count } }
}

extension Int {
  /// The sum, or the largest number: counts that callers make up must not trap.
  func addingClamped(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}

extension UUID {
  /// The UUID with a number added to its last eight bytes, read big-endian (wraps around).
  public func advanced(by offset: UInt64) -> UUID {
    var bytes = uuid
    withUnsafeMutableBytes(of: &bytes) { raw in
      let low = UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      raw.storeBytes(of: (low &+ offset).bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return UUID(uuid: bytes)
  }

  /// The last eight bytes, read big-endian.
  var lowBytes: UInt64 {
    withUnsafeBytes(of: uuid) {
      UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
  }
}
