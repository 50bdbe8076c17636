public import Driftless
public import DriftlessProtocol
import DriftlessSQLite
public import Foundation

extension SyncEngine {
  /// Where a replica stands. Works while an engine of this or another process runs, and without
  /// one. What is pending is counted up to a hundred thousand changes (`SyncStatus.Pending.hasMore`), so that it costs the same
  /// however much waits.
  ///
  /// - Throws: `StoreError`, `SyncError` when the engine's own record is damaged.
  public static func status(of store: PersistentStore) throws -> SyncStatus {
    try status(of: store, changesMax: SyncTuning.statusChangesMax)
  }

  /// - Parameter changesMax: how many pending changes are counted.
  static func status(of store: PersistentStore, changesMax: Int) throws -> SyncStatus {
    let schema = SyncSchema(store.schema)
    var status = SyncStatus(
      store: store.label, cursor: 0, head: 0, pending: .init(), conflicts: 0,
      waiting: 0, quarantined: 0, parked: 0, zoneWasReplaced: false, syncing: false)
    try store.read { transaction in
      let connection = transaction.connection
      guard let state = try ReplicaState.load(from: connection) else { return }
      status.server = URL(string: state.server)
      status.zone = state.zone
      status.replica = state.replica
      status.name = (try name(transaction) ?? ReplicaName.ofHost)?.text
      status.generation = state.generation
      status.cursor = state.cursor
      status.head = max(state.head, state.cursor)
      status.isCopy = try store.isOfOtherFile(transaction)
      if !status.isCopy {
        status.lastSync = state.lastSync
        status.lastError = state.lastError
        status.failure = try lastFailure(transaction, state, now: store.now)
      }
      status.toComeAgain = try toComeAgain(state, schema, transaction)
      status.zoneWasReplaced = try transaction.setting(replacedSetting) != nil
      status.reconciled = try lastReconciliation(transaction)
      status.conflicts = try Journal.count(on: connection)
      status.waiting = try Journal.waitingCount(on: connection)
      status.parked =
        try AcceptedParking.load(transaction).isEmpty
        ? Parking.count(on: connection) + KeptKeys.waiting(transaction, schema).count
          + (NamesLeftOut.load(transaction) == nil ? 0 : 1)
          + LackedValues.parkedCount(transaction, schema)
        : parked(transaction, SyncSchema(store.schema)).count { !$0.isAccepted }
      if case .integer(let count)? = try transaction.setting(KeylessEdits.setting) {
        status.withoutKey = Int(clamping: count)
      }
      status.quarantined = try Quarantine.count(on: connection)
      let (pending, hasMore) = try PendingLoader.look(
        transaction, schema: schema, acknowledged: state.acknowledged, changesMax: changesMax)
      (status.valuesInZone, status.bytesInZone) = try ParkedValues.inZone(
        pending, hasMore: hasMore, transaction, schema)
      status.valuesWithoutRoom = try MissedValues.count(.room, on: connection)
      status.pending = try counts(
        pending, carrying: CarriedEnds(schema).waiting(transaction, state), transaction,
        schema: schema)
      status.pending.hasMore = hasMore
    }
    status.syncing = store.isSyncLocked
    return status
  }

  /// The server and the zone that a store is enrolled with; nil for one that is no replica.
  package static func home(of store: PersistentStore) throws -> (server: URL, zone: String)? {
    let state = try store.read { try ReplicaState.load(from: $0.connection) }
    guard let state, let server = URL(string: state.server) else { return nil }
    return (server, state.zone)
  }

  /// The same of a store whose record may be damaged, for who enrols it again.
  package static func knownHome(of store: PersistentStore) throws -> (server: URL, zone: String)? {
    guard let home = try store.read({ try ReplicaState.home(from: $0.connection) }),
      let server = URL(string: home.server)
    else { return nil }
    return (server, home.zone)
  }

