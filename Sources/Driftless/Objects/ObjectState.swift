/// What an object is in its context. Each step from one state to the next has a name; a debug build stops at one that does not
/// fit what the object is.
struct ObjectState {
  /// One thing that an object is or is not.
  struct Flag: OptionSet {
    let rawValue: UInt32

    static let fault = Flag(rawValue: 1)
    static let inserted = Flag(rawValue: 2)
    static let dirty = Flag(rawValue: 4)
    static let deleted = Flag(rawValue: 8)
    /// It stands in the ledger's list of changed objects.
    static let listed = Flag(rawValue: 16)
    /// Changes do not count: values are just being read.
    static let awakening = Flag(rawValue: 32)
    /// Its row is gone: reads give nothing.
    static let missing = Flag(rawValue: 64)
    /// It changed since its last `willSave`.
    static let touched = Flag(rawValue: 128)
    /// It changed since the last event ended.
    static let inEvent = Flag(rawValue: 256)
    /// It was inserted since the last event ended.
    static let insertedInEvent = Flag(rawValue: 512)
    /// It was deleted since the last event ended.
    static let deletedInEvent = Flag(rawValue: 1024)
    /// Reads of its properties are noted for observers.
    static let tracked = Flag(rawValue: 2048)
    /// Its context has an undo manager: asking each object's flag costs no reference to the graph.
    static let undoable = Flag(rawValue: 4096)
    /// Its `prepareForDeletion` is running.
    static let preparing = Flag(rawValue: 8192)
    /// It stands in the ledger's list of watched objects.
    static let watched = Flag(rawValue: 16384)
    /// It was read anew, or became a fault, since the last event ended.
    static let refreshedInEvent = Flag(rawValue: 32768)
    /// A fault whose row could not be read: it has no values, and takes none, until it is refreshed.
    static let unreadable = Flag(rawValue: 65536)
    /// It is deleted because the object that held it is.
    static let cascaded = Flag(rawValue: 131_072)
    /// It has its values, and is a fault towards the application until one of them is asked for.
    static let asleep = Flag(rawValue: 262_144)
    /// It took a row in the read that goes on, and is still to be told, or to sleep.
    static let untold = Flag(rawValue: 524_288)
  }

  private var flags: Flag

  private init(_ flags: Flag) { self.flags = flags }

  /// What a new object is born as.
  static let new = ObjectState(.inserted)
  /// What an object of a row is born as.
  static let fault = ObjectState(.fault)
  /// What a new object is born as whose changes need no note: its row is written at once.
  static let changedNew = ObjectState([.inserted, .dirty, .touched, .inEvent])

  @inline(__always)
  func contains(_ flags: Flag) -> Bool { self.flags.isSuperset(of: flags) }

  @inline(__always)
  func isDisjoint(with flags: Flag) -> Bool { self.flags.isDisjoint(with: flags) }

  // MARK: Values

  /// It has values now, or has them anew. Whether it is one of a row or a new one stays.
  @inline(__always)
  mutating func takeValues() { flags.subtract([.fault, .unreadable]) }

  /// It has values that nobody asked for yet.
  @inline(__always)
  mutating func fallAsleep() {
    assert(isDisjoint(with: [.fault, .inserted, .dirty]), "what sleeps is as it was read")
    flags.insert(.asleep)
  }

  @inline(__always)
  mutating func wake() { flags.remove(.asleep) }

  /// There was no row to read values from.
  mutating func lackRow() {
    assert(!contains(.fault) && !contains(.inserted), "a row is missed when it is read")
    flags.insert(.missing)
  }

  /// A row that it lacked is there again.
  mutating func findRow() { flags.remove(.missing) }

  /// Its values are gone, and are read at the next access.
  mutating func dropValues() {
    assert(!contains(.inserted), "the values of a new object are nowhere else")
    flags.subtract([.missing, .unreadable, .asleep, .untold])
    flags.insert(.fault)
  }

  /// It belongs to no context, and has no values that count.
  mutating func becomeForeignFault() { flags.insert(.fault) }

  /// Its row could not be read.
  mutating func failToRead() {
    assert(contains(.fault), "only a fault is read")
    flags.insert(.unreadable)
  }

  /// Its row is tried again at the next access.
  @inline(__always)
  mutating func tryReadingAgain() { flags.remove(.unreadable) }

