public import Driftless
import DriftlessSQLite
public import Foundation

/// What another program wrote past the library, without a history: Core Data where it keeps none, or a person with `sqlite3`. No push
/// tells of it, since a push reads the history.
extension SyncEngine {
  /// An object that the zone never heard of, though nothing of it waits to be pushed.
  public struct UnheardObject: Hashable, Sendable, Codable {
    /// The name of the object's entity.
    public var entity: String
    /// The object's identity.
    public var object: UUID
  }

  /// Objects of a replica that the zone never heard of, and of which nothing waits to be pushed. What was changed of others, or
  /// deleted, only a comparison with the zone tells (``verify(progress:)``).
  ///
  /// - Throws: `StoreError`, `SyncError`.
  public static func unheardObjects(of store: PersistentStore) throws -> [UnheardObject] {
    let schema = SyncSchema(store.schema)
    return try store.read { transaction in
      guard let state = try ReplicaState.load(from: transaction.connection) else { return [] }
      let pending = try PendingLoader.load(
        transaction, schema: schema, acknowledged: state.acknowledged)
      var found: [UnheardObject] = []
      try forEachUnheard(pending, schema, transaction) { key, entity in
        found.append(
          UnheardObject(entity: entity.name, object: try transaction.identity(of: key)))
      }
      return found
    }
  }

  static func forEachUnheard(
    _ pending: PendingSet, _ schema: SyncSchema, _ transaction: ReadTransaction,
    _ body: (ObjectKey, SyncSchema.Entity) throws -> Void
  ) throws {
    // A store that comes back to its zone reads there what it has of it.
    guard try transaction.setting(LeftZone.setting) == nil else { return }
    var directory = ObjectDirectory(transaction.connection, readsAhead: true)
    for entity in schema.entities {
      try transaction.forEachKey(of: entity.description) { key in
        guard try directory.number(root: entity.rootNumber, key: key.key) == nil,
          pending[key] == nil
        else { return }
        try body(key, entity)
      }
    }
  }

  /// Takes what a comparison found to be different here for edits of this replica, made now: they wait to be pushed as all
  /// others do.
  ///
  /// What is missing here is no delete, and stays as it is; so do counters, of which nobody knows what was added, and what lies
  /// in files that are gone or cannot be read.
  ///
  /// ```swift
  /// let report = try await engine.verify()
  /// let count = try SyncEngine.takeIn(report, of: store)
  /// ```
  ///
  /// - Parameters:
  ///   - report: What `verify` found, nothing of it repaired.
  ///   - store: The store that it was found in.
  /// - Returns: How many of its differences are edits by now.
  /// - Throws: `StoreError`.
  @discardableResult
  public static func takeIn(_ report: VerifyReport, of store: PersistentStore) throws -> Int {
    let schema = SyncSchema(store.schema)
    return try store.write(TransactionInfo(author: nil, contextName: nil)) { transaction in
      var masks: [ObjectKey: PropertyMask] = [:]
      var count = 0
      for difference in report.differences where !difference.isRepaired {
        guard let found = try transaction.key(of: difference.object),
          let key = try transaction.concreteKey(root: found),
          let entity = schema.entity(numbered: key.entity)
        else { continue }
        switch difference.kind {
        case .unknown:
          try transaction.recordFound(key)
        case .value:
          guard difference.isLost != true, let name = difference.property,
            let property = entity.property(named: name), property.policy != .counter
          else { continue }
          if case .place = property.kind { continue }
          masks[key, default: PropertyMask()].insert(property.slot)
        case .missing, .deleted, .entity, .damaged: continue
        }
        count += 1
      }
      for (key, mask) in masks.sorted(by: {
        ($0.key.entity, $0.key.key) < ($1.key.entity, $1.key.key)
      }) {
        try transaction.recordUpdate(key, mask)
      }
      return count
    }.0
  }
}