  /// What a push would carry: objects that were made and deleted in between do not count.
  ///
  /// - Parameter ends: edits of relationships that are said from their other ends by now.
  static func counts(
    _ pending: PendingSet, carrying ends: [ObjectKey: [Int: Int64]] = [:],
    _ transaction: ReadTransaction, schema: SyncSchema
  ) throws -> SyncStatus.Pending {
    var counts = SyncStatus.Pending()
    var transactions: Set<Int64> = []
    for (key, edits) in ends {
      if pending[key] == nil { counts.objects += 1 }
      counts.properties += edits.count
      transactions.formUnion(edits.values)
    }
    var directory = ObjectDirectory(transaction.connection)
    for (key, object) in pending.objects {
      if object.whole == .delete,
        try directory.number(root: schema.root(of: key), key: key.key) == nil
      {
        continue
      }
      counts.objects += 1
      if object.whole == .delete {
        transactions.insert(object.wholeTransaction)
        continue
      }
      for edit in object.edits {
        counts.properties += edit.properties.count
        transactions.insert(edit.transaction)
      }
      if object.whole != .none { transactions.insert(object.wholeTransaction) }
    }
    counts.transactions = transactions.count
    return counts
  }

  /// Settled conflicts, oldest first.
  ///
  /// - Parameters:
  ///   - store: the replica.
  ///   - number: entries after this one.
  ///   - limit: the most entries to give; nil for 10,000.
  ///   - keys: what encrypted values are opened with that were sealed when they were settled; without, they are `"sealed"`.
  /// - Throws: `StoreError`; `SyncError` (`damagedState`) where an entry of the journal cannot be read.
  public static func conflicts(
    of store: PersistentStore, after number: Int64 = 0, limit: Int? = nil, keys: KeyRing? = nil
  ) throws -> [JournalEntry] {
    try store.read { transaction in
      guard try EngineTables.exist(on: transaction.connection) else { return [] }
      let entries = try Journal.entries(
        after: number, limit: max(0, limit ?? SyncTuning.journalEntriesMax),
        on: transaction.connection)
      let opener = OpenedEntries(transaction, SyncSchema(store.schema, keys: keys))
      return try entries.map(opener.opened)
    }
  }

  /// Why a property of an object has the value that it has: its policy, its conflicts, who changed
  /// it last.
  ///
  /// - Parameters:
  ///   - store: the replica's store.
  ///   - object: the object's identity.
  ///   - name: the property's name.
  ///   - keys: what encrypted values of conflicts are opened with that were sealed when they were settled.
  /// - Throws: `SyncError` (`unknownElement`) when there is no such object or property.
  public static func why(
    of store: PersistentStore, object: UUID, property name: String, keys: KeyRing? = nil
  ) throws -> PropertyExplanation {
    let schema = SyncSchema(store.schema, keys: keys)
    return try store.read { transaction in
      guard let found = try transaction.key(of: object),
        let key = try transaction.concreteKey(root: found),
        let entity = schema.entity(numbered: key.entity), let row = try transaction.knownRow(key)
      else {
        throw SyncError(
          .unknownElement, "There is no object \(object.uuidString.lowercased()) here.",
          suggestion: "Look its identity up with export; a deleted object is in the conflicts.")
      }
      guard let property = entity.property(named: name) else {
        if let end = entity.otherEnds[name] {
          return try FollowingEnd(
            key: key, identity: transaction.identity(of: key), entity: entity, end: end
          ).explanation(transaction, schema)
        }
        throw SyncError(
          .unknownElement, "\(entity.name) has no property \(name) that syncs.",
          suggestion: "Its properties: \(entity.properties.map(\.name).joined(separator: ", ")).")
      }
      // A value whose file is gone is no null: it is told.
      if row.lost.contains(property.slot) { _ = try transaction.row(key) }
      var json = JSONText()
      try ReplicaExport.append(
        property, of: key, values: row.values, transaction, to: &json)
      var explanation = PropertyExplanation(
        object: object, entity: entity.name, property: name,
        value: String(decoding: json.bytes, as: UTF8.self), policy: property.policy.text,
        isPending: false, changedAt: nil, author: nil, conflicts: [])
      if let last = try transaction.lastChange(of: key, slot: property.slot) {
        explanation.changedAt = last.hybridTime
        explanation.author = last.author
      }
      if let state = try ReplicaState.load(from: transaction.connection) {
        let pending = try PendingLoader.load(
          transaction, schema: schema, acknowledged: state.acknowledged)
        explanation.isPending = pending[key]?.transaction(of: property.slot) != nil
        explanation.conflicts = try Journal.entries(
          // Under an identity that went when two became one it is asked for as well.
          object: transaction.identity(of: key), property: name, on: transaction.connection
        ).map(OpenedEntries(transaction, schema).opened)
      }
      return explanation
    }
  }
}
