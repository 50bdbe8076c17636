import Foundation

/// Slots: how values are read, written and kept apart from what was committed.
extension ManagedObject {
  /// The value of an attribute or to-one slot; reads the row first when the object is a fault.
  final func read(_ slot: Int) -> PropertyValue {
    if !state.isDisjoint(with: [.fault, .asleep, .tracked]) { prepareToRead(slot) }
    return values[slot]
  }

  private final func prepareToRead(_ slot: Int) {
    if !state.isDisjoint(with: [.fault, .asleep]) { fire() }
    if state.contains(.tracked) { noteAccess(slot) }
  }

  /// Sets an attribute or to-one slot and notes the change, unless the value is the same.
  final func write(_ value: PropertyValue, at slot: Int) {
    if !state.isDisjoint(with: [.fault, .asleep]) {
      fire()
      // What was computed without having read it is no value of it.
      if state.contains(.unreadable) { return }
    }
    if values[slot] == value { return }
    if !state.contains(.awakening) { willWrite(slot) }
    values[slot] = value
  }

  /// Sets an attribute for an application. The value that is there already is no change of the attribute, but the object counts
  /// as changed, as in Core Data: its `willSave` is called, and a save writes nothing of it.
  final func set(_ value: PropertyValue, at slot: Int) {
    write(value, at: slot)
    if state.isDisjoint(with: [.dirty, .awakening, .unreadable, .deleted]) { touch() }
    noteGiven(slot)
  }

  /// What a new object was given counts as given where it is the value that was there already: under a uniqueness constraint
  /// the row that there is gets what is given.
  final func noteGiven(_ slot: Int) {
    if state.contains(.inserted), !state.contains(.awakening) { changed.insert(slot) }
  }

  /// Whether it counts as changed, and no property was.
  final var isOnlyTouched: Bool { isUpdated && changed.isEmpty }

  /// Counts as changed, though no property of it is.
  private final func touch() {
    guard let graph else { return }
    state.change()
    graph.ledger.list(self)
    graph.ledger.noteInEvent(self)
  }

  /// Gives the object that a slot refers to its newest key; none when it is no more.
  final func setReference(_ key: ObjectKey, at slot: Int) {
    values[slot] = key.key == 0 ? .null : .reference(key)
  }

  /// What it sets in `body` is no change. It may awaken in another such piece of work.
  final func whileAwakening(_ body: () -> Void) {
    let isNested = state.contains(.awakening)
    state.beginAwakening()
    if let graph, graph.isPeeking { graph.peeking(false, body) } else { body() }
    if !isNested { state.endAwakening() }
  }

  /// Notes a change of an attribute or to-one slot that is about to be written.
  final func willWrite(_ slot: Int) {
    if committed == nil, !state.contains(.inserted) { keepCommitted() }
    if state.contains(.undoable), let undo = graph?.undoManager {
      let old = values[slot]
      undo.registerUndo(withTarget: self) { $0.restore(old, at: slot) }
    }
    noteChange(slot)
  }

  /// The values as they are become those that were read or saved, unless there are such.
  final func keepCommitted() {
    guard committed == nil, graph != nil else { return }
    let copy = pool.take()
    copy.fill(from: values, shape.slotCount)
    committed = copy
  }

  /// Notes a change of any slot.
  final func noteChange(_ slot: Int) {
    if changed.contains(slot), !changedInEvent.contains(slot) {
      graph?.ledger.keep(values[slot], of: self, at: slot)
    }
    changed.insert(slot)
    changedInEvent.insert(slot)
    if observers != nil { tellObservers(slot) }
    if !state.contains([.dirty, .touched, .inEvent]) {
      state.change()
      graph?.ledger.list(self)
      graph?.ledger.noteInEvent(self)
    }
  }

  /// It has its values afterwards, and was told of them.
  final func fire() {
    if state.contains(.asleep) { return wake() }
    guard let graph else { return state.takeValues() }  // There is nothing to read.
    graph.source?.fulfil(self)
  }

  /// Somebody asks for what a fetch has read.
  private final func wake() {
    if graph?.isPeeking == true { return }
    state.wake()
    whileAwakening { awakeFromFetch() }
  }

  /// Takes the values of the row.
  final func take(_ row: [PropertyValue], version: Int64) {
    assert(row.count >= shape.slotCount, "a row of another shape than \(shape.entity.name)")
    if committed != nil {
      // What was set beneath, without a change, goes with the values that it was set on.
      dropCommitted()
      changed = PropertyMask()
    }
    for slot in 0..<min(row.count, shape.slotCount) {
      if observers != nil, values[slot] != row[slot] { tellObservers(slot) }
      values[slot] = row[slot]
    }
    self.version = version
    state.takeValues()
  }

  /// The values by slot, to be read while the object is held and they stay as they are.
  @inline(__always)
  final var row: ValueRow { values.row(shape.slotCount) }

  /// Takes the values of the row under the unsaved changes.
  final func takeBeneathChanges(_ row: [PropertyValue], version: Int64) {
    row.withRow { takeBeneathChanges($0, version: version) }
  }

