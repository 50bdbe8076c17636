import Foundation

/// One object of the graph, in one context: its values by property, what changed since the last
/// save, and its relationships.
///
/// Subclass it once an entity, with a typed key and an accessor a property:
///
/// ```swift
/// final class Book: ManagedObject {
///   static let title = Attribute<Book, String>("title")
///   static let author = ToOne<Book, Author>("author")
///   var title: String { get { self[Book.title] } set { self[Book.title] = newValue } }
///   var author: Author? { get { self[Book.author] } set { self[Book.author] = newValue } }
/// }
/// ```
///
/// An object belongs to its context and is used where the context is; it may be let go of anywhere. A *fault* has no values yet;
/// they are read at first access. Errors that an accessor meets (the store cannot be read, a value
/// does not fit) keep the context from being saved, until somebody looks: see
/// ``ManagedObjectContext/accessorErrors``, and ``accessing(_:)`` for an access that throws.
open class ManagedObject {
  // Every access to an object passes through the fields below, and none of their accesses runs code of others: the
  // runtime's check for overlapping accesses is a tenth of a save. The first ones are all that most walks over many
  // objects look at, and lie close together.

  /// Another one only when a new object is assigned to another store.
  @exclusivity(unchecked) package internal(set) final var shape: ObjectShape
  /// Unretained, so that a look at it counts no reference. The object leaves the graph before that goes.
  @exclusivity(unchecked) private final var graphReference: Unretained<ObjectGraph>?
  @exclusivity(unchecked) var key: Int64  // as all of these fields
  @exclusivity(unchecked) var state: ObjectState  // as all of these fields
  /// One value a slot, to-many slots unused.
  private(set) var values: ValueRoom
  /// The values as last read or saved, once one of them is changed; nil for a new object.
  @exclusivity(unchecked) var committed: ValueRoom?
  /// Where the values lie while there is a graph, which owns it.
  private var poolReference: Unretained<ValuePool>
  /// `Z_OPT` of the row that the values came from; 0 for a new object.
  @exclusivity(unchecked) var version: Int64
  /// Slots written since the last save or read.
  @exclusivity(unchecked) var changed = PropertyMask()
  /// Slots written since the last event ended.
  @exclusivity(unchecked) var changedInEvent = PropertyMask()
  /// By slot, empty before a to-many relationship is used.
  @exclusivity(unchecked) var collections: [ToManyState?] = []
  private var currentID: ManagedObjectID?
  /// Who tracks its properties, once one of them was read while the context tracks observation.
  @exclusivity(unchecked) var observers: ObjectObservers?
  /// What it keeps while it is in no context; nil where that is nothing.
  @exclusivity(unchecked) var looseParts: LooseParts?

  /// Contexts make objects; see ``ManagedObjectContext/insert(_:identity:)``. A subclass inherits it.
  public required init(_ birth: borrowing ObjectBirth) {
    shape = birth.shape
    graphReference = Unretained(birth.graph)
    key = birth.key
    version = 0
    state = birth.state
    state.take(birth.graph.bornState)
    poolReference = birth.graph.pool(of: shape)
    values = poolReference.with { $0.take() }
    if birth.state.contains(.inserted), !shape.defaults.isEmpty {
      values.fill(from: shape.defaults)
    } else {
      values.fillWithNull(shape.slotCount)
    }
  }

  /// Runs where the last reference goes, which may be elsewhere than the context is used.
  deinit {
    values.empty(shape.slotCount)
    guard let graphReference else { return values.deallocate() }
    committed?.empty(shape.slotCount)
    if poolReference.with({ $0.departures.areElsewhere }) {
      return departElsewhere()
    }
    graphReference.with { $0.keys.remove(self) }
    poolReference.with { pool in
      if let committed { pool.give(committed) }
      pool.give(values)
    }
  }

  /// Touches nothing of the graph, which may be at work, or end meanwhile: the memory of the values is there until it is given
  /// back.
  private final func departElsewhere() {
    let pool = pool
    withExtendedLifetime(pool) { pool.departures.note(self, values, committed, of: pool) }
  }

  /// Belongs to a graph, or to one again, as a new object.
  ///
  /// - Parameter newShape: What it is there, with the same slots; nil for what it was.
  final func join(_ graph: ObjectGraph, key: Int64, as newShape: ObjectShape? = nil) {
    if let newShape {
      precondition(newShape.slotCount == shape.slotCount, "values of another shape")
      shape = newShape
    }
    poolReference = graph.pool(of: shape)
    let room = pool.take()
    room.take(from: values, shape.slotCount)
    values.deallocate()
    values = room
    graphReference = Unretained(graph)
    graph.ledger.noteReturn(of: self)
    self.key = key
    version = 0
    state.forgetContext()
    state.becomeNew(graph.bornState)
    startCollections()
  }

