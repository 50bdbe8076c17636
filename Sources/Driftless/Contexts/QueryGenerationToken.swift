/// One state of a coordinator's stores, to read from while others write.
///
/// ```swift
/// try context.setQueryGenerationFrom(.current)
/// let books = try context.fetch(Book.self)  // from now on the context reads this state
/// // … others save; faults and further fetches still show the state of that fetch …
/// try context.setQueryGenerationFrom(.current)
/// try context.refreshAllObjects()
/// ```
///
/// The context goes on to the newest state when it saves, merges what others saved, or is reset.
///
/// The state is kept as long as a token of it is: the store's log cannot be cut meanwhile and grows with every write, so
/// let go of it (`setQueryGenerationFrom(nil)`) when the reading is done. Each has a connection of its own, so a process holds
/// no more of one store than ``StoreOptions/queryGenerationsMax``; the read that would make one more throws. A token is of use in one process, as long as
/// the store is open. Stores in memory have no states: they are always read as they are, and so is a store that was
/// added later.
public final class QueryGenerationToken: Sendable, Hashable {
  /// The state at the next read of the context that it is given to.
  public static let current = QueryGenerationToken([:])

  /// By the store's identifier.
  private let snapshots: [String: StoreSnapshot]

  private init(_ snapshots: [String: StoreSnapshot]) { self.snapshots = snapshots }

  /// The state of these stores now.
  ///
  /// - Parameter isOfRead: Whether it is let go of as soon as a piece of work ends that reads it.
  convenience init(of stores: [PersistentStore], isOfRead: Bool = false) throws {
    var snapshots: [String: StoreSnapshot] = [:]
    for store in stores { snapshots[store.identifier] = try store.snapshot(isOfRead: isOfRead) }
    self.init(snapshots)
  }

  func snapshot(of store: PersistentStore) -> StoreSnapshot? { snapshots[store.identifier] }

  /// Whether it is the state of stores, and of none of these.
  func isOfNone(of stores: [PersistentStore]) -> Bool {
    !snapshots.isEmpty && stores.allSatisfy { snapshots[$0.identifier] == nil }
  }

  public static func == (left: QueryGenerationToken, right: QueryGenerationToken) -> Bool {
    left === right
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ManagedObjectContext {
  /// The state of the stores that the context reads; nil for always the newest. A save of the context moves it to the
  /// state right after the save, a merge to the newest, and a reset to that of the next read.
  public var queryGenerationToken: QueryGenerationToken? { queryGeneration }

  /// Pins the context to a state of the stores: `.current` for the one at its next read, another context's token for the
  /// one that that context reads, nil for always the newest, as at first.
  ///
  /// Objects that have their values keep them until they are refreshed (``refreshAllObjects()``). Merging what others saved, by a call or by
  /// ``automaticallyMergesChangesFromParent``, moves the context to the newest state: with it on, the context keeps one state
  /// from one merge to the next. Batch requests do not move the state.
  /// - Throws: ``ObjectError`` for a child context, which reads what its parent does, and for a token of other stores.
  public func setQueryGenerationFrom(_ token: QueryGenerationToken?) throws(ObjectError) {
    guard parent == nil else {
      throw ObjectError(
        .storeRefused, "A child context has no generation of its own",
        suggestion: "Set it in the parent, and refresh the child's objects.")
    }
    guard token?.isOfNone(of: persistentStoreCoordinator.persistentStores) != true else {
      throw ObjectError(
        .foreignGeneration, "The query generation is one of other stores than the context's",
        suggestion: "Take the token of a context on the same coordinator, or .current.")
    }
    queryGeneration = token
  }

  /// Reads a store: its pinned state, or the newest; a child context reads what its parent does.
  func read<T>(_ plan: ObjectPlan, _ body: (ReadTransaction) throws -> T) throws -> T {
    if let parent { return try ask(parent) { try $0.read(plan, body) } }
    // A save decides by what the store has, which nobody else can change meanwhile.
    guard queryGeneration != nil, !saving.isWriting else { return try plan.store.read(body) }
    if queryGeneration == .current {
      queryGeneration = try QueryGenerationToken(
        of: stores.plans.map(\.store), isOfRead: staysInGeneration)
    }
    guard let snapshot = queryGeneration?.snapshot(of: plan.store) else {
      return try plan.store.read(body)
    }
    return try snapshot.read(body)
  }

  /// Runs `body` on one state of the stores, whatever others save meanwhile: the one that the context is pinned to, or that of now.
  func readingOneState<T>(_ body: () throws -> T) throws -> T {
    guard queryGeneration == nil else { return try body() }
    queryGeneration = try QueryGenerationToken(of: stores.plans.map(\.store), isOfRead: true)
    defer { queryGeneration = nil }
    return try body()
  }

  /// After a save a pinned context reads what it wrote, and after a merge what it took over.
  func moveGeneration() {
    guard queryGeneration != nil, !staysInGeneration else { return }
    // The state of before is let go of first: where as many are held as may be, there is room for one.
    queryGeneration = .current
    if let now = try? QueryGenerationToken(of: stores.plans.map(\.store)) { queryGeneration = now }
  }

  /// After a reset a pinned context reads the state of its next read.
  func pinAnew() {
    if queryGeneration != nil, !staysInGeneration { queryGeneration = .current }
  }

  /// Work that only reads was promised one state.
  private var staysInGeneration: Bool { saving.writeRefusal != nil }
}
