import Foundation

/// Taking changes back, and doing them again.
///
/// Each change registers its opposite: of a property its old value, of a relationship one link at one end, of an insert
/// the delete. Opposites refer to objects, or to keys that ``ManagedObjectContext/current(_:)`` brings up to date, so that
/// they work across saves.
extension ManagedObjectContext {
  /// Takes the last event's changes back. Without an ``undoManager`` it does nothing.
  ///
  /// Changes that were saved are taken back as new changes, which the next save writes.
  public func undo() { replay { $0.undo() } }

  /// Does again what the last ``undo()`` took back.
  public func redo() { replay { $0.redo() } }

  private func replay(_ body: (UndoManager) -> Void) {
    guard let undoManager else { return }
    processPendingChanges()
    body(undoManager)
    processPendingChanges()
  }

  /// The key that an object has now, which an opposite knew by an older one.
  func current(_ key: ObjectKey, in plan: Int) -> ObjectKey {
    var key = key
    while let next = renamedKeys[PlacedKey(plan: plan, key: key)] { key = next }
    return key
  }

  /// Notes that an object has another key. The new one may be an old one of its own: an object that comes back takes its
  /// key at the save.
  func noteRenamed(_ old: ObjectKey, _ new: ObjectKey, in plan: Int) {
    renamedKeys[PlacedKey(plan: plan, key: old)] = new
    renamedKeys[PlacedKey(plan: plan, key: new)] = nil
  }

  func noteReplayed(_ object: ManagedObject, _ event: SnapshotEvents) {
    guard let undoManager, undoManager.isUndoing || undoManager.isRedoing else { return }
    replayed[object, default: []].insert(event)
  }

  /// Lets objects know that they were changed back, and forgets changes that left nothing changed.
  func settleReplayed() {
    guard !replayed.isEmpty else { return }
    let objects = replayed
    replayed = [:]
    for (object, events) in objects where object.context === self {
      for state in object.collections { state?.settleOrder() }
      if object.isUpdated, object.changedSlots.isEmpty {
        object.dropCommitted()
        object.settle()
      }
      awaken(object, events)
    }
    if !hasChanges { forgetUnchanged() }
  }

  func awaken(_ object: ManagedObject, _ events: SnapshotEvents) {
    object.state.insert(.awakening)
    object.awake(fromSnapshotEvents: events)
    object.state.remove(.awakening)
  }

  // MARK: Opposites of inserts and deletes

  /// The opposite of an insert.
  func takeBack(_ object: ManagedObject) {
    guard !object.isDeleted else { return }
    readForUndo(object)
    noteInEvent(object)
    object.state.insert([.deleted, .touched, .deletedInEvent])
    list(object)
    noteReplayed(object, .undoInsertion)
    registerBringingBack(object)
    if object.isInserted { vanish(object) }
  }

  /// Reads what an object has to have when it comes back after its row is gone.
  func readForUndo(_ object: ManagedObject) {
    guard undoManager?.isUndoRegistrationEnabled == true else { return }
    if object.isFault { object.fire() }
    for case let relation? in object.shape.relations where relation.isManyToMany {
      _ = object.destinationKeys(relation.slot)
    }
  }

  /// Before rows are deleted: what a refresh or a merge forgot since the delete.
  func readDeletedForUndo() {
    guard undoManager?.isUndoRegistrationEnabled == true else { return }
    for object in changedObjects where object.isDeleted && object.context === self {
      for slot in object.shape.toManySlots where object.collection(ifUsed: slot) != nil {
        _ = object.destinationKeys(slot)
      }
    }
  }

  /// Registers the opposite of a delete, before a new object loses what only the context knows of it.
  func registerBringingBack(_ object: ManagedObject) {
    let identity = identities[object.key]
    undoManager?.registerUndo(withTarget: object) { [weak self] in
      self?.bringBack($0, identity: identity)
    }
  }

