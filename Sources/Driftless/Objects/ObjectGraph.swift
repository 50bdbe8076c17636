import Foundation

/// What an object's graph asks of who keeps it: to read what lies beneath, in the store or the parent context.
protocol ObjectSource: AnyObject {
  /// Reads the values of a fault for an accessor.
  func fulfil(_ object: ManagedObject)

  /// What the store, or the parent, holds of a to-many relationship; nil when it cannot be read.
  func storedKeys(of object: ManagedObject, _ relation: Relation) -> [ObjectKey]?

  /// What the row of a member, or the parent, says at the end that refers to the owner of a to-many relationship; nil when it
  /// cannot be read.
  func storedEnd(
    of member: ManagedObject, _ slot: Int, of owner: ManagedObject, in relation: Relation
  ) -> ManagedObject.StoredEnd?

  /// The objects that hold this one in the store, or in the parent, by a to-many relationship without inverse; nil in a
  /// replica, where those of an object that is deleted are kept for when it comes back.
  func storedHolders(of object: ManagedObject, in relation: Relation) throws -> [ObjectKey]?

  /// The UUID that replicas know the object by.
  func identity(of object: ManagedObject) throws -> UUID

  /// The object of a temporary key that only the parent knows; nil when there is none.
  func objectOfParent(
    for key: ObjectKey, in plan: Int, adopting type: ManagedObject.Type
  ) -> ManagedObject?

  /// What a fetched property of an object finds.
  func objects(
    of property: FetchedPropertyDescription, for object: ManagedObject
  ) throws(ObjectError) -> [ManagedObject]

  /// The objects that a fetch inside of a predicate finds.
  func objects(foundBy fetch: SubFetch) throws(FetchError) -> [any PropertySource]
}

/// The way from a graph to its source, which it does not hold.
protocol ObjectSourceLink: AnyObject {
  /// Held; nil once its end has begun.
  var source: (any ObjectSource)? { get }
}

/// The objects of one context, and what they share: their keys, their changes, the memory of their values.
///
/// A managed object knows its graph alone. The context keeps the graph, and the graph asks it, as its ``ObjectSource``,
/// for what has to be read.
final class ObjectGraph {
  // As with an object's own fields, each access passes here, and none runs code of others.
  @exclusivity(unchecked) var keys: IdentityMap
  @exclusivity(unchecked) var ledger = ChangeLedger()  // as the keys
  /// Which members of relationships went elsewhere.
  @exclusivity(unchecked) var moves = MemberMoves()  // as the keys
  /// The member that is just taken out of a relationship, or put back by an undo: no relationship leaves it out meanwhile.
  @exclusivity(unchecked) var departing: ManagedObject?
  /// Whether relationships leave members out that the store has there.
  var hidesMembers = false
  /// The way to the context, which keeps the graph.
  var sourceLink: (any ObjectSourceLink)?
  /// The context. It may end elsewhere while an object asks it: whoever asks holds it.
  var source: (any ObjectSource)? { sourceLink?.source }
  /// How many objects were taken out of it: under the key of each there may be another one.
  @exclusivity(unchecked) var departureCount = 0  // as the keys
  /// Registers how to take changes back.
  @exclusivity(unchecked) var undoManager: UndoManager? {
    didSet { mark(.undoable, undoManager != nil) }
  }
  /// Where the objects are used.
  var confinement = Confinement.caller
  /// Objects that are let go of elsewhere.
  let departures: Departures
  /// Whether an object holds the members of its to-many relationships once they were read.
  var holdsMembers = false
  /// Whether objects that a fetch gives are faults towards the application until one of their values is asked for.
  var givesFaults = false
  /// Whether values are read for the context's own work, such as sorting: what sleeps sleeps on.
  private(set) var isPeeking = false
  /// All objects, while the context holds on to them; else nil.
  var retained: Set<ManagedObject>?
  /// What new objects are born with, whatever else they are.
  @exclusivity(unchecked) private(set) var bornState: ObjectState.Flag = []
  /// What objects know of the stores that the context works on, by the stores' index. The stores themselves are the
  /// context's: what is left of a graph whose context is gone keeps none open.
  @exclusivity(unchecked) private var shapesByIndex: [StoreShapes?] = []
  /// Memory of values by shape.
  @exclusivity(unchecked) private var pools: [ValuePool?] = []
  /// Values may have been set beneath, without a change, of objects that have none.
  @exclusivity(unchecked) var hasPrimitives = false
  /// Names of slots for observers, by slot.
  private var observationPaths: [KeyPath<ManagedObject, Int>] = []
  /// Gives errors that objects throw themselves another form.
  var errorForm: ((any Error, ManagedObject) -> any Error)?
  /// Whether an object is saved with a value of a property (by its slot) that its model refuses.
  var admitsUnfit: ((ManagedObject, Int) -> Bool)?
  /// What accessors met and could not throw, the oldest first, until it is cleared.
  private(set) var accessorErrors: [any Error] = []
  /// Whether there are objects that could not be read.
  private var hasUnreadable = false
  /// How often they were cleared.
  private var clearedCount = 0
  /// A loop over many objects that cannot be read says so often enough.
  static let accessorErrorsMax = 100