  /// A fault without a row is a new object from now on, under the key that it has.
  final func becomeNew() {
    dropCommitted()
    markUnchanged()
    for (slot, value) in shape.defaults.enumerated() { values[slot] = value }
    startCollections()
    version = 0
    state.becomeNew()
  }

  /// What its to-many relationships hold was added, for it was never saved.
  private final func startCollections() {
    for slot in shape.toManySlots {
      guard let members = collection(ifUsed: slot)?.content else { continue }
      collections[slot] = ToManyState(stored: [])
      for member in members { collections[slot]?.add(member) }
    }
  }

  /// Belongs to no graph any more: its values move out of the graph's memory.
  final func leaveGraph() {
    guard let graph else { return }
    graph.departureCount += 1
    graph.retained?.remove(self)
    // What it was known by outlives its place in the graph.
    if key > 0 { _ = objectID }
    dropCommitted()
    state.wake()
    let own = ValueRoom.allocate(shape.slotCount)
    own.take(from: values, shape.slotCount)
    pool.give(values)
    values = own
    graphReference = nil
    for state in collections { state?.letGo() }
    tellObserversOfAll()
    observers = nil
  }

  /// Makes objects of the class that the entity names instances of it. Call once, at start.
  public static func register(_ types: ManagedObject.Type...) {
    for type in types { ObjectClasses.register(type) }
  }

  /// The typed keys of the class, with those of its superclasses. They are compared with the model when a store is added: one
  /// that does not fit is an error then, and not only where it is used. `syncctl model generate` writes the list.
  ///
  /// ```swift
  /// override class var typedKeys: [any TypedKey] { super.typedKeys + [Book.title, Book.author] }
  /// ```
  open class var typedKeys: [any TypedKey] { [] }

  /// What it shares with the other objects of its context; nil once it is gone from there.
  final var graph: ObjectGraph? { graphReference?.object }

  /// Whether it is in no context.
  @inline(__always)
  final var isLoose: Bool { graphReference == nil }

  @inline(__always)
  final func isIn(_ graph: ObjectGraph) -> Bool {
    graphReference?.isOf(graph) ?? false
  }

  /// Only to be used while there is a graph.
  final var pool: ValuePool { poolReference.object }

  // MARK: What it is

  /// The entity of the object.
  public final var entity: EntityDescription { shape.entity }

  /// Temporary before the first save; another one after it.
  public final var objectID: ManagedObjectID {
    if let currentID, currentID.key.key == key { return currentID }
    let trace = key < 0 ? TemporaryKeyTrace() : nil
    let id = ManagedObjectID(
      entity: entity, storeIdentifier: graph?.shapes(at: shape.planIndex)?.storeIdentifier ?? "",
      key: objectKey, trace: trace)
    currentID = id
    if let trace { graph?.keys.noteGivenOut(key, trace) }
    return id
  }

  package final var objectKey: ObjectKey { ObjectKey(entity: shape.number, key: key) }

  // MARK: State

  /// Whether it is new and unsaved.
  public final var isInserted: Bool { state.contains(.inserted) }
  /// Whether it was saved before and has unsaved changes.
  public final var isUpdated: Bool {
    state.contains(.dirty) && state.isDisjoint(with: [.inserted, .deleted])
  }
  /// Whether the next save deletes it; not any more after its ``didSave()``. Of one that was never saved, and of one that others deleted
  /// and a merge took away, it says that it is gone; of the former until the save.
  public final var isDeleted: Bool { state.contains(.deleted) }
  /// Whether its values are still to be read, or were read by a fetch and not asked for since.
  public final var isFault: Bool {
    if state.contains(.fault) { return true }
    return state.contains(.asleep) && !hasChanges
  }
  /// Whether its values are still to be read.
  final var lacksValues: Bool { state.contains(.fault) }
  /// Whether its values are to be read, or it is to be told that somebody asks for them.
  final var needsWaking: Bool { !state.isDisjoint(with: [.fault, .asleep]) }
  /// Whether it is new, deleted, or was changed since the last save.
  public final var hasChanges: Bool {
    !state.isDisjoint(with: [.dirty, .inserted, .deleted])
  }

  // MARK: Life cycle, to override

