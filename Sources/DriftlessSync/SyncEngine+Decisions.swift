public import Driftless
import DriftlessSQLite
import Foundation

/// The way back from a settled conflict, and a person's word on one that waits.
extension SyncEngine {
  /// Puts the value that lost a conflict back, as an edit made here and now. The next sync sends it;
  /// the journal says that it was put back.
  ///
  /// An object whose delete won comes back with its attributes and to-one relationships.
  ///
  /// - Parameters:
  ///   - number: the conflict's number in the journal (`conflicts(of:)`).
  ///   - author: the author of the edit in history.
  /// - Returns: the journal's entry as it is now.
  /// - Throws: `SyncError` (`unknownElement` when there is no such conflict, `cannotUndo` when its
  ///   value cannot be put back, with the reason), `StoreError`.
  @discardableResult
  public static func undo(
    conflict number: Int64, of store: PersistentStore, author: String? = nil
  ) throws -> JournalEntry {
    let entry = try journaled(number, store).entry
    guard entry.decision != entry.loser else {
      throw SyncError(
        .cannotUndo, "Conflict \(number) was undone already.",
        suggestion: "Run: syncctl why \(entry.entity)/\(entry.object.uuidString.lowercased())"
          + ".\(entry.property ?? "")")
    }
    return try decide(conflict: number, for: entry.loser, of: store, author: author)
  }

  /// Decides that the value that stands shall stand. Nothing is changed but the journal.
  @discardableResult
  public static func keep(
    conflict number: Int64, of store: PersistentStore
  ) throws -> JournalEntry {
    var entry = try journaled(number, store).entry
    let side: JournalEntry.Side = entry.loser == .local ? .remote : .local
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    _ = try store.write(info) { try Journal.decide(number, side, on: $0.connection) }
    entry = try journaled(number, store).entry
    return entry
  }

  /// Settles a conflict as a person decides: one side's value stands, and is set as an edit made
  /// here when it does not stand already. A conflict whose policy is `manual` waits for this.
  @discardableResult
  public static func decide(
    conflict number: Int64, for side: JournalEntry.Side, of store: PersistentStore,
    author: String? = nil
  ) throws -> JournalEntry {
    let (entry, values) = try journaled(number, store)
    let schema = SyncSchema(store.schema)
    if entry.property == nil, side == entry.loser, let row = values.row,
      let entity = schema.entity(named: entry.entity)
    {
      return try store.write(TransactionInfo(author: author, kind: .local)) { transaction in
        try bringBack(entry, entity, row: row, transaction)
        try Journal.decide(number, side, on: transaction.connection)
        return try Journal.entry(number, on: transaction.connection)?.entry ?? entry
      }.0
    }
    guard let name = entry.property else {
      throw SyncError(
        .cannotUndo, "Conflict \(number) is about the object as a whole, which stays.",
        suggestion: "Delete the object where that is meant.")
    }
    let info = TransactionInfo(author: author, kind: .local)
    return try store.write(info) { transaction in
      if let value = side == .local ? values.local : values.remote {
        guard let entity = schema.entity(named: entry.entity),
          let property = entity.property(named: name)
        else {
          throw SyncError(
            .cannotUndo, "The model has no \(entry.entity).\(name) any more.",
            suggestion: "Set the value by hand where it belongs now.")
        }
        try put(value, property, entity, entry, row: values.row, transaction)
      } else if try isAlive(entry, schema, transaction) {
        throw SyncError(
          .cannotUndo, "On that side object \(entry.object.uuidString.lowercased()) was deleted.",
          suggestion: "Delete it where that is meant.")
      }
      try Journal.decide(number, side, on: transaction.connection)
      return try Journal.entry(number, on: transaction.connection)?.entry ?? entry
    }.0
  }

  private static func journaled(
    _ number: Int64, _ store: PersistentStore
  ) throws -> (entry: JournalEntry, values: Journal.Values) {
    let found = try store.read { transaction -> (JournalEntry, Journal.Values)? in
      guard try EngineTables.exist(on: transaction.connection) else { return nil }
      return try Journal.entry(number, on: transaction.connection)
    }
    guard let found else {
      throw SyncError(
        .unknownElement, "The journal has no conflict \(number).",
        suggestion: "Run: syncctl conflicts --store \(store.label)")
    }
    return found
  }