  /// - Parameters:
  ///   - number: Tells the graph from others of the process.
  ///   - isCallersOwn: Whether the objects stay within the piece of work that makes them.
  init(number: Int64, isCallersOwn: Bool = false) {
    keys = IdentityMap(number: number)
    departures = Departures(isCallersOwn: isCallersOwn)
  }

  /// Lets go of all objects. Those that somebody else holds take their values along.
  func end() {
    // Whoever ends it has it alone.
    confinement = .caller
    ledger.letGo()
    retained = nil
    takeInDepartures()
    // Held until all have left: observers are told, and may let go of some.
    let objects = keys.objects
    for object in objects { object.leaveGraph() }
    departures.end(pools.compactMap { $0 })
  }

  // MARK: Stores

  /// The shapes of a store's objects; nil for one that the context does not work on.
  @inline(__always)
  func shapes(at index: Int) -> StoreShapes? {
    index >= 0 && index < shapesByIndex.count ? shapesByIndex[index] : nil
  }

  /// Has objects of these stores from now on.
  func attach(_ attached: [StoreShapes]) {
    shapesByIndex = []
    for shapes in attached {
      while shapesByIndex.count <= shapes.index { shapesByIndex.append(nil) }
      shapesByIndex[shapes.index] = shapes
      keys.addRegistries(upTo: shapes.hierarchyEnd)
    }
  }

  // MARK: Objects

  func birth(of shape: ObjectShape) -> ObjectBirth {
    confinement.assertHere(shape.entity.name)
    takeInDepartures()
    return ObjectBirth(shape: shape, graph: self, key: keys.nextTemporaryKey, state: .new)
  }

  /// The object of the key if it is here.
  func registered(_ key: ObjectKey, in plan: Int) -> ManagedObject? {
    if key.key < 0 { return keys.object(temporary: key.key) }
    guard let shape = shapes(at: plan)?.shape(numbered: key.entity) else { return nil }
    return keys.registry(of: shape).object(key.key)
  }

  /// The object of the key, made as a fault of at least this class when it is not here.
  func object(
    for key: ObjectKey, in plan: Int, adopting type: ManagedObject.Type
  ) -> ManagedObject? {
    if key.key < 0 {
      return keys.object(temporary: key.key)
        ?? source?.objectOfParent(for: key, in: plan, adopting: type)
    }
    guard let shape = shapes(at: plan)?.shape(numbered: key.entity) else { return nil }
    if let object = keys.registry(of: shape).object(key.key) { return object }
    shape.adopt(type)
    return register(shape, key: key.key, state: .fault, as: shape.classToMake)
  }

  /// Makes the object of a key that no object here has.
  func register(
    _ shape: ObjectShape, key: Int64, state: ObjectState, as type: ManagedObject.Type,
    in registry: ObjectRegistry? = nil
  ) -> ManagedObject {
    confinement.assertHere(shape.entity.name)
    takeInDepartures()
    let object = type.init(ObjectBirth(shape: shape, graph: self, key: key, state: state))
    let former = registry.map { $0.insert(object) } ?? keys.add(object)
    assert(former == nil, "the object of a key is looked for before one is made")
    retained?.insert(object)
    return object
  }

