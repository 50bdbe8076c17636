import Driftless
public import Foundation

/// A question to the history, or an order to purge it.
public final class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest {
  private var known: PersistentHistoryChangeRequest
  /// Which of the transactions, or of their changes, are meant: made of
  /// `NSPersistentHistoryTransaction/fetchRequest` or `NSPersistentHistoryChange/fetchRequest`.
  public var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?

  private init(_ known: PersistentHistoryChangeRequest) { self.known = known }

  /// What came after a token; everything for nil.
  public static func fetchHistory(
    after token: NSPersistentHistoryToken?
  ) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.fetchHistory(after: token?.known))
  }

  /// What was committed after a time.
  public static func fetchHistory(after date: Date) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.fetchHistory(after: date))
  }

  /// What came after a transaction; everything for nil.
  public static func fetchHistory(
    after transaction: NSPersistentHistoryTransaction?
  ) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.fetchHistory(after: transaction?.known.token))
  }

  /// What a fetch request finds in all of the history. It is kept: what becomes of its predicate counts at the next run. One for a
  /// class of results is taken as it is now.
  public static func fetchHistory<T>(
    withFetch fetchRequest: NSFetchRequest<T>
  ) -> NSPersistentHistoryChangeRequest {
    let request = NSPersistentHistoryChangeRequest(
      .fetchHistory(after: nil as PersistentHistoryToken?))
    // Kept as it is, so that what it is changed to counts when the request runs again. Swift has no such view of one for a class
    // of results: that is taken as it is now.
    if let same = fetchRequest as? NSFetchRequest<any NSFetchRequestResult> {
      request.fetchRequest = same
      return request
    }
    let copy = NSFetchRequest<any NSFetchRequestResult>()
    copy.take(fetchRequest)
    request.fetchRequest = copy
    return request
  }

  /// Purges what came before the token's transaction; nothing for nil.
  public static func deleteHistory(
    before token: NSPersistentHistoryToken?
  ) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.deleteHistory(before: token?.known))
  }

  /// Purges what was committed before a time.
  public static func deleteHistory(before date: Date) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.deleteHistory(before: date))
  }

  /// Purges what came before a transaction; nothing for nil.
  public static func deleteHistory(
    before transaction: NSPersistentHistoryTransaction?
  ) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(.deleteHistory(before: transaction?.known.token))
  }

  /// What the answer is made of.
  public var resultType: NSPersistentHistoryResultType {
    get { NSPersistentHistoryResultType(rawValue: known.resultType.rawValue) ?? .statusOnly }
    set { known.resultType = .init(rawValue: newValue.rawValue) ?? .statusOnly }
  }

  /// The token that the request was made with.
  public var token: NSPersistentHistoryToken? { known.token.map(NSPersistentHistoryToken.init) }

  public override var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  override func run(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    var request = known
    request.affectedStores = affectedStores
    if let fetch = fetchRequest {
      guard let target = HistoryEntities.target(of: fetch) else {
        throw FetchError(
          .invalidRequest, "\(fetch.entityName ?? "") is no part of the history",
          suggestion: "Take the fetchRequest, or the entityDescription, of "
            + "NSPersistentHistoryTransaction or NSPersistentHistoryChange.")
      }
      var narrowed =
        target == .transaction
        ? PersistentHistoryTransaction.fetchRequest : PersistentHistoryChange.fetchRequest
      narrowed.predicate = try fetch.predicate?.known()
      narrowed.sort = try (fetch.sortDescriptors ?? []).map { try $0.known(in: nil) }
      narrowed.limit = fetch.fetchLimit
      narrowed.offset = fetch.fetchOffset
      request.fetchRequest = narrowed
    }
    return NSPersistentHistoryResult(try context.base.execute(request))
  }
}

/// What the history answered.
public final class NSPersistentHistoryResult: NSPersistentStoreResult {
  private let known: PersistentHistoryResult

  init(_ known: PersistentHistoryResult) { self.known = known }

  /// What the request asked for.
  public var resultType: NSPersistentHistoryResultType {
    NSPersistentHistoryResultType(rawValue: known.resultType.rawValue) ?? .statusOnly
  }

  /// By the type of the request: `NSPersistentHistoryTransaction`s, `NSPersistentHistoryChange`s or object IDs in an
  /// array, oldest first; a number; or whether there is anything.
  public var result: Any? {
    if let transactions = known.transactions {
      return transactions.map(NSPersistentHistoryTransaction.init)
    }
    if let changes = known.changes {
      return changes.filter { $0.changedObjectID != nil }
        .map { NSPersistentHistoryChange($0, in: $0.transaction) }
    }
    return known.objectIDs ?? foundationValue(known.count ?? known.status)
  }
}
