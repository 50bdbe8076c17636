public import Driftless
import DriftlessProtocol
import DriftlessSQLite
public import Foundation
import Logging

extension SyncEngine {
  /// The objects that the server refuses, with the reason and what to do.
  ///
  /// What was changed of them is pending still. An object is tried again when it changes, and by
  /// `retryQuarantined`; one that the server found older than the zone (`conflicting`) also when the zone's log goes on, ever
  /// more rarely, and with any sync after an hour.
  ///
  /// - Throws: `StoreError` where the store cannot be read.
  public static func quarantine(of store: PersistentStore) throws -> [QuarantineEntry] {
    let schema = SyncSchema(store.schema)
    return try store.read { try Quarantine.rows($0, schema: schema).map(\.entry) }
  }

  /// What waits because of the objects in quarantine, and is not refused itself.
  ///
  /// - Throws: `StoreError`; `SyncError` (`damagedState`) where what is pending cannot be read.
  public static func heldByQuarantine(of store: PersistentStore) throws -> [HeldObject] {
    let schema = SyncSchema(store.schema)
    return try store.read { transaction in
      let refused = Set(try Quarantine.rows(transaction, schema: schema).map(\.key))
      guard !refused.isEmpty else { return [] }
      let state = try Self.state(on: transaction.connection, of: store)
      let pending = try PendingLoader.load(
        transaction, schema: schema, acknowledged: state.acknowledged)
      var references = HeldReferences(refused, pending, transaction, schema: schema)
      let omitted = try references.omitted()
      let whole = omitted.objects.subtracting(refused).map { ($0, PropertyMask()) }
      let parts = omitted.properties.filter { !omitted.objects.contains($0.key) }
      let all = (whole + parts.map { ($0.key, $0.value) }).sorted {
        ($0.0.entity, $0.0.key) < ($1.0.entity, $1.0.key)
      }
      return try all.compactMap { key, mask in
        guard let entity = schema.entity(numbered: key.entity) else { return nil }
        return HeldObject(
          object: try transaction.identity(of: key), entity: entity.name,
          properties: mask.indexes.compactMap { entity.property(at: $0)?.name })
      }
    }
  }

  /// Lets the next sync try objects again that the server refused, after its limits were raised,
  /// say.
  ///
  /// - Parameters:
  ///   - store: the replica.
  ///   - object: one object; nil for all.
  /// - Returns: how many objects left the quarantine.
  /// - Throws: `SyncError` (`unknownElement`) when the object is not in quarantine, `StoreError`.
  @discardableResult
  public static func retryQuarantined(
    of store: PersistentStore, object: UUID? = nil
  ) throws -> Int {
    let schema = SyncSchema(store.schema)
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    return try store.write(info) { transaction in
      let rows = try Quarantine.rows(transaction, schema: schema).filter {
        object == nil || $0.entry.object == object
      }
      if let object, rows.isEmpty {
        throw SyncError(
          .unknownElement, "Object \(object.uuidString.lowercased()) is not in quarantine.",
          suggestion: "Run: syncctl quarantine list --store \(store.label.shellWord)")
      }
      for row in rows { try Quarantine.remove(row.key, on: transaction.connection) }
      return rows.count
    }.0
  }

  /// Sets the one object of the change set in flight aside. What was changed of it stays pending.
  ///
  /// - Parameter isAgain: It was tried again after it had been stale for good.
  func quarantine(_ key: ObjectKey, _ error: SyncError, isAgain: Bool) throws {
    try bookkeep { transaction in
      let connection = transaction.connection
      let state = try Self.state(on: connection, of: store)
      let bytes = try Outbox.load(from: connection)?.bytes ?? 0
      try Outbox.clear(on: connection)
      guard let object = try pendingSet(transaction, state: state)[key] else { return }
      let entity = schema.entity(numbered: key.entity)?.name ?? "unknown"
      let identity = try transaction.identity(of: key)
      try Quarantine.add(
        Quarantine.Row(
          key: key,
          entry: QuarantineEntry(
            object: identity, entity: entity, code: error.code.rawValue,
            reason: "\(entity) \(identity.uuidString.lowercased())"
              + (bytes > 0 ? ", \(bytes) bytes" : "") + ": \(error.message)",
            suggestion: error.suggestion, bytes: bytes, time: store.now),
          lastEdit: try transaction.editTime(object.lastTransaction)),
        on: connection)
      if error.code == .conflicting {
        let former = isAgain ? try ConflictingTries.load(transaction) : nil
        try ConflictingTries(
          place: state.position, tries: former?.tries ?? 0,
          time: former?.time ?? store.now.timeIntervalSince1970
        ).save(transaction)
      }
      log.log(
        level: isAgain ? .debug : .warning,
        "The server refuses \(entity) \(identity), and the rest goes on without it: \(error.message)"
      )
    }
  }

  /// Objects in quarantine that changed since, or have nothing pending any more, leave it.
  func releaseChanged() throws {
    let isEmpty = try store.read { try Quarantine.count(on: $0.connection) == 0 }
    guard !isEmpty else { return }
    try bookkeep { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      let pending = try pendingSet(transaction, state: state)
      for row in try Quarantine.rows(transaction, schema: schema) {
        if let object = pending[row.key],
          try transaction.editTime(object.lastTransaction) <= row.lastEdit
        {
          continue
        }
        try Quarantine.remove(row.key, on: transaction.connection)
      }
    }
  }

  /// Objects in quarantine that the server found older than the zone, when it is time to try them again: they stay there
  /// until the zone has taken them, so that a try which breaks off changes nothing.
  ///
  /// - Returns: those first that wait longest; some of them, where they are many.
  func conflictingToTry() throws -> Set<ObjectKey> {
    guard try !store.read({ try conflictingToTry($0) }).isEmpty else { return [] }
    return try bookkeep { transaction in
      let keys = try conflictingToTry(transaction)
      let tries = try ConflictingTries.load(transaction)?.tries ?? 0
      try ConflictingTries(
        place: try Self.state(on: transaction.connection, of: store).position, tries: tries + 1,
        time: store.now.timeIntervalSince1970
      ).save(transaction)
      return Set(keys)
    }
  }

  private func conflictingToTry(_ transaction: ReadTransaction) throws -> [ObjectKey] {
    guard try Quarantine.count(on: transaction.connection) > 0 else { return [] }
    let place = try Self.state(on: transaction.connection, of: store).position
    let tries = try ConflictingTries.load(transaction)
    guard tries?.isDue(at: place, now: store.now) ?? true else { return [] }
    let code = SyncError.Code.conflicting.rawValue
    return try Quarantine.rows(transaction, schema: schema).filter { $0.entry.code == code }
      .sorted { $0.entry.time < $1.entry.time }.prefix(SyncTuning.conflictingInARowMax)
      .map(\.key)
  }
}
