/// Which objects of a graph have unsaved changes, and which changed in the event that goes on. Objects in it are held.
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

  // MARK: Unsaved changes

  mutating func list(_ object: ManagedObject) {
    guard !object.state.contains(.listed) else { return }
    object.state.insert(.listed)
    changed.append(object)
  }

  /// Whether no other graph's ledger has the object, which is in no graph.
  func isFree(_ object: ManagedObject) -> Bool {
    (!object.state.contains(.listed) || changed.contains { $0 === object })
      && (!object.state.contains(.inEvent) || inEvent.contains { $0 === object })
  }

  /// Lists none any more.
  ///
  /// - Parameter flags: What the objects lose with it.
  /// - Returns: Those that were listed. Who holds them last decides when they go.
  mutating func unlistAll(clearing flags: ObjectState = []) -> [ManagedObject] {
    let listed = changed
    changed = []
    assert(
      listed.allSatisfy { $0.state.contains(.listed) || $0.graph == nil },
      "what is listed knows it, as long as it is in a graph")
    listed.walk { $0.state.subtract(flags.union(.listed)) }
    return listed
  }

  /// Lists only those that are asked for.
  mutating func unlist(clearing flags: ObjectState = [], where isDone: (ManagedObject) -> Bool) {
    for object in changed where isDone(object) { object.state.subtract(flags.union(.listed)) }
    changed = changed.filter { $0.state.contains(.listed) }
  }

  // MARK: The event

  mutating func noteInEvent(_ object: ManagedObject) {
    guard !object.state.contains(.inEvent) else { return }
    object.state.insert(.inEvent)
    inEvent.append(object)
  }

  /// Begins another event, in which nothing has changed yet.
  ///
  /// - Returns: What changed in the one that ends: each is to leave it.
  mutating func takeEvent() -> [ManagedObject] {
    let objects = inEvent
    inEvent = []
    assert(
      objects.allSatisfy { $0.state.contains(.inEvent) || $0.graph == nil },
      "what is in the event knows it, as long as it is in a graph")
    return objects
  }

  static func leaveEvent(_ object: ManagedObject) {
    object.state.subtract([.inEvent, .insertedInEvent, .deletedInEvent, .refreshedInEvent])
    object.changedInEvent = PropertyMask()
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
    if object.state.insert(.watched).inserted { watched.append(object) }
  }

  mutating func forgetWatched() {
    for object in watched { object.state.remove(.watched) }
    watched = []
  }

  // MARK: Letting go

  /// Forgets objects whose store is gone.
  mutating func forget(where isLost: (ManagedObject) -> Bool) {
    changed = changed.filter { !isLost($0) }
    inEvent = inEvent.filter { !isLost($0) }
  }

  /// Holds nothing any more.
  mutating func letGo() {
    for object in changed { object.state.remove(.listed) }
    for object in inEvent { object.state.remove(.inEvent) }
    changed = []
    inEvent = []
    replayed = [:]
    watched = []
  }
}
