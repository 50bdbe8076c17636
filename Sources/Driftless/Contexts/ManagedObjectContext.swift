package import Foundation
import Synchronization

/// A scratch pad on the stores of a coordinator, or on another context: objects are made, read, changed and deleted here, and saved together.
///
/// ```swift
/// let context = container.newContext()
/// let book = try context.insert(Book.self)
/// book.title = "Baudolino"
/// try context.save()
/// ```
///
/// A context and its objects stay in one isolation: they are not Sendable. IDs go anywhere. An
/// object stands at most once in a context. The context holds on to objects with unsaved changes;
/// the others live as long as the caller holds them, and the caller holds the context.
public final class ManagedObjectContext {
  /// The coordinator of the stores that it reads and saves.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The context that this one reads from and saves to; nil for one on the coordinator's stores.
  public let parent: ManagedObjectContext?
  /// Contexts on this one that are used where it is; it keeps none.
  private(set) var children = NearChildren()
  let distantChildren = DistantChildren()
  /// What a parent that is used on another queue has to tell; nil for any other context.
  let newKeys: NewKeys?
  /// Where it is used, if that is a queue of its own or the main one. A child of the same isolation has its parent's.
  package private(set) var queue: ContextQueue?
  /// Recorded with each save, beside the author.
  public var name: String?
  /// Who makes the changes; recorded with each save.
  public var transactionAuthor: String?
  /// What a save does about objects that another one changed.
  public var mergePolicy = MergePolicy.error
  /// What an application keeps with the context.
  public var userInfo: [String: Any] = [:]
  /// Takes changes back and does them again; nil, as at first, registers none. See ``undo()``.
  public var undoManager: UndoManager? {
    get { graph.undoManager }
    set { graph.undoManager = newValue }
  }

  /// Whether objects take note of who reads them inside `withObservationTracking`; off at first, for it makes reading a
  /// property some nanoseconds slower and an object that was read larger. A container's `viewContext` has it on.
  public var tracksObservation: Bool {
    get { graph.bornState.contains(.tracked) }
    set { graph.mark(.tracked, newValue) }
  }

  /// Whether the context takes over what other contexts save and what comes into its stores in another way: by sync, an
  /// import, a batch or another process; of a child context also what others save into its parent. A container's `viewContext` does it at once, on the main actor, and a
  /// ``BackgroundContext`` on its queue; any other at the next fetch, save or ``processPendingChanges()``.
  public var automaticallyMergesChangesFromParent: Bool {
    get { inbox.isOpen }
    set {
      inbox.isOpen = newValue
      if newValue { persistentStoreCoordinator.followStores() }
    }
  }

  /// Whether the context holds on to every object that it knows, changed or not, until it is reset.
  public var retainsRegisteredObjects: Bool {
    get { graph.retained != nil }
    set { graph.retained = newValue ? registeredObjects : nil }
  }

  /// Whether an object whose row is gone reads as empty, and is a deleted one of the context from then on. Otherwise reading it is
  /// an error, which the next save throws as it throws those of other accessors.
  public var shouldDeleteInaccessibleFaults = true

  /// What a class does that stands for the context towards others.
  package struct StandIn {
    /// Decides in place of ``ManagedObjectContext/shouldDeleteInaccessibleFaults`` about one object whose row is gone; nil for
    /// none.
    package var handlesInaccessible: ((ManagedObject) -> Bool)?
    /// Takes what the context would post, to post it under its own names; nil to post to the notification centre.
    package var relay: ((Notification) -> Void)?
    /// Whether a save that throws what accessors met lets the next one write: Core Data would have raised an exception where
    /// it was met, and nothing after it.
    package var tellsAccessorErrorsOnce = false
    /// Whether objects may be made before the coordinator has a store: they wait for one.
    package var makesObjectsWithoutStore = false
    /// Whether what others deleted is, after a merge, a deleted object of the context, whatever was changed of it, until the next
    /// save lets go of it, or everybody else did. Otherwise it leaves at once, unless it has unsaved changes.
    package var keepsMergedDeletes = false
  }

  package var standIn = StandIn()

  /// What gives errors that objects throw themselves another form; nil leaves them as they are.
  package var errorForm: ((any Error, ManagedObject) -> any Error)? {
    get { graph.errorForm }
    set { graph.errorForm = newValue }
  }

  /// Whether an object is saved with a value of a property that its model refuses: one that was so in the store that it
  /// comes from. Nil refuses all.
  package var admitsUnfit: ((ManagedObject, _ slot: Int) -> Bool)? {
    get { graph.admitsUnfit }
    set { graph.admitsUnfit = newValue }
  }

  /// Tells this context from others of the process.
  let number: Int64
  let inbox: ContextInbox
  /// The objects, with their keys and changes.
  let graph: ObjectGraph
  /// The stores that it works on, which it keeps open.
  @exclusivity(unchecked) var stores = AttachedStores()
  /// What the latest fetch that prefetched read along, which nobody else may hold.
  var prefetched: [ManagedObject] = []
  /// Whether a fetch found rows of other versions than the objects that it gave.
  @exclusivity(unchecked) var hasMetOtherVersions = false
  /// What is held until the event ends.
  private var heldInEvent: [[ManagedObject]] = []
  /// The state of the stores that is read; nil for the newest.
  var queryGeneration: QueryGenerationToken?
  /// How far its save is, and what was asked for meanwhile.
  var saving = SaveProgress()

