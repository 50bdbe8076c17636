/// Which objects of a graph have unsaved changes, and which changed in the event that goes on. Objects in it are held, but for those
/// that others deleted: a context that never saves would hold them for ever.
///
/// It keeps the flags by which an object knows that it is listed.
struct ChangeLedger {
  /// In the order of their first change; some may have lost theirs since.
  private(set) var changed: [ManagedObject] = []
  /// Those that changed since the last event ended, in the order of their first change in it.
  private(set) var inEvent: [ManagedObject] = []
  /// What an undo or a redo changed, until the event ends.
  private var replayed: [ManagedObject: SnapshotEvents] = [:]
  /// Objects whose rows no other save may have changed at the next save.
  private(set) var watched: [ManagedObject] = []
  /// Told when an event begins.
  var eventBegan: (() -> Void)?
  /// What changed objects add to relationships whose members know nothing of it.
  var claims = MemberClaims()
  /// Of objects in the event.
  private var valuesBeforeEvent: [SlotOfObject: PropertyValue] = [:]
  /// Objects that left the graph and still stand in one of the first two lists, which hold them.
  private var departed: Set<ObjectIdentifier> = []
  /// What others deleted, and nobody changed here.
  private var lost: [Lost] = []
  /// With so many it is looked which of them are still there.
  private var lostMax = Self.lostLeast
  private static let lostLeast = 16
  #if DEBUG
    /// How many entries were looked at to answer ``isFree(_:)``, for tests.
    private(set) var lookCount = 0
  #endif

  private struct SlotOfObject: Hashable {
    let object: ObjectIdentifier
    let slot: Int
  }

  private static let smallEvent = 16

  private struct Lost {
    weak var object: ManagedObject?

    /// Nil once it is gone, lost no more, or listed.
    var remaining: ManagedObject? {
      object.flatMap { $0.state.contains(.deleted) && !$0.state.contains(.listed) ? $0 : nil }
    }
  }

  // MARK: Unsaved changes

  /// Those that are listed, and those that others deleted and somebody holds.
  var unsaved: [ManagedObject] {
    lost.isEmpty ? changed : changed + lost.compactMap(\.remaining)
  }

  /// An object that others deleted is a deleted one for as long as somebody holds it.
  mutating func noteLost(_ object: ManagedObject) {
    assert(object.state.contains(.deleted), "what is lost is deleted")
    guard !object.state.contains(.listed) else { return }
    if lost.count >= lostMax {
      lost.removeAll { $0.remaining == nil }
      lostMax = max(Self.lostLeast, 2 * lost.count)
    }
    lost.append(Lost(object: object))
  }

  /// Lists those that others deleted: a save is about to go through all.
  mutating func holdLost() {
    guard !lost.isEmpty else { return }
    for object in lost.compactMap(\.remaining) { list(object) }
    lost = []
    lostMax = Self.lostLeast
  }

  mutating func list(_ object: ManagedObject) {
    if object.state.enter(.listed) { changed.append(object) }
  }

  /// Whether no other graph's ledger has the object, which is in no graph.
  mutating func isFree(_ object: ManagedObject) -> Bool {
    #if DEBUG
      lookCount += 1
    #endif
    return object.state.isDisjoint(with: [.listed, .inEvent])
      || departed.contains(ObjectIdentifier(object))
  }

  /// An object left the graph. It stays in its lists until they are done with.
  mutating func noteDeparture(of object: ManagedObject) {
    if !object.state.isDisjoint(with: [.listed, .inEvent]) {
      departed.insert(ObjectIdentifier(object))
    }
  }

  /// An object that had left is in the graph again.
  mutating func noteReturn(of object: ManagedObject) {
    if !departed.isEmpty { departed.remove(ObjectIdentifier(object)) }
  }

  /// An object that left is in one list less.
  private mutating func forgetDeparture(of object: ManagedObject) {
    if object.state.isDisjoint(with: [.listed, .inEvent]) {
      departed.remove(ObjectIdentifier(object))
    }
  }

