import Driftless

/// What local history tells to be pending in a store that comes back to a zone. By itself it does not know what imports did
/// in between: what another replica deleted is pending no more, and what came again after it was deleted here is not deleted.
enum ReturnedEdits {
  static func straighten(_ transaction: WriteTransaction, schema: SyncSchema) throws {
    let pending = try PendingLoader.load(transaction, schema: schema, acknowledged: 0)
    var states: [ObjectKey: PendingObject] = [:]
    for (key, object) in pending.objects {
      let isAlive = try transaction.concreteKey(root: key) == key
      if (object.whole == .delete) == isAlive { states[key] = PendingObject() }
    }
    guard !states.isEmpty else { return }
    try transaction.forEachNumberedChange { header, _, type, key, mask in
      guard states[key] != nil, let entity = schema.entity(numbered: key.entity) else { return }
      switch (type, header.kind == .imported) {
      case (.insert, true), (.delete, true): states[key] = PendingObject()
      case (.update, true): break
      case (.insert, false): states[key]?.record(.insert, by: header.number, all: entity.all)
      case (.update, false):
        let change = LocalChange.update(mask ?? PropertyMask())
        states[key]?.record(change, by: header.number, all: entity.all)
      case (.delete, false): states[key]?.record(.delete, by: header.number, all: entity.all)
      }
    }
    for (key, object) in states {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      let isThere = try transaction.concreteKey(root: key) == key
      let state = (object.whole == .delete) == isThere ? PendingObject() : object
      try PendingState.save(
        state, of: key, entity: entity, through: pending.through, on: transaction.connection)
    }
  }
}
