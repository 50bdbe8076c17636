public import Driftless
public import Foundation
import Synchronization

/// A scratch pad on the stores of a coordinator, or on another context.
///
/// A context is used on its queue: inside of `perform(_:)` or `performAndWait(_:)`, and one of the main queue on that.
/// A context on another one asks its parent on the parent's queue, and waits. Its objects may be let go of
/// anywhere.
///
/// An event ends with a save, a fetch, `processPendingChanges()`, and the end of a block; one of the main queue that began there
/// by itself, when the main queue is free.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {  // used on its queue
  /// What queue the context was made for.
  public let concurrencyType: NSManagedObjectContextConcurrencyType
  /// What an application keeps with the context.
  public let userInfo = NSMutableDictionary()
  /// What an application takes by itself.
  let ownLock = NSRecursiveLock()
  /// Does the work, on the queue, or the thread that asks for it.
  var base: ManagedObjectContext {
    if ownQueue == nil { ownThread.store(Self.currentThread, ordering: .relaxed) }
    return ownBase
  }
  private var ownBase: ManagedObjectContext
  /// Nil for one of its caller's thread. The thread that used it last is noted: news is taken in there alone.
  private var ownQueue: ContextQueue?  // set while the context is made
  private let ownThread = Atomic<UInt>(0)
  private static var currentThread: UInt { UInt(pthread_self()) }
  private var policy = NSMergePolicy.error
  private var isPlaced = false
  private var parentContext: NSManagedObjectContext?
  /// What is to be told when the parent's queue is given back; nil where it is not lent.
  private var heldNotifications: [Notification]?

  private static let representative = "NSManagedObjectContext"

  /// A context without stores: set `persistentStoreCoordinator` or `parent` before it is used.
  ///
  /// - Parameter type: Where its work runs.
  public init(concurrencyType type: NSManagedObjectContextConcurrencyType) {
    concurrencyType = type
    ownQueue =
      switch type {
      case .mainQueueConcurrencyType: .main
      case .privateQueueConcurrencyType: ContextQueue(label: "coredata.context")
      case .confinementConcurrencyType: nil
      }
    ownBase = ManagedObjectContext.standIn(
      PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel()), ownQueue)
    super.init()
    represent()
  }

  /// A context without stores, by the newer names of the types.
  public convenience init(_ type: ConcurrencyType) { self.init(concurrencyType: type.rawValue) }

  /// A context of the caller's thread, without stores.
  public convenience override init() { self.init(concurrencyType: .confinementConcurrencyType) }

  /// A context that there is already, as a migration's. Not a designated one, as that beneath is none: a class of an application's inherits
  /// the public initialisers only where it sees all that are.
  convenience init(_ base: ManagedObjectContext) {
    self.init(concurrencyType: .confinementConcurrencyType)
    giveUpBase()
    ownBase = base
    isPlaced = true
    represent()
  }

  /// The context that stands for one of the library's: where none does, as in a batch or a migration, one for as long as
  /// somebody holds it. What the library's posts and does about conflicts stays its own then.
  static func standing(for base: ManagedObjectContext?) -> NSManagedObjectContext? {
    guard let base else { return nil }
    let known = base.userInfo[representative] as? WeakReference<NSManagedObjectContext>
    return known?.object ?? NSManagedObjectContext(passing: base)
  }

  /// A context that looks at one of the library's.
  private convenience init(passing base: ManagedObjectContext) {
    self.init(concurrencyType: .confinementConcurrencyType)
    giveUpBase()
    ownQueue = base.queue
    ownBase = base
    isPlaced = true
    base.userInfo[Self.representative] = WeakReference(self)
  }

  /// Nothing comes from what it was made with any more.
  private func giveUpBase() {
    ownBase.standIn.relay = nil
    ownBase.errorForm = nil
  }

  private func represent() {
    base.userInfo[Self.representative] = WeakReference(self)
    base.standIn.relay = { [weak self] notification in
      guard let self else { return }
      if heldNotifications != nil {
        heldNotifications?.append(notification)
      } else {
        post(notification)
      }
    }
    base.mergePolicy = PolicyBridge(policy, self)
    base.standIn.handlesInaccessible = { [weak self] object in
      self?.shouldHandleInaccessibleFault(
        object, for: object.objectID, triggeredByProperty: nil) ?? true
    }
    base.standIn.tellsAccessorErrorsOnce = true
    base.standIn.makesObjectsWithoutStore = true
    base.standIn.keepsMergedDeletes = true
    base.errorForm = { cocoaError($0, of: $1) }
    // News that a child takes over it reads from its parent, whose work may be waiting for the child: it does so by itself
    // where code uses it between its pieces of work, which is on the main queue.
    guard parentContext == nil || concurrencyType == .mainQueueConcurrencyType else { return }
    // Of a context of its caller's thread on that thread alone, whoever saves.
    let hasQueue = ownBase.queue != nil
    ownBase.setBell { [weak self] in
      hasQueue || self?.ownThread.load(ordering: .relaxed) == Self.currentThread
    } _: { [weak self] in
      self?.takeNewsInTurn()
    }
  }

  /// Takes over, in a turn of the queue, what came in; of a child as soon as its parent is not at work.
  private func takeNewsInTurn() {
    send { [weak self] in
      guard let self else { return }
      guard let above = parentContext?.queue, above !== ownQueue else {
        return base.processPendingChanges()
      }
      // Observers may wait for others that wait for the parent: they are told when that is given back.
      heldNotifications = []
      let isDone = above.syncUnlessTaken { self.base.processPendingChanges() }
      let notifications = heldNotifications ?? []
      heldNotifications = nil
      for notification in notifications { post(notification) }
      if !isDone { above.async { [weak self] in self?.takeNewsInTurn() } }
    }
  }

  // MARK: Where it is

  /// Where its work runs: of a context without a queue of its own its parent's, and nil, the caller's thread, beneath a
  /// parent of that.
  var queue: ContextQueue? { ownBase.queue }

  /// The coordinator of its stores, or of its parent's; nil before one was set. The first one has the context's new objects;
  /// another one makes the context forget its objects.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { isPlaced ? base.persistentStoreCoordinator : nil }
    set {
      guard newValue !== persistentStoreCoordinator || parentContext != nil else { return }
      parentContext = nil
      replaceBase(
        with: ManagedObjectContext.standIn(
          newValue ?? PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel()),
          ownQueue), isPlaced: newValue != nil)
    }
  }

  /// The context that this one reads from and saves to; nil for one on a coordinator's stores. A context
  /// that was nowhere keeps its new objects; another parent makes the context forget its objects.
  open var parent: NSManagedObjectContext? {
    get { parentContext }
    set {
      // The one that it has changes nothing.
      if newValue === parentContext { return }
      guard let newValue else {
        if parentContext != nil { persistentStoreCoordinator = nil }
        return
      }
      parentContext = newValue
      replaceBase(
        with: ManagedObjectContext.standIn(parent: newValue.base, ownQueue), isPlaced: true)
    }
  }

  /// Objects may be made of a model's entities, as long as no coordinator was set: of one whose stores come later.
  func prepare(for entity: NSEntityDescription) {
    guard !isPlaced, let model = entity.knownModel,
      model !== base.persistentStoreCoordinator.managedObjectModel,
      base.persistentStoreCoordinator.managedObjectModel.entities.isEmpty
    else { return }
    replaceBase(
      with: ManagedObjectContext.standIn(
        PersistentStoreCoordinator(managedObjectModel: model), ownQueue),
      isPlaced: false)
  }

  private func replaceBase(with new: ManagedObjectContext, isPlaced willBePlaced: Bool) {
    let old = base
    new.name = base.name
    new.transactionAuthor = base.transactionAuthor
    new.undoManager = base.undoManager
    new.automaticallyMergesChangesFromParent = base.automaticallyMergesChangesFromParent
    new.retainsRegisteredObjects = base.retainsRegisteredObjects
    new.shouldDeleteInaccessibleFaults = base.shouldDeleteInaccessibleFaults
    giveUpBase()
    ownBase = new
    represent()
    if !isPlaced { new.takeNewObjects(of: old) }
    isPlaced = willBePlaced
  }

  // MARK: Settings

  /// Recorded with each save, beside the author.
  open var name: String? {
    get { base.name }
    set { base.name = newValue }
  }

  /// Who makes the changes; recorded with each save.
  open var transactionAuthor: String? {
    get { base.transactionAuthor }
    set { base.transactionAuthor = newValue }
  }

  /// An `NSMergePolicy`: what a save does about objects that another one changed. Anything else is refused with a
  /// precondition failure.
  open var mergePolicy: Any {
    get { policy }
    set {
      guard let newValue = newValue as? NSMergePolicy else {
        preconditionFailure("mergePolicy takes an NSMergePolicy, not \(type(of: newValue))")
      }
      policy = newValue
      base.mergePolicy = PolicyBridge(newValue, self)
    }
  }

  /// Takes changes back and does them again; nil, as at first, registers none.
  open var undoManager: UndoManager? {
    get { base.undoManager }
    set { base.undoManager = newValue }
  }

  /// Whether the context takes over, on its queue, what other contexts save and what comes into its stores in another way.
  open var automaticallyMergesChangesFromParent: Bool {
    get { base.automaticallyMergesChangesFromParent }
    set { base.automaticallyMergesChangesFromParent = newValue }
  }

  /// Whether the context holds on to every object that it knows, changed or not, until it is reset.
  open var retainsRegisteredObjects: Bool {
    get { base.retainsRegisteredObjects }
    set { base.retainsRegisteredObjects = newValue }
  }

  /// Whether an object whose row is gone reads as empty, and is a deleted one from then on. Otherwise reading it is an error, which
  /// the next save throws.
  open var shouldDeleteInaccessibleFaults: Bool {
    get { base.shouldDeleteInaccessibleFaults }
    set { base.shouldDeleteInaccessibleFaults = newValue }
  }

  /// Whether an object whose row is gone, which is about to be read, reads as empty and is deleted: asked in place of
  /// `shouldDeleteInaccessibleFaults`, which it gives unless overridden.
  ///
  /// - Parameters:
  ///   - fault: The object.
  ///   - oid: Its ID.
  ///   - property: Nil: which property was asked for is not known.
  open func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID,
    triggeredByProperty property: NSPropertyDescription?
  ) -> Bool {
    shouldDeleteInaccessibleFaults
  }

  /// How old, in seconds, values may be that are not read anew; -1, as at first, for any age. Without effect: there is no cache
  /// of rows between a context and the store, and a refresh always reads that.
  open var stalenessInterval: TimeInterval = -1

  /// Whether deletes follow the rules of relationships as the event ends, and not as late as the save. Without effect: they do
  /// at once.
  open var propagatesDeletesAtEndOfEvent = true

  // MARK: State

  /// Whether an object is new, deleted, or was changed since the last save.
  open var hasChanges: Bool { base.hasChanges }
  /// New objects that are not deleted.
  open var insertedObjects: Set<NSManagedObject> { base.insertedObjects }
  /// Saved objects that were changed since, and are not deleted.
  open var updatedObjects: Set<NSManagedObject> { base.updatedObjects }
  /// Objects that were deleted since the last save.
  open var deletedObjects: Set<NSManagedObject> { base.deletedObjects }
  /// All objects that the context knows and someone holds.
  open var registeredObjects: Set<NSManagedObject> { base.registeredObjects }

  /// The state of the stores that is read; nil for the newest.
  open var queryGenerationToken: NSQueryGenerationToken? { base.queryGenerationToken }

  /// Goes on reading one state of the stores, or the newest for nil.
  /// - Throws: 134060 for a token of other stores.
  open func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws {
    try asCocoaErrors { try base.setQueryGenerationFrom(generation) }
  }

  // MARK: Saving

  /// Saves to the stores, or makes the changes ones of the parent.
  ///
  /// Subclasses may override it.
  /// - Throws: Errors of Core Data's domain and codes: validation, conflicts, what kept a store from being written; first of
  ///   all what accessors of objects could not do since the last save. That is thrown once: the next save writes what the
  ///   context has, without what could not be done.
  open func save() throws {
    try asCocoaErrors { try base.save() }
  }

  /// Gives up all unsaved changes: new objects go, deleted ones are back.
  open func rollback() { base.rollback() }

  /// Forgets all objects and changes.
  open func reset() { base.reset() }

  /// Takes back the changes of the last event.
  open func undo() { base.undo() }

  /// Does again what was taken back.
  open func redo() { base.redo() }

  /// Ends the event: takes over what came from elsewhere, closes the undo group, and tells observers.
  open func processPendingChanges() { base.processPendingChanges() }

  // MARK: Objects and requests, to override

  /// The object of the ID, as a fault when the context does not have it; the store may not have its row, and of a temporary
  /// ID that no object here has there is none: the fault reads as empty, or is an error, as `shouldDeleteInaccessibleFaults`
  /// says. An ID of a store, or an entity, that the coordinator does not have is a precondition failure.
  open func object(with objectID: NSManagedObjectID) -> NSManagedObject {
    guard let object = base.fault(of: objectID) else {
      preconditionFailure("\(objectID) is of no store of the context")
    }
    return object
  }

  /// Takes an object that is in no context in as a new one, with what it was given, and those that it refers to; does nothing
  /// for one of this context. One of another context makes the next save fail.
  open func insert(_ object: NSManagedObject) { failSave { try base.insert(object) } }

  /// Deletes the object with the next save, and follows the delete rules of its relationships at once.
  open func delete(_ object: NSManagedObject) { base.delete(object) }

  /// Takes what the store has now: under the object's unsaved changes, or in place of them. A new object, of which the store
  /// has nothing, is given up with its changes. What cannot be read makes the next save fail.
  open func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) {
    if !flag, object.isInserted, object.managedObjectContext === self {
      return base.giveUp(object)
    }
    failSave { try base.refresh(object, mergeChanges: flag) }
  }

  /// What the request asks for, as whatever it is.
  /// - Throws: as the one that knows its type.
  open func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] {
    try asCocoaErrors {
      try found(by: request).map {
        ($0 as? [String: Any]).map(NSDictionary.init(dictionary:)) ?? $0
      }
    }
  }

  /// Carries a request out.
  ///
  /// - Returns: An `NSBatchInsertResult` and so on, by the request.
  /// - Throws: as the request says; 134060 and others in Core Data's domain.
  @discardableResult
  open func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    try asCocoaErrors {
      if let name = request.batchEntityName { try refuseBatch(of: name, request.affectedStores) }
      return try request.run(in: self)
    }
  }

  /// Runs the block on the context's queue after what was sent before, and ends the event. It does not wait.
  @preconcurrency
  open func perform(_ block: @escaping @Sendable () -> Void) {
    send { self.run(block) }
  }

  /// Runs the body, and gives its errors Core Data's form, with objects of this context.
  func asCocoaErrors<T>(_ body: () throws -> T) throws -> T {
    do { return try body() } catch { throw cocoaError(error, in: self) }
  }
}
