import Driftless

/// Saves that wait whole, with what cannot go without them: nobody is shown a part of a save.
struct WaitingSaves {
  private(set) var objects: Set<ObjectKey> = []
  private(set) var properties: [ObjectKey: PropertyMask] = [:]

  /// - Parameters:
  ///   - keys: all saves of these wait.
  ///   - held: objects that wait for another reason, alone.
  init(
    of keys: Set<ObjectKey>, _ pending: PendingSet, beside held: Set<ObjectKey>,
    _ transaction: ReadTransaction, schema: SyncSchema
  ) throws {
    var alone = HeldReferences(held, pending, transaction, schema: schema)
    let apart = try alone.omitted()
    var saves: Set<Int64> = []
    for key in keys { if let object = pending[key] { saves.formUnion(object.saves) } }
    var known = -1
    while saves.count > known {
      known = saves.count
      for (key, object) in pending.objects {
        object.wait(with: saves, as: key, &objects, &properties)
      }
      // What refers to a new object that waits, or took a key from one that does, waits too, and its save with it.
      var all = HeldReferences(held.union(objects), pending, transaction, schema: schema)
      let omitted = try all.omitted()
      for key in omitted.objects.subtracting(apart.objects) {
        if let object = pending[key] { saves.formUnion(object.saves) }
      }
      for (key, mask) in omitted.properties where apart.properties[key] != mask {
        for slot in mask.indexes {
          if let save = pending[key]?.transaction(of: slot) { saves.insert(save) }
        }
      }
    }
  }

  /// Whether all of these were changed by one save.
  static func areOne(_ window: PendingObjects) -> Bool {
    var saves: Set<Int64> = []
    window.forEachState { _, object, _ in saves.formUnion(object.saves) }
    return saves.count == 1
  }
}

extension PendingObject {
  /// The transactions of all that is pending of it.
  fileprivate var saves: Set<Int64> {
    var saves = Set(edits.map(\.transaction))
    if whole != .none { saves.insert(wholeTransaction) }
    return saves
  }

  /// Takes note of what of it waits with these saves.
  func wait(
    with saves: Set<Int64>, as key: ObjectKey, _ objects: inout Set<ObjectKey>,
    _ properties: inout [ObjectKey: PropertyMask]
  ) {
    guard whole == .none else {
      // A new object is told whole, so it waits whole.
      if !self.saves.isDisjoint(with: saves) { objects.insert(key) }
      return
    }
    for edit in edits where saves.contains(edit.transaction) {
      properties[key, default: PropertyMask()].formUnion(edit.properties)
    }
  }
}

extension PropertyMask {
  func union(_ other: PropertyMask) -> PropertyMask {
    var union = self
    union.formUnion(other)
    return union
  }
}

extension SyncEngine {
  /// Leaves the saves of objects out that the zone has as newer, where what it has of them does not fit the disk.
  ///
  /// - Parameters:
  ///   - numbers: what the zone named.
  ///   - save: what is in flight, when it is one save; it waits where the zone named nothing of what is pending.
  /// - Returns: whether something waits that did not.
  func leaveOut(_ numbers: [UInt64], orSave save: Set<ObjectKey>) throws -> Bool {
    let found = try store.read { transaction in
      var directory = ObjectDirectory(transaction.connection)
      var named: Set<ObjectKey> = []
      for number in numbers {
        if let key = try directory.key(ofNumber: number) { named.insert(schema.rooted(key)) }
      }
      let state = try Self.state(on: transaction.connection, of: store)
      return Set(
        try pendingSet(transaction, state: state).objects.keys.filter {
          named.contains(schema.rooted($0))
        })
    }
    let before = waitingForRoom.count
    waitingForRoom.formUnion(found)
    if waitingForRoom.count == before { waitingForRoom.formUnion(save) }
    try discardOutbox()
    return waitingForRoom.count > before
  }

  /// While there is no room, what is kept of the log for a server that loses it takes no more than it did: the oldest goes.
  ///
  /// - Parameter bytes: what it took before.
  func makeRoomOfKept(_ bytes: Int) throws {
    let most = min(options.keptFrameBytesMax, max(bytes, SyncTuning.smallApplyBytes))
    try bookkeep { try KeptFrames.trim(to: most, on: $0.connection) }
  }
}
