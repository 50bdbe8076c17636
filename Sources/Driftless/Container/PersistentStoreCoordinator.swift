public import Foundation
import Synchronization

/// Brings a store and the contexts that work on it together. It may be used from any thread.
///
/// A coordinator has one store.
public final class PersistentStoreCoordinator: Sendable {
  private struct State {
    var plan: ObjectPlan?
    var inboxes: [WeakInbox] = []
  }

  private struct WeakInbox: Sendable {
    weak var inbox: ContextInbox?
  }

  public let managedObjectModel: ManagedObjectModel
  private let state = Mutex(State())

  /// - Parameter managedObjectModel: it is frozen when a store is added.
  public init(managedObjectModel: ManagedObjectModel) {
    self.managedObjectModel = managedObjectModel
  }

  /// A coordinator on a store that is open, with the store's model.
  public init(store: PersistentStore) {
    managedObjectModel = store.schema.model
    state.withLock { $0.plan = ObjectPlan(store: store) }
  }

  public var persistentStores: [PersistentStore] {
    state.withLock { $0.plan.map { [$0.store] } ?? [] }
  }

  /// Opens a store, in memory when there is no URL, and attaches it.
  /// - Throws: `StoreError` when it cannot be opened, `ModelError` for a wrong model, or
  ///   ``ObjectError`` when there is a store already.
  @discardableResult
  public func addPersistentStore(
    at url: URL?, options: StoreOptions = StoreOptions()
  ) throws -> PersistentStore {
    guard persistentStores.isEmpty else { throw refusal }
    try managedObjectModel.freeze()
    let store = try PersistentStore.open(url: url, model: managedObjectModel, options: options)
    let plan = ObjectPlan(store: store)
    let isFirst = state.withLock { state in
      if state.plan == nil { state.plan = plan }
      return state.plan === plan
    }
    guard isFirst else { throw refusal }
    return store
  }

  /// Detaches the store. Contexts that used it keep it until they go.
  public func remove(_ store: PersistentStore) {
    state.withLock { if $0.plan?.store === store { $0.plan = nil } }
  }

  /// The ID that a URI names; nil when its store is not attached or has no such entity.
  public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
    guard let plan = try? plan(), uri.scheme == "x-coredata",
      uri.host?.uppercased() == plan.store.identifier.uppercased(),
      uri.pathComponents.count == 3, uri.lastPathComponent.first == "p",
      let key = Int64(uri.lastPathComponent.dropFirst()), key > 0,
      let shape = try? plan.shape(named: uri.pathComponents[1])
    else { return nil }
    return plan.objectID(ObjectKey(entity: shape.number, key: key))
  }

  func plan() throws(ObjectError) -> ObjectPlan {
    guard let plan = state.withLock({ $0.plan }) else {
      throw ObjectError(
        .noStore, "The coordinator has no store",
        suggestion: "Call addPersistentStore or loadPersistentStores first.")
    }
    return plan
  }

  private var refusal: ObjectError {
    ObjectError(
      .storeRefused, "The coordinator has a store already",
      suggestion: "Use another coordinator for another store.")
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
    let inboxes = state.withLock { $0.inboxes.compactMap(\.inbox) }
    for inbox in inboxes where inbox.owner != changes.source { inbox.put(changes) }
  }
}

/// Where other contexts' saves wait until the context gets to them, on its own thread.
final class ContextInbox: Sendable {
  private struct Content {
    var isOpen = false
    var changes: [ContextChanges] = []
  }

  let owner: Int64
  private let content = Mutex(Content())

  init(owner: Int64) { self.owner = owner }

  var isOpen: Bool {
    get { content.withLock { $0.isOpen } }
    set {
      content.withLock {
        $0.isOpen = newValue
        if !newValue { $0.changes = [] }
      }
    }
  }

  func put(_ changes: ContextChanges) {
    content.withLock { if $0.isOpen { $0.changes.append(changes) } }
  }

  func takeAll() -> [ContextChanges] {
    content.withLock { content in
      defer { content.changes = [] }
      return content.changes
    }
  }
}
