public import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Seals everything anew: after a rotation, so that the old key opens nothing that the zone has by now; after a property was
/// declared encrypted, so that it is.
enum SealedAnew {
  /// There until the next push has begun it.
  static let setting = "sync.sealAnew"
}

extension SyncEngine {
  /// Has the next sync send the values of all encrypted properties again, sealed with the newest key. They are offered with the
  /// times of their edits: what somebody edited since stands.
  ///
  /// What was sent before stays in the zone's log, and in backups, as it was.
  ///
  /// ```swift
  /// try SyncEngine.sealAnew(store)
  /// ```
  /// - Throws: `SyncError` (`notEnrolled`), `StoreError`.
  public static func sealAnew(_ store: PersistentStore) throws {
    guard try home(of: store) != nil else { throw SyncError.notEnrolled(store.label) }
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    _ = try store.write(info) { try $0.setSetting(SealedAnew.setting, .integer(1)) }
  }

  /// Offers what is to be sealed anew, where a person asked for it and there is a key. What is under way is sealed already, with
  /// the key of before: it has to be there first.
  ///
  /// - Returns: whether there was something to do.
  @discardableResult
  func offerSealedAnew() throws -> Bool {
    guard schema.keys != nil, try store.read({ try $0.setting(SealedAnew.setting) != nil }),
      try !hasOutbox()
    else { return false }
    try offerSealedAnew(only: nil)
    return true
  }

  /// - Parameter only: the properties of an object that are offered; nil for all that are encrypted, as a person asked.
  func offerSealedAnew(only: ((ObjectKey) -> PropertyMask)?) throws {
    try settling { applier, _ in
      let transaction = applier.transaction
      if only == nil { try transaction.setSetting(SealedAnew.setting, nil) }
      var history = try EditHistory(transaction, schema: schema, acknowledged: .max)
      history.follow(try LostEdits(after: 0, transaction, schema: schema))
      for entity in schema.entities where entity.hasSealed {
        var keys: [ObjectKey] = []
        try transaction.forEachKey(of: entity.description) { keys.append($0) }
        for key in keys { try offerSealedAnew(key, entity, only?(key), history, applier) }
      }
    }
  }

  private func offerSealedAnew(
    _ key: ObjectKey, _ entity: SyncSchema.Entity, _ only: PropertyMask?, _ history: EditHistory,
    _ applier: PageApplier
  ) throws {
    // What is new goes whole.
    guard try applier.directory.number(root: entity.rootNumber, key: key.key) != nil,
      applier.pending[key].map({ $0.whole == .none }) ?? true,
      let values = try applier.transaction.knownRow(key)?.values
    else { return }
    for property in entity.properties where property.isSealed {
      let slot = property.slot
      guard only?.contains(slot) ?? true, !values[slot].isNull, !values[slot].isInZone,
        applier.pending[key]?.transaction(of: slot) == nil,
        try applier.parkedValues.value(of: key, property.name) == nil
      else { continue }
      try applier.replaceBase(of: key, property, with: values[slot])
      let stamp = EditStamp.number(
        history.time(of: key, slot) ?? HybridTime(rawValue: 0))
      applier.setPending(key) { object in
        object.set(PropertyMask([slot]), by: stamp)
        object.setOffer(of: slot, by: stamp)
      }
    }
  }
}
