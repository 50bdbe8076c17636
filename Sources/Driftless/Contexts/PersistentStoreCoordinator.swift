public import Foundation
import Synchronization

/// Brings stores and the contexts that work on them together. It may be used from any thread.
///
/// A coordinator may have several stores: files of different configurations of its model, and stores in memory beside
/// them. An entity may be in more than one of them: fetches ask all, and a new object goes to the first that has its
/// entity, unless ``ManagedObjectContext/assign(_:to:)`` says otherwise.
///
/// ```swift
/// let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
/// try coordinator.addPersistentStore(at: libraryURL, configuration: "Library")
/// try coordinator.addPersistentStore(at: nil, configuration: "Session")
/// let context = ManagedObjectContext(coordinator)
/// ```
public final class PersistentStoreCoordinator: Sendable {
  private struct State {
    /// Of the stores that are attached, in the order of their coming.
    var plans: [ObjectPlan] = []
    var numbering = ObjectPlan.Numbering()
    /// For objects that are made before there is a store.
    var shapesWithoutStore: StoreShapes?
    var inboxes: [WeakInbox] = []
    /// Of stores whose commits are told to contexts, by `ObjectPlan.index`, with what keeps them told.
    var followed: [Int: (store: PersistentStore, following: CommitNotifications.Following)] = [:]
    var name: String?
  }

  private struct WeakInbox: Sendable {
    weak var inbox: ContextInbox?
  }

  /// The model of all its stores.
  public let managedObjectModel: ManagedObjectModel
  private let state = Mutex(State())
  /// What an application takes by itself; nothing here does.
  package let ownLock = NSRecursiveLock()
  /// Where work that is sent to contexts on its stores waits for a thread.
  package let line = WorkLine(limit: StoreOptions().readersMax)
  /// Counts how often stores came or went.
  private let changeCount = Atomic(0)

  /// - Parameter managedObjectModel: it is frozen when a store is added.
  public init(managedObjectModel: ManagedObjectModel) {
    self.managedObjectModel = managedObjectModel
  }

  /// A coordinator on a store that is open, with the store's model.
  public init(store: PersistentStore) {
    managedObjectModel = store.schema.model
    attach(store)
  }

  /// What an application calls the coordinator, in its logs; nil until it is set.
  public var name: String? {
    get { state.withLock { $0.name } }
    set { state.withLock { $0.name = newValue } }
  }

  /// The stores that are attached, in the order of their coming.
  public var persistentStores: [PersistentStore] { plans.map(\.store) }

  /// Opens a store, in memory when there is no URL, and attaches it.
  ///
  /// - Parameters:
  ///   - url: The file; nil for a store in memory.
  ///   - configuration: The configuration of the model whose entities the store has; nil for all entities.
  ///   - options: How the store is opened.
  /// - Throws: `StoreError` when it cannot be opened, `ModelError` for a wrong model, or ``ObjectError`` when the same
  ///   store is attached already, and where typed keys of classes do not fit the model. Nothing is left open then.
  @discardableResult
  public func addPersistentStore(
    at url: URL?, configuration: String? = nil, options: StoreOptions = StoreOptions()
  ) throws -> PersistentStore {
    try managedObjectModel.freeze()
    try managedObjectModel.checkTypedKeys()
    let store = try PersistentStore.open(
      url: url, model: managedObjectModel, configuration: configuration, options: options)
    guard attach(store) else {
      store.close()
      throw ObjectError(
        .storeRefused, "The coordinator has the store \(store.identifier) already",
        suggestion: "Add a store once; a copy of a file needs an identity of its own: rekey it.")
    }
    return store
  }

  /// False when a store of the same identifier is there.
  @discardableResult
  package func attach(_ store: PersistentStore) -> Bool {
    guard persistentStore(withIdentifier: store.identifier) == nil else { return false }
    post(.persistentStoreCoordinatorStoresWillChange, added: [store])
    let isNew = state.withLock { state in
      guard !state.plans.contains(where: { $0.store.identifier == store.identifier }) else {
        return false
      }
      state.plans.append(ObjectPlan(store: store, &state.numbering))
      return true
    }
    guard isNew else { return false }
    store.notifications.addPoster(self)
    updateLine()
    changeCount.add(1, ordering: .releasing)
    followStoresWhereWanted()
    post(.persistentStoreCoordinatorStoresDidChange, added: [store])
    return true
  }

  /// There are threads for the readers of the store that allows the most; each store bounds its own.
  private func updateLine() {
    line.limit = persistentStores.map(\.options.readersMax).max() ?? StoreOptions().readersMax
  }