  private static let contextCount = Mutex<Int64>(0)

  /// A number that no other context or graph of the process has.
  static func nextNumber() -> Int64 {
    contextCount.withLock { count in
      count += 1
      return count
    }
  }

  /// A context on the coordinator's stores.
  public convenience init(_ coordinator: PersistentStoreCoordinator) {
    self.init(coordinator, parent: nil)
  }

  /// A context on another one, in the same isolation: it sees the parent's unsaved changes, and its save makes changes
  /// of the parent, which only the parent's save brings into the store.
  ///
  /// ```swift
  /// let edit = ManagedObjectContext(parent: context)
  /// let book = try edit.existingObject(with: id)
  /// book.setValue("Draft", forKey: "title")
  /// if isConfirmed { try edit.save() }  // otherwise nothing happened
  /// ```
  public convenience init(parent: ManagedObjectContext) {
    self.init(parent.persistentStoreCoordinator, parent: parent)
    if let queue = parent.queue { use(on: queue, isAsserted: false) }
    graph.confinement = parent.graph.confinement
    parent.children.add(self)
  }

  /// A context that is used on a queue.
  ///
  /// - Parameter isAsserted: Whether a debug build stops where the context or an object is used elsewhere.
  package convenience init(
    _ coordinator: PersistentStoreCoordinator, queue: ContextQueue, isAsserted: Bool = true
  ) {
    self.init(coordinator, parent: nil)
    use(on: queue, isAsserted: isAsserted)
  }

  /// A context that is used on a queue, on one that is used on another. The parent may be at work meanwhile.
  ///
  /// - Parameter isAsserted: Whether a debug build stops where the context or an object is used elsewhere.
  package convenience init(
    parent: ManagedObjectContext, queue: ContextQueue, isAsserted: Bool = true
  ) {
    assert(parent.queue != nil && parent.queue !== queue, "the parent could not be asked")
    self.init(parent.persistentStoreCoordinator, parent: parent, newKeys: NewKeys())
    use(on: queue, isAsserted: isAsserted)
    if let newKeys { parent.distantChildren.add(newKeys) }
  }

  /// A context that nobody has but the piece of work that makes it, nor its objects.
  convenience init(scratchOn coordinator: PersistentStoreCoordinator) {
    self.init(coordinator, parent: nil, isScratch: true)
  }

  private init(
    _ coordinator: PersistentStoreCoordinator, parent: ManagedObjectContext?,
    newKeys: NewKeys? = nil, isScratch: Bool = false
  ) {
    persistentStoreCoordinator = coordinator
    self.parent = parent
    self.newKeys = newKeys
    number = Self.nextNumber()
    graph = ObjectGraph(number: number, isCallersOwn: isScratch)
    inbox = ContextInbox(owner: number, parent: parent?.number)
    coordinator.register(inbox)
    graph.sourceLink = ContextLink(self)
  }

  /// It is used on a queue from now on.
  func use(on queue: ContextQueue, isAsserted: Bool = true) {
    self.queue = queue
    queue.wait(in: persistentStoreCoordinator.line)
    graph.departures.setQueue(queue)
    if isAsserted { graph.confinement = .queue(queue) }
    if queue === ContextQueue.main { endEventsOnMainQueue() }
  }

  /// Nobody else has the context any more, and whoever was last may be anywhere.
  deinit {
    prefetched = []
    heldInEvent = []
    guard queue === ContextQueue.main, !ContextQueue.main.isHeld else { return graph.end() }
    // The main actor may have objects of it, and use one at this moment. It gets to them when it can: the stores are let go
    // of here and now.
    nonisolated(unsafe) let graph = graph
    ContextQueue.main.async { graph.end() }
  }

  /// Holds objects until the event ends, as Core Data does with what it fetched.
  package func hold(untilEventEnds objects: [ManagedObject]) {
    guard !objects.isEmpty else { return }
    heldInEvent.append(objects)
    graph.ledger.eventBegan?()
  }

  /// Those that nobody else holds go.
  func letGoOfEvent() { heldInEvent = [] }

  // MARK: Changes

  /// Whether an object is new, deleted, or was changed since the last save.
  public var hasChanges: Bool { changedObjects.contains { $0.hasChanges && $0.isIn(self) } }

  /// New objects that are not deleted.
  public var insertedObjects: Set<ManagedObject> {
    Set(changedObjects.selected { $0.isInserted && !$0.isDeleted })
  }
  /// Saved objects that were changed since, and are not deleted.
  public var updatedObjects: Set<ManagedObject> { Set(changedObjects.selected { $0.isUpdated }) }
  /// Objects that were deleted since the last save.
  public var deletedObjects: Set<ManagedObject> {
    // A new object that was deleted is in no context any more.
    Set(changedObjects.selected { $0.isDeleted && $0.isIn(self) })
  }

  /// Objects with unsaved changes, in the order of their first; some may have lost theirs since.
  var changedObjects: [ManagedObject] { graph.ledger.unsaved }
}