  private static func isAlive(
    _ entry: JournalEntry, _ schema: SyncSchema, _ transaction: ReadTransaction
  ) throws -> Bool {
    guard let entity = schema.entity(named: entry.entity),
      let key = try key(of: entry, entity, transaction)
    else { return false }
    return try transaction.row(key) != nil
  }

  /// The object that an entry is about. What goes by its identity by now may be another one, of another entity.
  private static func key(
    of entry: JournalEntry, _ entity: SyncSchema.Entity, _ transaction: ReadTransaction
  ) throws -> ObjectKey? {
    guard let key = try transaction.key(of: entry.object) else { return nil }
    guard let living = try transaction.concreteKey(root: key), living.entity != entity.number,
      let state = try ReplicaState.load(from: transaction.connection)
    else { return key }
    let derived = DerivedIdentity.identity(entry.object, of: entity.name, in: state.zoneID)
    if let key = try transaction.key(ofOwn: derived) { return key }
    throw SyncError(
      .cannotUndo,
      "Object \(entry.object.uuidString.lowercased()) is another one by now, of another entity.",
      suggestion: "Set the value by hand where it belongs now.")
  }

  /// Sets a value of an object, which comes back first when it is deleted.
  private static func put(
    _ value: PropertyValue, _ property: SyncSchema.Property, _ entity: SyncSchema.Entity,
    _ entry: JournalEntry, row: [PropertyValue]?, _ transaction: WriteTransaction
  ) throws {
    if case .reference(let target) = value, try transaction.concreteKey(root: target) == nil {
      throw SyncError(
        .cannotUndo, "The object that \(property.name) referred to is deleted.",
        suggestion: "Bring that one back first.")
    }
    guard let key = try key(of: entry, entity, transaction) else {
      throw SyncError.damaged("object \(entry.object.uuidString.lowercased())")
    }
    if var values = try transaction.row(key)?.values {
      if case .place(let relationship) = property.kind {
        guard case .integer(let place) = value else { return }
        try transaction.setPlace(place, of: key, in: relationship)
        return try transaction.recordUpdate(key, PropertyMask([property.slot]))
      }
      guard values[property.slot] != value else { return }
      values[property.slot] = value
      return try transaction.update(
        key, PropertyMask([property.slot]), values: values, expectedVersion: nil)
    }
    guard let row, row.count == entity.description.layout.slots.count else {
      throw SyncError(
        .cannotUndo, "Object \(entry.object.uuidString.lowercased()) is deleted.",
        suggestion: "Make it anew, under the same identity if others shall know it again.")
    }
    var values = try living(row, entity, transaction)
    if !property.isCollective { values[property.slot] = value }
    try transaction.insert(entity.description, key.key, values: values)
  }

  /// Makes an object again that a delete took along.
  private static func bringBack(
    _ entry: JournalEntry, _ entity: SyncSchema.Entity, row: [PropertyValue],
    _ transaction: WriteTransaction
  ) throws {
    guard row.count == entity.description.layout.slots.count else {
      throw SyncError.damaged("object \(entry.object.uuidString.lowercased())")
    }
    let key: Int64
    if let known = try Self.key(of: entry, entity, transaction) {
      guard try transaction.concreteKey(root: known) == nil else {
        throw SyncError(
          .cannotUndo, "Object \(entry.object.uuidString.lowercased()) is back already.",
          suggestion: "Nothing needs to be done.")
      }
      key = known.key
    } else {
      // The zone never knew it, so it left no trace: it is new under its identity.
      key = try transaction.allocateKeys(entity.description, count: 1).lowerBound
      try transaction.assignIdentity(
        ObjectKey(entity: entity.number, key: key), entry.object)
    }
    try transaction.insert(
      entity.description, key, values: try living(row, entity, transaction))
  }

  /// A row without references to what is deleted by now.
  private static func living(
    _ row: [PropertyValue], _ entity: SyncSchema.Entity, _ transaction: WriteTransaction
  ) throws -> [PropertyValue] {
    var values = row
    for property in entity.properties {
      guard case .toOne = property.kind, case .reference(let target) = values[property.slot],
        try transaction.concreteKey(root: target) == nil
      else { continue }
      values[property.slot] = .null
    }
    return values
  }
}