  /// Detaches the store. Objects that contexts have of it, with their unsaved changes, are forgotten when the context
  /// ends its event: at the next fetch, save or ``ManagedObjectContext/processPendingChanges()``.
  ///
  /// The file is closed when the last context let go of it; `close()` does it at once.
  @_disfavoredOverload
  public func remove(_ store: PersistentStore) {
    guard persistentStores.contains(where: { $0 === store }) else { return }
    post(.persistentStoreCoordinatorWillRemoveStore, removed: [store])
    post(.persistentStoreCoordinatorStoresWillChange, removed: [store])
    let followed = state.withLock { state in
      let index = state.plans.first { $0.store === store }?.index
      state.plans.removeAll { $0.store === store }
      return index.flatMap { state.followed.removeValue(forKey: $0) }
    }
    withExtendedLifetime(followed) {}
    store.notifications.removePoster(self)
    updateLine()
    changeCount.add(1, ordering: .releasing)
    post(.persistentStoreCoordinatorStoresDidChange, removed: [store])
  }

  /// The attached store of this identifier.
  public func persistentStore(withIdentifier identifier: String) -> PersistentStore? {
    plan(identifier: identifier)?.store
  }

  /// The attached store in this file.
  public func persistentStore(for url: URL) -> PersistentStore? {
    persistentStores.first { $0.url?.standardizedFileURL == url.standardizedFileURL }
  }

  /// The ID that a URI names; nil when its store is not attached or has no such entity.
  public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
    guard uri.scheme == "x-coredata", let host = uri.host,
      let plan = plan(identifier: host),
      uri.pathComponents.count == 3, uri.lastPathComponent.first == "p",
      let key = Int64(uri.lastPathComponent.dropFirst()), key > 0,
      let shape = plan.shape(named: uri.pathComponents[1])
    else { return nil }
    return plan.objectID(ObjectKey(entity: shape.number, key: key))
  }

  var plans: [ObjectPlan] { state.withLock { $0.plans } }

  /// What objects are that were made before there was a store, if some were.
  var shapesWithoutStore: StoreShapes? { state.withLock { $0.shapesWithoutStore } }

  /// The entities of the model for objects that are made before there is a store.
  /// - Throws: `ModelError` for a wrong model.
  func makeShapesWithoutStore() throws -> StoreShapes {
    if let shapes = shapesWithoutStore { return shapes }
    try managedObjectModel.freeze()
    try managedObjectModel.checkTypedKeys()
    let schema = StoreSchema(model: managedObjectModel)
    let shapes = state.withLock { state in
      if let shapes = state.shapesWithoutStore { return shapes }
      let shapes = StoreShapes(of: schema, identifier: "", tag: 0, &state.numbering)
      state.shapesWithoutStore = shapes
      return shapes
    }
    changeCount.add(1, ordering: .releasing)
    return shapes
  }

  /// Changes when a store comes or goes.
  var storesVersion: Int { changeCount.load(ordering: .acquiring) }

  func plan(identifier: String) -> ObjectPlan? {
    plans.first { $0.store.identifier.caseInsensitiveCompare(identifier) == .orderedSame }
  }

  // MARK: News between contexts

  func register(_ inbox: ContextInbox) {
    state.withLock { state in
      state.inboxes.removeAll { $0.inbox == nil }
      state.inboxes.append(WeakInbox(inbox: inbox))
    }
  }

  /// Tells the contexts that want it what a save changed.
  func publish(_ changes: ContextChanges) {
    for inbox in inboxes where inbox.owner != changes.source { inbox.put(changes) }
  }

  private var inboxes: [ContextInbox] { state.withLock { $0.inboxes.compactMap(\.inbox) } }

  func followStoresWhereWanted() {
    if inboxes.contains(where: \.isOpen) { followStores() }
  }

  /// Hears from now on what comes into the stores, so that contexts that want it are told.
  func followStores() {
    for plan in plans {
      let store = plan.store
      guard state.withLock({ $0.followed[plan.index]?.store !== store }) else { continue }
      let following = store.follow { [weak self, weak plan, weak store] commits in
        guard let self, let plan, let store else { return }
        hear(commits, plan, store)
      }
      let former = state.withLock {
        $0.followed.updateValue((store, following), forKey: plan.index)
      }
      withExtendedLifetime(former) {}
    }
  }

  /// Tells the contexts that want it what came into a store, but for what one of them saved and publishes itself.
  private func hear(_ commits: StoreCommits, _ plan: ObjectPlan, _ store: PersistentStore) {
    let inboxes = inboxes
    let isPublished = commits.context.map { number in inboxes.contains { $0.owner == number } }
    let through = isPublished == true ? commits.through - 1 : commits.through
    guard commits.after < through else { return }
    let foreign = ForeignCommits(plan: plan, store: store, after: commits.after, through: through)
    for inbox in inboxes { inbox.put(foreign) }
  }
}
