public import Foundation

/// A place in the history of stores: for each the number of its last transaction that was seen.
public struct PersistentHistoryToken: Hashable, Sendable, Codable {
  /// Transaction numbers by store identifier.
  public var numbers: [String: Int64]

  public init(numbers: [String: Int64] = [:]) { self.numbers = numbers }
}

/// What one save, or one import, changed.
public struct PersistentHistoryTransaction: Sendable {
  public let transactionNumber: Int64
  /// The identifier of the store.
  public let storeID: String
  public let timestamp: Date
  public let hybridTime: HybridTime
  public let author: String?
  public let contextName: String?
  /// The name of the process that wrote.
  public let processID: String?
  /// Whether the change came from the zone's log.
  public let isImported: Bool
  /// Nil when only transactions were asked for.
  public let changes: [PersistentHistoryChange]?

  /// The place just after this transaction.
  public var token: PersistentHistoryToken {
    PersistentHistoryToken(numbers: [storeID: transactionNumber])
  }
}

/// What a transaction did to one object.
public struct PersistentHistoryChange: Sendable {
  public let changeID: Int64
  public let changeType: ChangeType
  public let entityName: String
  public let changedObjectKey: ObjectKey
  /// The names of the changed properties of an update; nil otherwise.
  public let updatedProperties: Set<String>?
  /// The values that a deleted object's entity preserves; nil otherwise.
  public let tombstone: [String: PropertyValue]?
}

/// A question to the history: from where on, and which transactions.
public struct PersistentHistoryChangeRequest: Sendable {
  enum Start: Sendable {
    case number(Int64)
    case token(PersistentHistoryToken?)
    case date(Date)
  }

  let start: Start
  /// Only transactions of this author.
  public var author: String?
  /// Only changes of this entity, and transactions that have some.
  public var entityName: String?
  /// Whether changes are read, and not only transactions.
  public var includesChanges = true
  public var fetchLimit = 0

  /// What came after a token; everything for nil.
  public static func fetchHistory(after token: PersistentHistoryToken?) -> Self {
    Self(start: .token(token))
  }

  public static func fetchHistory(after date: Date) -> Self { Self(start: .date(date)) }

  public static func fetchHistory(after transaction: PersistentHistoryTransaction) -> Self {
    Self(start: .number(transaction.transactionNumber))
  }
}
