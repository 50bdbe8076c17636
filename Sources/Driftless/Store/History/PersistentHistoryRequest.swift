public import Foundation

/// A question to the history, or an order to purge it: from where on, which transactions, and in what form.
///
/// ```swift
/// var request = PersistentHistoryChangeRequest.fetchHistory(after: lastToken)
/// request.fetchRequest = PersistentHistoryTransaction.fetchRequest
/// request.fetchRequest?.predicate = try FetchPredicate(format: "author != 'app' OR author == nil")
/// let transactions = try store.execute(request).transactions ?? []
/// ```
public struct PersistentHistoryChangeRequest: Sendable {
  /// What the answer is made of. The raw values are Core Data's.
  public enum ResultType: Int, Sendable, CaseIterable {
    case statusOnly = 0
    case objectIDs = 1
    case count = 2
    case transactionsOnly = 3
    case changesOnly = 4
    case transactionsAndChanges = 5
  }

  enum Start: Sendable {
    case token(PersistentHistoryToken?)
    case date(Date)
  }

  private(set) var start: Start
  let isDelete: Bool
  /// What the answer is made of.
  public var resultType: ResultType
  /// Which of the transactions, or of their changes, are meant.
  public var fetchRequest: PersistentHistoryFetchRequest?
  /// Only transactions of this author.
  public var author: String?
  /// Only changes of this entity, and transactions that have some.
  public var entityName: String?
  /// At most so many transactions; 0 for all.
  public var fetchLimit = 0
  /// Of the stores of a context's coordinator only these; all when nil.
  public var affectedStores: [PersistentStore]?

  private init(_ start: Start, isDelete: Bool = false) {
    self.start = start
    self.isDelete = isDelete
    resultType = isDelete ? .statusOnly : .transactionsAndChanges
  }

  /// The same question to one of several stores. What a token says of others alone is everything of this one; cuts are made
  /// when all have answered.
  func part(for store: PersistentStore, among stores: [PersistentStore]) -> Self {
    var part = self
    part.fetchLimit = 0
    part.fetchRequest?.limit = 0
    part.fetchRequest?.offset = 0
    if case .token(let token?) = start, !isDelete, token.numbers[store.identifier] == nil,
      stores.contains(where: { token.numbers[$0.identifier] != nil })
    {
      part.start = .token(nil)
    }
    return part
  }

  /// Whether changes are read, and not only transactions.
  public var includesChanges: Bool {
    get { resultType != .transactionsOnly }
    set { resultType = newValue ? .transactionsAndChanges : .transactionsOnly }
  }

  /// The token that the request was made with.
  public var token: PersistentHistoryToken? {
    if case .token(let token) = start { return token }
    return nil
  }

  /// What came after a token; everything for nil.
  public static func fetchHistory(after token: PersistentHistoryToken?) -> Self {
    Self(.token(token))
  }

  /// What was committed after a time.
  public static func fetchHistory(after date: Date) -> Self { Self(.date(date)) }

  /// What came after a transaction.
  public static func fetchHistory(after transaction: PersistentHistoryTransaction) -> Self {
    Self(.token(transaction.token))
  }

  /// What a fetch request finds in all of the history.
  public static func fetchHistory(withFetch request: PersistentHistoryFetchRequest) -> Self {
    var history = Self(.token(nil))
    history.fetchRequest = request
    return history
  }

  /// Purges what came before the token's transaction; nothing for nil. A registered reader's part stays.
  public static func deleteHistory(before token: PersistentHistoryToken?) -> Self {
    Self(.token(token), isDelete: true)
  }

  /// Purges what was committed before a time. A registered reader's part stays.
  public static func deleteHistory(before date: Date) -> Self { Self(.date(date), isDelete: true) }

  /// Purges what came before a transaction. A registered reader's part stays.
  public static func deleteHistory(before transaction: PersistentHistoryTransaction) -> Self {
    Self(.token(transaction.token), isDelete: true)
  }
}

/// Which transactions or changes of the history are meant.
///
/// A predicate of transactions knows `author`, `bundleID`, `contextName`, `processID`, `timestamp`, `token` and
/// `transactionNumber`; one of changes `changeID`, `changeType`, `changedEntity` (a name), `changedObjectID`, and
/// `transaction` with the keys above. As in a store, a comparison with a missing value is not true: transactions without
/// an author are left out by `author != 'app'`.
public struct PersistentHistoryFetchRequest: Sendable {
  /// What is asked for: transactions, or their changes.
  public enum Target: Sendable { case transaction, change }

  /// What is asked for.
  public let target: Target
  /// All when nil.
  public var predicate: FetchPredicate?
  /// Oldest first when empty.
  public var sort: [FetchSort] = []
  /// At most this many; 0 for all.
  public var limit = 0
  /// Leaves out this many from the start.
  public var offset = 0

  init(target: Target) { self.target = target }
}

extension PersistentHistoryTransaction {
  /// A request for all transactions, to be narrowed.
  public static var fetchRequest: PersistentHistoryFetchRequest {
    PersistentHistoryFetchRequest(target: .transaction)
  }
}

extension PersistentHistoryChange {
  /// A request for all changes, to be narrowed.
  public static var fetchRequest: PersistentHistoryFetchRequest {
    PersistentHistoryFetchRequest(target: .change)
  }
}

/// What the history answered: of the properties the one that the request's result type asks for.
public struct PersistentHistoryResult: Sendable {
  /// What the request asked for.
  public let resultType: PersistentHistoryChangeRequest.ResultType
  /// Oldest first.
  public internal(set) var transactions: [PersistentHistoryTransaction]?
  /// Oldest first.
  public internal(set) var changes: [PersistentHistoryChange]?
  /// The changed objects, each once, in the order of their first change.
  public internal(set) var objectIDs: [ManagedObjectID]?
  /// How many transactions there are, or changes where a request for changes was given; of a purge how many went.
  public internal(set) var count: Int?
  /// Whether there is anything; of a purge, that it was done.
  public internal(set) var status: Bool?

  init(_ resultType: PersistentHistoryChangeRequest.ResultType) { self.resultType = resultType }

  /// The answer whatever its type, as Core Data gives it.
  public var result: Any? { transactions ?? changes ?? objectIDs ?? count ?? status }
}