  /// The registered object if it is of the shape that the store, or the parent, says. One that is of another leaves: its row
  /// became that of another entity, or its ID named a wrong one.
  ///
  /// - Throws: ``ObjectError`` when it has unsaved changes.
  func keeping(
    _ known: ManagedObject?, as shape: ObjectShape
  ) throws(ObjectError) -> ManagedObject? {
    guard let known, known.shape !== shape else { return known }
    guard !known.hasChanges else {
      throw known.isAnother(shape.entity)
    }
    keys.remove(known)
    known.turnIntoFault()
    leave(known)
    return nil
  }

  /// Objects leave for good, and stand in the ledger's lists until these are done with.
  func leave(_ object: ManagedObject) {
    let wasListed = object.state.contains(.listed)
    object.detach()
    if wasListed { _ = object.state.enter(.listed) }
    ledger.noteDeparture(of: object)
  }

  /// Registers an object under its new key. Who had that before leaves: its row is gone, and this is the object of the key.
  func add(_ object: ManagedObject) {
    if let former = keys.add(object) { leave(former) }
  }

  func objectID(for key: ObjectKey, in plan: Int) -> ManagedObjectID? {
    registered(key, in: plan)?.objectID ?? shapes(at: plan)?.objectID(key)
  }

  /// Where the values of objects of the shape lie: the graph holds it.
  func pool(of shape: ObjectShape) -> Unretained<ValuePool> {
    let number = shape.ordinal
    if number < pools.count, let pool = pools[number] { return Unretained(pool) }
    while pools.count <= number { pools.append(nil) }
    let pool = ValuePool(size: shape.slotCount, departures)
    pools[number] = pool
    return Unretained(pool)
  }

  /// Gives all objects, and those to come, a flag, or takes it from them.
  func mark(_ flag: ObjectState.Flag, _ isOn: Bool) {
    guard isOn != bornState.contains(flag) else { return }
    bornState.formSymmetricDifference(flag)
    for object in keys.objects { object.state.mark(flag, isOn) }
  }

  func observationPath(_ slot: Int) -> KeyPath<ManagedObject, Int> {
    while observationPaths.count <= slot {
      observationPaths.append(ManagedObject.observationPath(observationPaths.count))
    }
    return observationPaths[slot]
  }

  /// Takes back what objects left that were let go of elsewhere.
  @inline(__always)
  func takeInDepartures() {
    guard departures.arePending else { return }
    for departure in departures.takeAll() {
      keys.remove(departure)
      departure.end()
    }
  }

  // MARK: Reading

  /// Reads values for the context's own work, or, for false, for a method of an object in the midst of it.
  func peeking<Result>(_ isPeeking: Bool = true, _ body: () throws -> Result) rethrows -> Result {
    let before = self.isPeeking
    self.isPeeking = isPeeking
    defer { self.isPeeking = before }
    return try body()
  }

  // MARK: Changes

  /// Notes what an undo or a redo did to an object.
  func noteReplayed(_ object: ManagedObject, _ event: SnapshotEvents) {
    guard let undoManager, undoManager.isUndoing || undoManager.isRedoing else { return }
    ledger.noteReplayed(object, event)
  }

  // MARK: Errors of accessors

  /// Does what an accessor asks for and keeps its error for the next save.
  func deferError(_ body: () throws -> Void) {
    do { try body() } catch {
      if accessorErrors.count < Self.accessorErrorsMax { accessorErrors.append(error) }
    }
  }

  func throwAccessorError() throws {
    if let error = accessorErrors.first { throw error }
  }

  /// What could not be read is tried again at its next access.
  func clearAccessorErrors() {
    accessorErrors = []
    clearedCount += 1
    guard hasUnreadable else { return }
    hasUnreadable = false
    for object in keys.objects { object.state.tryReadingAgain() }
  }

  func noteUnreadable(_ object: ManagedObject) {
    object.state.failToRead()
    hasUnreadable = true
  }

  /// Throws the error that accessors meet in `body`; those that wait for the next save go on waiting.
  func throwingErrors<Result>(of body: () throws -> Result) throws -> Result {
    let (waiting, cleared) = (accessorErrors, clearedCount)
    accessorErrors = []
    // What the body clears does not come back.
    defer { accessorErrors = clearedCount == cleared ? waiting : [] }
    let result = try body()
    try throwAccessorError()
    return result
  }
}