  /// Lists none any more.
  ///
  /// - Parameter flags: What the objects lose with it.
  /// - Returns: Those that were listed. Who holds them last decides when they go.
  mutating func unlistAll(clearing flags: ObjectState.Flag = []) -> [ManagedObject] {
    holdLost()
    let listed = changed
    changed = []
    claims.removeAll()
    assert(
      listed.allSatisfy { $0.state.contains(.listed) || $0.graph == nil },
      "what is listed knows it, as long as it is in a graph")
    listed.walk { $0.state.leave(.listed, losing: flags) }
    if !departed.isEmpty { for object in listed { forgetDeparture(of: object) } }
    return listed
  }

  /// Lists only those that are asked for.
  mutating func unlist(
    clearing flags: ObjectState.Flag = [], where isDone: (ManagedObject) -> Bool
  ) {
    for object in changed where isDone(object) {
      object.state.leave(.listed, losing: flags)
      forgetDeparture(of: object)
    }
    changed = changed.filter { $0.state.contains(.listed) }
    claims.removeAll { !$0.state.contains(.listed) }
  }

  // MARK: The event

  /// Keeps what an object had at a slot before this event, where that is not what was read or saved last.
  mutating func keep(_ value: PropertyValue, of object: ManagedObject, at slot: Int) {
    valuesBeforeEvent[SlotOfObject(object: ObjectIdentifier(object), slot: slot)] = value
  }

  func valueBeforeEvent(of object: ManagedObject, at slot: Int) -> PropertyValue? {
    valuesBeforeEvent[SlotOfObject(object: ObjectIdentifier(object), slot: slot)]
  }

  mutating func noteInEvent(_ object: ManagedObject) {
    guard object.state.enter(.inEvent) else { return }
    if inEvent.isEmpty { eventBegan?() }
    inEvent.append(object)
  }

  /// Begins another event, in which nothing has changed yet.
  ///
  /// - Returns: What changed in the one that ends: each is to leave it.
  mutating func takeEvent() -> [ManagedObject] {
    let objects = inEvent
    inEvent = []
    // Most events are small, and follow each other.
    if valuesBeforeEvent.count <= Self.smallEvent {
      valuesBeforeEvent.removeAll(keepingCapacity: true)
    } else {
      valuesBeforeEvent = [:]
    }
    assert(
      objects.allSatisfy { $0.state.contains(.inEvent) || $0.graph == nil },
      "what is in the event knows it, as long as it is in a graph")
    return objects
  }

  /// The objects of an event are in it no more.
  mutating func end(_ event: [ManagedObject]) {
    event.walk { object in
      object.state.leaveEvent()
      object.changedInEvent = PropertyMask()
    }
    if !departed.isEmpty { for object in event { forgetDeparture(of: object) } }
  }

  mutating func noteReplayed(_ object: ManagedObject, _ event: SnapshotEvents) {
    replayed[object, default: []].insert(event)
  }

  mutating func takeReplayed() -> [ManagedObject: SnapshotEvents] {
    let objects = replayed
    replayed = [:]
    return objects
  }

  // MARK: Watched objects

  mutating func watch(_ object: ManagedObject) {
    if object.state.enter(.watched) { watched.append(object) }
  }

  mutating func forgetWatched() {
    for object in watched { object.state.leave(.watched) }
    watched = []
  }

  // MARK: Letting go

  /// Forgets objects whose store is gone.
  mutating func forget(where isLost: (ManagedObject) -> Bool) {
    func isKept(_ object: ManagedObject) -> Bool {
      guard isLost(object) else { return true }
      object.state.leave([.listed, .inEvent])
      departed.remove(ObjectIdentifier(object))
      return false
    }
    claims.removeAll(where: isLost)
    changed = changed.filter(isKept)
    inEvent = inEvent.filter(isKept)
    watched = watched.filter { !isLost($0) }
    lost.removeAll { $0.remaining.map(isLost) ?? true }
  }

  /// Holds nothing any more.
  mutating func letGo() {
    for object in changed { object.state.leave(.listed) }
    for object in inEvent { object.state.leave(.inEvent) }
    changed = []
    inEvent = []
    valuesBeforeEvent = [:]
    replayed = [:]
    watched = []
    claims.removeAll()
    departed = []
    lost = []
  }
}
