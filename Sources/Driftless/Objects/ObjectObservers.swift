public import Observation

/// Objects can be observed by Swift's Observation, in place of key-value observation.
///
/// ```swift
/// context.tracksObservation = true
/// withObservationTracking {
///   label = book.title
/// } onChange: {
///   // book.title is about to change: look again soon
/// }
/// ```
///
/// What is read of an object in the first closure is tracked: attributes, to-one relationships and to-many ones, by typed
/// key or by name. `onChange` is called once, at the first change of any of it: by a setter, the other end of a
/// relationship, an undo, a rollback, a merge or a refresh, or when the object leaves its context.
extension ManagedObject: Observable {
  /// Names a slot to the registrar.
  private final subscript(observed slot: Int) -> Int { slot }

  static func observationPath(_ slot: Int) -> KeyPath<ManagedObject, Int> {
    \ManagedObject.[observed: slot]
  }

  /// Notes that somebody who may be tracking looks at the slot.
  final func noteAccess(_ slot: Int) {
    guard let graph else { return }
    let observers = observers ?? ObjectObservers()
    self.observers = observers
    observers.note?(self, slot)
    observers.registrar.access(self, keyPath: graph.observationPath(slot))
  }

  /// Whether it was made to find out what a getter reads: its values mean nothing.
  package final var isProbe: Bool { observers?.note != nil }

  /// Tells trackers of a change of the slot.
  final func tellObservers(_ slot: Int) {
    guard let observers else { return }
    let path = \ManagedObject.[observed: slot]
    observers.registrar.willSet(self, keyPath: path)
    observers.registrar.didSet(self, keyPath: path)
  }

  /// Tells trackers that any of its values may be another one.
  final func tellObserversOfAll() {
    guard observers != nil else { return }
    for slot in 0..<shape.slotCount { tellObservers(slot) }
  }

  /// What the store holds of to-many relationships is to be read again.
  final func forgetStoredCollections() {
    guard !collections.isEmpty else { return }
    for state in collections { state?.forgetStored() }
    guard observers != nil else { return }
    for slot in shape.toManySlots where collections[slot] != nil { tellObservers(slot) }
  }
}

/// Who tracks an object. A registrar in the object itself would make it larger than is known when this is compiled, and
/// every access to its fields slower.
final class ObjectObservers {
  let registrar = ObservationRegistrar()
  /// Told of each access, of an object that is there to tell what a getter reads.
  let note: ((ManagedObject, Int) -> Void)?

  init(note: ((ManagedObject, Int) -> Void)? = nil) { self.note = note }
}