  /// Takes the values of an object of the same shape, which a parent has, under the unsaved changes.
  final func takeBeneathChanges(of above: ManagedObject) {
    takeBeneathChanges(above.row, version: above.version)
  }

  private final func takeBeneathChanges(
    _ row: ValueRow, version: Int64
  ) {
    precondition(
      row.count >= shape.slotCount, "a row of another shape than \(shape.entity.name)")
    for slot in 0..<shape.slotCount {
      // A row has no transient values, and those of a parent are its own: what is here stays.
      if shape.isTransient[slot] { continue }
      committed?[slot] = row[slot]
      if committed == nil || !changed.contains(slot) {
        // The values of a fault are no change: its observers were told when they went.
        if observers != nil, !state.contains(.fault), values[slot] != row[slot] {
          tellObservers(slot)
        }
        values[slot] = row[slot]
      }
    }
    self.version = version
  }

  /// The slots whose present value differs from the committed one.
  final var changedSlots: PropertyMask {
    var mask = PropertyMask()
    changed.forEach { slot in
      if shape.isTransient[slot] { return }
      if let state = collection(ifUsed: slot) {
        if state.hasChanges { mask.insert(slot) }
      } else if shape.kinds[slot] != .toMany,
        committed.map({ $0[slot] != values[slot] }) ?? true
      {
        mask.insert(slot)
      }
    }
    return mask
  }

  /// Those of them that are columns of the object's row.
  final var changedColumns: PropertyMask {
    var mask = PropertyMask()
    changedSlots.forEach { if shape.kinds[$0] != .toMany { mask.insert($0) } }
    return mask
  }

  /// An attribute or to-one slot has the value again that was read or saved last.
  final func giveUpChange(at slot: Int) {
    guard let committed else { return }
    if observers != nil { tellObservers(slot) }
    values[slot] = committed[slot]
    changed.remove(slot)
  }

  /// The row refers to nothing any more at a slot.
  final func loseReference(at slot: Int, version: Int64) {
    if observers != nil { tellObservers(slot) }
    values[slot] = .null
    self.version = version
  }

  final func dropCommitted() {
    guard let committed else { return }
    committed.empty(shape.slotCount)
    if graph != nil { pool.give(committed) }
    self.committed = nil
  }

  /// Puts the committed values back.
  final func revert() {
    if observers != nil { changed.forEach { tellObservers($0) } }
    if let committed {
      for slot in 0..<shape.slotCount { values[slot] = committed[slot] }
    }
    dropCommitted()
    for state in collections { state?.discardChanges() }
    markUnchanged()
  }

  /// No change is left.
  final func markUnchanged() {
    changed = PropertyMask()
    state.settle()
  }

  /// Drops all values; they are read again at next access.
  final func turnIntoFault() {
    state.tryReadingAgain()
    guard !state.contains(.fault) else {
      // It may have got other ends of relationships all the same.
      collections = []
      return markUnchanged()
    }
    // Towards the application one that sleeps was a fault before.
    let isTold = !state.contains(.asleep)
    if isTold { willTurnIntoFault() }
    tellObserversOfAll()
    dropCommitted()
    for slot in 0..<shape.slotCount { values[slot] = .null }
    collections = []
    markUnchanged()
    // There is nothing that another save could contradict, unless the context looks out for it.
    if !state.contains(.watched) { version = 0 }
    state.dropValues()
    if isTold { didTurnIntoFault() }
  }

  /// Transient values that are there, by slot.
  final var transientValues: [Int: PropertyValue] {
    guard shape.isTransient.contains(true) else { return [:] }
    var kept: [Int: PropertyValue] = [:]
    for slot in 0..<shape.slotCount where shape.isTransient[slot] && !values[slot].isNull {
      kept[slot] = values[slot]
    }
    return kept
  }

  /// A fault has transient values again that it had before.
  final func putBack(_ kept: [Int: PropertyValue]) {
    guard state.contains(.fault) else { return }
    for (slot, value) in kept { values[slot] = value }
  }

  /// A save deleted it: it is told of that, and that it is a fault now. Its values stay for who takes the delete back. As in Core Data
  /// it says that it is deleted for as long as it is told: its method tells a delete from another save by that.
  final func dismissSaved() {
    let staysDeleted = isDeleted
    state.stayDeleted()
    didSave()
    if !staysDeleted { state.endDelete() }
    guard !state.contains(.fault) else { return }
    willTurnIntoFault()
    if graph == nil { state.becomeForeignFault() }
    didTurnIntoFault()
  }

  /// Of no context any more, it is a fault that nothing can be read for.
  final func loseValues() {
    assert(graph == nil, "an object of a context is made a fault there")
    for slot in 0..<shape.slotCount { values[slot] = .null }
    collections = []
    state.becomeForeignFault()
  }

  /// Leaves the graph for good.
  final func detach() {
    leaveGraph()
    markUnchanged()
    state.leave(.listed)
  }
}