  /// The opposite of a delete.
  func bringBack(_ object: ManagedObject, identity: UUID?) {
    if object.context === self {
      object.state.remove([.deleted, .deletedInEvent])
      object.state.insert([.dirty, .touched])
      list(object)
    } else {
      guard object.context == nil else { return }
      deferError { try rejoin(object, identity: identity) }
    }
    noteInEvent(object)
    if object.isInserted { object.state.insert(.insertedInEvent) }
    noteReplayed(object, .undoDeletion)
    undoManager?.registerUndo(withTarget: object) { [weak self] in self?.takeBack($0) }
  }

  /// Takes an object back that is in no context any more: it is new again, under its old identity if it was saved.
  private func rejoin(_ object: ManagedObject, identity given: UUID?) throws {
    let (old, index) = (object.objectKey, object.shape.planIndex)
    let plan = try plan(of: object.shape)
    let identity = try old.key > 0 ? read(plan) { try $0.identity(of: old) } : given
    if let place = vacantPlace(of: old.key) {
      object.join(self, key: old.key)
      temporaries[place] = .passUnretained(object)
    } else {
      object.join(self, key: nextTemporaryKey())
      temporaries.append(.passUnretained(object))
      noteRenamed(old, object.objectKey, in: index)
      if old.key < 0, hasChildren {
        tellChildren([old.key: PlacedKey(plan: index, key: object.objectKey)])
      }
    }
    if let identity { give(identity, to: object) }
    // What it refers to may have got other keys while it was away; it may refer to itself.
    object.rename { current($0, in: index) }
    list(object)
  }

  /// Where an object with the temporary key stood, if nothing was saved since.
  private func vacantPlace(of key: Int64) -> Int? {
    let place = 0 &- key &- temporaryBase &- 1
    guard key < 0, place >= 0, place < temporaries.count, temporaries[Int(place)] == nil else {
      return nil
    }
    return Int(place)
  }
}

/// Opposites of changes to properties.
extension ManagedObject {
  /// The opposite of a write.
  final func restore(_ old: PropertyValue, at slot: Int) {
    guard let context else { return }
    var value = old
    if case .reference(let key) = old {
      value = .reference(context.current(key, in: shape.planIndex))
    }
    write(value, at: slot)
    context.noteReplayed(self, .undoUpdate)
  }

  /// The opposite of ``link(_:at:)`` at a to-many end.
  final func undoLink(_ object: ManagedObject, at slot: Int) {
    unlink(object, at: slot)
    context?.noteReplayed(self, .undoUpdate)
  }

  /// The opposite of ``unlink(_:at:)`` at a to-many end; in an ordered one it stood behind `other`.
  final func undoUnlink(_ object: ManagedObject, after other: ManagedObject?, at slot: Int) {
    link(object, at: slot)
    if shape.relations[slot]?.isOrdered == true {
      collection(slot, reading: true).place(object.objectKey, after: other?.key)
    }
    context?.noteReplayed(self, .undoUpdate)
  }

  /// The opposite of a move within an ordered relationship.
  final func undoMove(_ object: ManagedObject, after other: ManagedObject?, at slot: Int) {
    place(object, after: other, at: slot)
    context?.noteReplayed(self, .undoUpdate)
  }

  /// Gives the objects of an ordered relationship the places that they had; those that came since go to the end.
  final func rearrange(_ old: [ManagedObject], at slot: Int) {
    let present = destinations(slot)
    let known = Set(old.map { ObjectIdentifier($0) })
    let there = Set(present.map { ObjectIdentifier($0) })
    arrange(
      old.filter { there.contains(ObjectIdentifier($0)) }
        + present.filter { !known.contains(ObjectIdentifier($0)) }, at: slot)
    context?.noteReplayed(self, .undoUpdate)
  }
}

/// What changed an object other than its own setters; see ``ManagedObject/awake(fromSnapshotEvents:)``.
public struct SnapshotEvents: OptionSet, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  public static let undoInsertion = SnapshotEvents(rawValue: 1 << 1)
  public static let undoDeletion = SnapshotEvents(rawValue: 1 << 2)
  public static let undoUpdate = SnapshotEvents(rawValue: 1 << 3)
  public static let rollback = SnapshotEvents(rawValue: 1 << 4)
  public static let refresh = SnapshotEvents(rawValue: 1 << 5)
  public static let mergePolicy = SnapshotEvents(rawValue: 1 << 6)
}
