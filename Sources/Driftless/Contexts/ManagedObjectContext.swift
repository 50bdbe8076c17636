import Foundation
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
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The context that this one reads from and saves to; nil for one on the coordinator's stores.
  public let parent: ManagedObjectContext?
  var children: [WeakContext] = []
  /// Recorded with each save, beside the author.
  public var name: String?
  /// Who makes the changes; recorded with each save.
  public var transactionAuthor: String?
  /// What a save does about objects that another one changed.
  public var mergePolicy = MergePolicy.error
  public var userInfo: [String: Any] = [:]
  /// Takes changes back and does them again; nil, as at first, registers none. See ``undo()``.
  @exclusivity(unchecked) public var undoManager: UndoManager? {
    didSet { mark(.undoable, undoManager != nil) }
  }

  /// Whether other contexts' saves are taken over: at the next fetch, save or
  /// ``processPendingChanges()``.
  public var automaticallyMergesChangesFromParent: Bool {
    get { inbox.isOpen }
    set { inbox.isOpen = newValue }
  }

  /// Whether the context holds on to every object that it knows, changed or not, until it is reset.
  public var retainsRegisteredObjects = false {
    didSet { retained = retainsRegisteredObjects ? registeredObjects : [] }
  }

  /// Whether an object whose row is gone reads as empty. Otherwise reading it is an error, which the next save throws
  /// as it throws those of other accessors.
  public var shouldDeleteInaccessibleFaults = true

  /// Tells this context from others of the process.
  let number: Int64
  let inbox: ContextInbox
  /// The coordinator's stores, in their order, and by their index.
  @exclusivity(unchecked) var attachedPlans: [ObjectPlan] = []
  @exclusivity(unchecked) var planByIndex: [ObjectPlan?] = []
  var plansVersion = -1
  @exclusivity(unchecked) var shapesByType: [ObjectIdentifier: ObjectShape] = [:]
  /// Saved objects, weakly, one registry a hierarchy of entities and store.
  @exclusivity(unchecked) var registries: [ObjectRegistry] = []
  /// Memory of values by shape.
  @exclusivity(unchecked) private var pools: [ValuePool?] = []
  /// What was inserted last, by its class.
  @exclusivity(unchecked) var latest: (type: ManagedObject.Type, shape: ObjectShape)?
  /// New objects by the place in their temporary key.
  @exclusivity(unchecked) var temporaries: ContiguousArray<Unmanaged<ManagedObject>?> = []
  /// Objects that the parent context has not saved, by the temporary key that it gave them.
  var adopted: [Int64: Unmanaged<ManagedObject>] = [:]
  /// What to add to a place for the temporary key, which no other context has.
  @exclusivity(unchecked) var temporaryBase: Int64
  /// Permanent keys of objects whose temporary ID was given out.
  var permanentKeys: [Int64: PlacedKey] = [:]
  var givenTemporaryKeys: Set<Int64> = []
  /// Objects with unsaved changes, in the order of their first; some may have lost theirs since.
  @exclusivity(unchecked) var changedObjects: [ManagedObject] = []
  /// Objects that changed since the last event ended, in the order of their first change.
  @exclusivity(unchecked) var eventObjects: [ManagedObject] = []
  /// Keys that objects have now, by those that changes to be undone knew them by.
  var renamedKeys: [PlacedKey: ObjectKey] = [:]
  /// What an undo or a redo changed, until the event ends.
  var replayed: [ManagedObject: SnapshotEvents] = [:]
  /// All objects, while ``retainsRegisteredObjects`` is on.
  var retained: Set<ManagedObject> = []
  /// What the latest fetch that prefetched read along, which nobody else may hold.
  var prefetched: [ManagedObject] = []
  /// Objects whose rows no other save may have changed when this context saves.
  var watchedObjects: [ManagedObject] = []
  /// What new objects are born with, whatever else they are.
  @exclusivity(unchecked) var bornState: ObjectState = []
  /// Names of slots for observers, by slot.
  var observationPaths: [KeyPath<ManagedObject, Int>] = []
  /// The state of the stores that is read; nil for the newest.
  var queryGeneration: QueryGenerationToken?
  /// Whether a save goes on, until it has written.
  var isSaving = false
  /// Whether a save holds the stores' write locks.
  var isWriting = false
  /// Identities given to new objects, by temporary key, and back.
  var identities: [Int64: UUID] = [:]
  var keysByIdentity: [UUID: Int64] = [:]
  /// The first error that an accessor met and could not throw.
  private var deferredError: (any Error)?

  private static let contextCount = Mutex<Int64>(0)

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
    parent.adopt(self)
  }

  private init(_ coordinator: PersistentStoreCoordinator, parent: ManagedObjectContext?) {
    persistentStoreCoordinator = coordinator
    self.parent = parent
    number = Self.contextCount.withLock { count in
      count += 1
      return count
    }
    // 2^40 new objects a context, 2^22 contexts a process.
    temporaryBase = (number & 0x3F_FFFF) << 40
    inbox = ContextInbox(owner: number)
    coordinator.register(inbox)
  }

  deinit {
    // Objects that nobody else holds end with the lists; those that are left take their values along.
    changedObjects = []
    eventObjects = []
    retained = []
    prefetched = []
    watchedObjects = []
    // Held until all have left: observers are told, and may let go of some.
    var objects = registries.flatMap(\.objects)
    objects += temporaries.compactMap { $0?.takeUnretainedValue() }
    objects += adopted.values.map { $0.takeUnretainedValue() }
    for object in objects { object.leaveContext() }
  }

  /// Where the values of objects of the shape lie: the context holds it.
  func pool(of shape: ObjectShape) -> Unmanaged<ValuePool> {
    let number = shape.ordinal
    if number < pools.count, let pool = pools[number] { return .passUnretained(pool) }
    while pools.count <= number { pools.append(nil) }
    let pool = ValuePool(size: shape.slotCount)
    pools[number] = pool
    return .passUnretained(pool)
  }

  /// Gives all objects, and those to come, a flag, or takes it from them.
  func mark(_ flag: ObjectState, _ isOn: Bool) {
    guard isOn != bornState.contains(flag) else { return }
    bornState.formSymmetricDifference(flag)
    for object in registeredObjects {
      if isOn { object.state.insert(flag) } else { object.state.remove(flag) }
    }
  }

  // MARK: Errors of accessors

  /// Does what an accessor asks for and keeps its error for the next save.
  func deferError(_ body: () throws -> Void) {
    do { try body() } catch { if deferredError == nil { deferredError = error } }
  }

  func throwDeferredError() throws {
    guard let error = deferredError else { return }
    deferredError = nil
    throw error
  }

  func forgetDeferredError() { deferredError = nil }

  /// Throws the error that accessors meet in `body`; one that waits for the next save goes on waiting.
  func throwingErrors<Result>(of body: () throws -> Result) throws -> Result {
    let waiting = deferredError
    deferredError = nil
    defer { deferredError = waiting }
    let result = try body()
    if let deferredError { throw deferredError }
    return result
  }

  // MARK: Changes

  public var hasChanges: Bool { changedObjects.contains { $0.hasChanges } }

  public var insertedObjects: Set<ManagedObject> {
    Set(changedObjects.selected { $0.isInserted && !$0.isDeleted })
  }
  public var updatedObjects: Set<ManagedObject> { Set(changedObjects.selected { $0.isUpdated }) }
  public var deletedObjects: Set<ManagedObject> { Set(changedObjects.selected { $0.isDeleted }) }

  /// Holds on to an object that has changes now.
  func list(_ object: ManagedObject) {
    guard !object.state.contains(.listed) else { return }
    object.state.insert(.listed)
    changedObjects.append(object)
  }

}