  /// It has the values of a row, and what is set until it was told of them is no change.
  @inline(__always)
  mutating func takeRow() {
    takeValues()
    flags.formUnion([.awakening, .untold])
  }

  /// It is told now, or sleeps.
  @inline(__always)
  mutating func endReading() { flags.remove(.untold) }

  /// What is set from now on is no change.
  @inline(__always)
  mutating func beginAwakening() { flags.insert(.awakening) }

  @inline(__always)
  mutating func endAwakening() { flags.remove(.awakening) }

  // MARK: Changes

  /// It has unsaved changes, that its `willSave` has not seen.
  @inline(__always)
  mutating func change() { flags.formUnion([.dirty, .touched]) }

  /// Its `willSave` is called: what it changes from now on is for the next call.
  @inline(__always)
  mutating func beginWillSave() { flags.remove(.touched) }

  /// It is new, and was a fault without a row, or of no context.
  ///
  /// - Parameter born: What all objects of its context are.
  mutating func becomeNew(_ born: Flag = []) {
    assert(isDisjoint(with: [.deleted, .preparing]), "what is deleted is brought back first")
    flags.subtract([.fault, .missing, .unreadable, .asleep, .deletedInEvent])
    flags.formUnion([.inserted, .dirty, .touched])
    flags.formUnion(born)
  }

  /// It joins a context: what it was in another is forgotten, but for lists that it stands in here.
  mutating func forgetContext() { flags.formIntersection([.listed, .inEvent]) }

  /// The next save deletes it, or it never was.
  mutating func delete() {
    assert(!contains(.preparing), "its own method is through by then")
    flags.formUnion([.deleted, .touched])
  }

  /// It goes because the object that holds it does, or, for false, by itself.
  mutating func noteCascade(_ isCascaded: Bool = true) {
    if isCascaded { flags.insert(.cascaded) } else { flags.remove(.cascaded) }
  }

  /// It left the context because it was deleted.
  mutating func stayDeleted() { flags.insert(.deleted) }

  /// Its delete was saved, and it was told so.
  mutating func endDelete() { flags.remove(.deleted) }

  /// It is not deleted any more, and counts as changed.
  mutating func undelete() {
    flags.subtract([.deleted, .deletedInEvent, .cascaded])
    change()
  }

  /// Nothing of it is unsaved.
  @inline(__always)
  mutating func settle() { flags.subtract([.dirty, .inserted, .deleted]) }

  mutating func beginPreparing() {
    assert(!contains(.preparing), "its own method runs once at a time")
    flags.insert(.preparing)
  }

  mutating func endPreparing() { flags.remove(.preparing) }

  // MARK: Lists

  /// It stands in a list of the ledger: `listed`, `inEvent` or `watched`. False when it did already.
  @inline(__always)
  mutating func enter(_ list: Flag) -> Bool {
    assert(!list.isEmpty && list.isSubset(of: [.listed, .inEvent, .watched]))
    return flags.insert(list).inserted
  }

  /// It stands in a list no more.
  ///
  /// - Parameter flags: What it loses with that.
  @inline(__always)
  mutating func leave(_ list: Flag, losing flags: Flag = []) {
    assert(list.isSubset(of: [.listed, .inEvent, .watched]))
    self.flags.subtract(list.union(flags))
  }

  /// What became of it in the event that it is in.
  mutating func note(_ event: Flag) {
    assert(contains(.inEvent), "an event has what it tells of")
    assert(event.isSubset(of: [.insertedInEvent, .deletedInEvent, .refreshedInEvent]))
    flags.formUnion(event)
  }

  /// The event is over.
  @inline(__always)
  mutating func leaveEvent() {
    flags.subtract([.inEvent, .insertedInEvent, .deletedInEvent, .refreshedInEvent])
  }

  // MARK: What its context says of all

  @inline(__always)
  mutating func take(_ born: Flag) {
    assert(born.isSubset(of: [.tracked, .undoable]))
    flags.formUnion(born)
  }

  mutating func mark(_ flag: Flag, _ isOn: Bool) {
    assert(flag.isSubset(of: [.tracked, .undoable]))
    if isOn { flags.insert(flag) } else { flags.remove(flag) }
  }
}