  /// Whether setting a property that the model does not have leaves the object unchanged: it does, since such a property is
  /// the class's own and the context does not hear of it.
  open class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }

  /// Once, after the object was made and its defaults are in place. Changes count.
  open func awakeFromInsert() {}
  /// After its values were read. An attribute or a reference that it sets is no change, no other end follows, and to-many
  /// relationships stay as they are.
  open func awakeFromFetch() {}
  /// Before a save writes it. Changes count, and bring another call for what they touch.
  open func willSave() {}
  /// After it was saved, or its delete was: ``isDeleted`` says which.
  open func didSave() {}
  /// When it is about to be deleted, before others are told.
  open func prepareForDeletion() {}
  /// After an undo, a redo or a rollback changed it. What it sets does not count as a change, and no other end follows.
  open func awake(fromSnapshotEvents flags: SnapshotEvents) {}
  /// Before its values are dropped.
  open func willTurnIntoFault() {}
  /// After its values were dropped.
  open func didTurnIntoFault() {}

  // MARK: Keys without a property, to override

  /// What key-value coding of the module `CoreData` gives for a key that is no property of the model or the class: an error of
  /// the next save, and nil, unless overridden.
  open func value(forUndefinedKey key: String) -> Any? {
    deferError { throw unknownProperty(key) }
    return nil
  }
  /// What key-value coding of the module `CoreData` does with a value for a key that is no property of the model or the class: it
  /// is an error of the next save, unless overridden.
  open func setValue(_ value: Any?, forUndefinedKey key: String) {
    deferError { throw unknownProperty(key) }
  }
  /// What key-value coding of the module `CoreData` does with nil for a property of the class that is a number: it is an error of
  /// the next save, unless overridden.
  open func setNilValueForKey(_ key: String) {
    deferError {
      throw ObjectError(
        .typeMismatch, "\(key) of \(entity.name) is a number and cannot be nil",
        suggestion: "Set a number, or override setNilValueForKey(_:).")
    }
  }

  /// Throws what keeps the new object from being saved. Call super first.
  ///
  /// - Throws: ``ValidationFailure`` with all that the model's rules forbid, one error alone as ``ValidationError``, and what an
  ///   override throws.
  open func validateForInsert() throws { try formed(validateProperties) }
  /// Throws what keeps the changed object from being saved. Call super first.
  ///
  /// - Throws: as ``validateForInsert()``.
  open func validateForUpdate() throws { try formed(validateProperties) }
  /// Throws what keeps the object from being deleted. Call super first.
  ///
  /// - Throws: as ``validateForInsert()``: objects that a relationship with the rule `deny` leads to.
  open func validateForDelete() throws { try formed(validateDeletion) }

  /// Entity and key, and the values that are there; of a to-one relationship entity and key of the other end. Never reads
  /// from the store.
  open var description: String {
    let name = "\(entity.name) \(objectKey.shortText)"
    guard !isFault else { return "<\(name): fault>" }
    let texts = shape.layout.slots.compactMap { slot -> String? in
      guard shape.kinds[slot.index] != .toMany else { return nil }
      return text(of: values[slot.index], at: slot.index).map { "\(slot.name): \($0)" }
    }
    return "<\(name): \(texts.joined(separator: ", "))>"
  }

  /// As ``description``, unless overridden.
  open var debugDescription: String { description }

  private final func text(of value: PropertyValue, at slot: Int) -> String? {
    if case .reference(let key) = value {
      let other = graph?.registered(key, in: shape.planIndex)
      let shape = other?.shape ?? graph?.shapes(at: shape.planIndex)?.shape(numbered: key.entity)
      let entity = shape?.entity ?? self.shape.relations[slot]?.destination
      return "\(entity?.name ?? "")/\(key.shortText)"
    }
    if let end = looseEnds(slot).first { return "\(end.entity.name)/\(end.objectKey.shortText)" }
    if case .date(let date) = value { return date.words }
    return value.plain.map { "\($0)" }
  }
}

/// What a context hands to the initialiser of an object.
public struct ObjectBirth {
  let shape: ObjectShape
  let graph: ObjectGraph
  let key: Int64
  let state: ObjectState
}

extension ManagedObject: Hashable {
  public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }
  public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ManagedObject: ObjectKeyProviding {
  package final var providedObjectKey: ObjectKey {
    var key = objectKey
    if key.key < 0 { graph?.keys.noteGivenOut(key.key) }
    key.store = graph?.shapes(at: shape.planIndex)?.storeTag ?? 0
    return key
  }
}

extension ManagedObject: CustomStringConvertible, CustomDebugStringConvertible {}

extension ObjectKey {
  /// `p3` for what a store has, `t3` for what none has yet.
  fileprivate var shortText: String { "\(key < 0 ? "t" : "p")\(key.magnitude)" }
}
