import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension SyncEngine {
  /// Makes the next change set of what is pending; nil where nothing of it has to be told, with the reason where none can be made.
  func build(
    _ portion: Pusher.Portion, _ allowsMassDelete: Bool, tryingAgain again: Set<ObjectKey>,
    _ transaction: ReadTransaction
  ) throws -> (PushSelection, BuiltPush?, SyncError?, UnreadableValues) {
    var unreadable = UnreadableValues(objects: [:])
    let state = try Self.state(on: transaction.connection, of: store)
    let pending = try pendingSet(transaction, state: state)
    var left = try leftOut(of: pending, allowsMassDelete, tryingAgain: again, transaction)
    var portion = portion
    var valueBytesMax = options.pushValueBytesMax
    if portion.refusedObjects == nil, let most = fullPushObjects {
      portion.objectsMax = min(portion.objectsMax, 2 * most)
    }
    while true {
      let selection = try PushSelection(
        pending, held: left.objects, waiting: left.properties, portion: portion, transaction,
        schema: schema)
      do {
        let (selected, built, error) = try build(
          selection, allowsMassDelete, state, pending, valueBytesMax: valueBytesMax, transaction)
        return (selected, built, error, unreadable)
      } catch let found as UnreadableValues {
        // What refers to them waits as well: the window is selected anew.
        unreadable.objects.merge(found.objects) { $1 }
        left.objects.formUnion(found.objects.keys)
      } catch is ValueCutting.PushIsFull {
        // Fewer transactions, and never less than one: nobody is shown half of a save. Its parts are shown together.
        let count = selection.window.count
        var fewer = portion
        fewer.objectsMax = max(1, count / 2)
        let isCut =
          try portion.refusedObjects == nil && count > 1
          && PushSelection(
            pending, held: left.objects, waiting: left.properties, portion: fewer, transaction,
            schema: schema
          ).window.count < count
        if isCut {
          portion = fewer
          fullPushObjects = fewer.objectsMax
        } else {
          valueBytesMax = .max
        }
      }
    }
  }

  /// What no change set carries now, whatever its size.
  struct LeftOut {
    /// Objects that wait whole.
    var objects: Set<ObjectKey>
    /// Properties that wait of others.
    var properties: [ObjectKey: PropertyMask]
  }

  /// - Parameter again: objects in quarantine that are tried again.
  func leftOut(
    of pending: PendingSet, _ allowsMassDelete: Bool, tryingAgain again: Set<ObjectKey> = [],
    _ transaction: ReadTransaction
  ) throws -> LeftOut {
    // What the zone deleted, and a person has not confirmed, is not edited there.
    var held = try ZoneStates.braked(on: transaction.connection).union(
      try Quarantine.rows(transaction, schema: schema).map(\.key).filter { !again.contains($0) })
    let deletes = allowsMassDelete ? nil : try waitingDeletes(pending, transaction)
    if let deletes { held.formUnion(deletes.objects) }
    var waiting = deletes?.properties ?? [:]
    if holdsLargeValues { held.formUnion(try withLargeValues(pending, transaction)) }
    var waitingWhole = waitingForRoom
    if holdsSavesOfLargeValues {
      waitingWhole.formUnion(try withLargeValues(pending, transaction))
    }
    if !waitingWhole.isEmpty {
      let saves = try WaitingSaves(
        of: waitingWhole, pending, beside: held, transaction, schema: schema)
      held.formUnion(saves.objects)
      waiting.merge(saves.properties) { $0.union($1) }
    }
    return LeftOut(objects: held, properties: waiting)
  }

  /// The newest time that the zone is thought to take once it refused one. It takes what its log has: what is here of that log
  /// bounds it first, and its clock alone where it was another log that this came from.
  private func latestTaken(_ transaction: ReadTransaction) throws -> HybridTime? {
    guard clockRefusals > 0 else { return nil }
    let now = HybridTime(try zoneTime())
    guard clockRefusals == 1 else { return now }
    return max(now, try transaction.newestTime(known: 0) ?? now)
  }

  /// Builds the change set of a selection.
  private func build(
    _ selected: PushSelection, _ allowsMassDelete: Bool, _ state: ReplicaState,
    _ pending: PendingSet, valueBytesMax: Int, _ transaction: ReadTransaction
  ) throws -> (PushSelection, BuiltPush?, SyncError?) {
    var selection = selected
    guard !selection.isEmpty else { return (selection, nil, nil) }
    let since = try UnsentSince.transaction(transaction, acknowledged: state.acknowledged)
    selection.since = since
    let knownEdits =
      selection.window.containsState { $0.whole == .revive }
      ? try revivedEdits.history(of: pending, transaction, schema: schema) : EditHistory()
    let header = ChangeSetHeader(
      replica: state.replica, pushNumber: state.pushNumber &+ 1, cursor: state.position,
      // Who has nothing in the log says so: what is there under its ID, another copy of the store has sent.
      mark: state.mark ?? Cursor.start(generation: state.generation).mark,
      massDeleteIsMeant: try allowsMassDelete
        || MeantDeletes(transaction).areIn(selection.window))
    do {
      let building = try PushBuilding(
        transaction, schema: schema, zone: state.zoneID, since: since, knownEdits: knownEdits,
        header: header, standing: partsMayBeThere ? .asked : .here,
        values: valueCutting(pushBytesMax: valueBytesMax),
        times: TakenTimes(upTo: latestTaken(transaction), selection.window, transaction),
        trimsMemory: options.trimsMemory)
      let bounds =
        takesNoParts
        ? .none
        : PartBounds(
          objects: options.partObjectsMax, bytes: min(options.partBytesMax, partBytesTaken ?? .max))
      let built = try building.build(&selection, within: bounds)
      return (selection, built, nil)
    } catch let error as ValueTooLarge {
      return (selection, nil, error.reason)
    } catch let error as ProtocolError where Self.isRefusal(error) {
      return (selection, nil, Self.refusal(error, isOwn: true))
    }
  }
}
