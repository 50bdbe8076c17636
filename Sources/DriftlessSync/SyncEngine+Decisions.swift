public import Driftless
public import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The way back from a settled conflict, and a person's word on one that waits.
extension SyncEngine {
  /// Puts the value that lost a conflict back, as an edit made here and now. The next sync sends it;
  /// the journal says that it was put back.
  ///
  /// An object whose delete won comes back with its attributes and relationships: members of its to-many relationships that are deleted
  /// by now, or belong to another object, are named in the entry's explanation. An object whose delete was given up (``giveUpUnsent()``) is
  /// deleted again, by the delete rules of the model. Where the property of a conflict that
  /// waits for a person was set since, that is not written over: ``keep(conflict:of:)`` goes first.
  ///
  /// - Parameters:
  ///   - number: the conflict's number in the journal (`conflicts(of:)`).
  ///   - store: the replica.
  ///   - author: the author of the edit in history.
  ///   - keys: what encrypted properties are opened with: a value that was sealed when it lost is kept as it came.
  ///   - withoutLost: whether a deleted object comes back though values of it are missing: those whose files were gone when it
  ///     was deleted, and those that were set aside and cannot be held here still. Else that is refused, with their names.
  /// - Returns: the journal's entry as it is now.
  /// - Throws: `SyncError` (`unknownElement` when there is no such conflict, `cannotUndo` when its
  ///   value cannot be put back, with the reason), `StoreError`.
  @discardableResult
  public static func undo(
    conflict number: Int64, of store: PersistentStore, author: String? = nil,
    keys: KeyRing? = nil, withoutLost: Bool = false
  ) throws -> JournalEntry {
    if let entry = try givenUpDelete(number, of: store) {
      return try deleteAgain(entry, of: store, author: author)
    }
    return try settle(
      conflict: number, of: store, author: author, keys: keys, withoutLost: withoutLost
    ) { entry, schema, transaction in
      guard entry.decision != entry.loser else {
        throw SyncError(
          .cannotUndo, "Conflict \(number) was undone already.",
          suggestion: "Run: syncctl why \(entry.entity)/\(entry.object.uuidString.lowercased())"
            + ".\(entry.property ?? "")")
      }
      if entry.isWaiting, let standing = try standing(entry, schema, transaction),
        standing != entry.kept
      {
        throw SyncError(
          .cannotUndo,
          "\(entry.property ?? "") is \(standing) by now, and not what conflict \(number) left.",
          suggestion:
            "Keep that: syncctl conflicts keep \(number) --store \(store.label.shellWord); after it, undo "
            + "puts the other value back all the same")
      }
      return entry.loser
    }
  }

  /// Ends conflicts that wait for a person where somebody here has set the property since: that is a decision.
  func endDecided() throws {
    guard try store.read({ try Journal.waitingCount(on: $0.connection) }) > 0 else { return }
    try bookkeep { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      try endDecided(pendingSet(transaction, state: state), transaction)
    }
  }

  /// As above, before what is pending meets the zone or is acknowledged by it: afterwards nothing tells of an edit that came
  /// between two steps of a sync.
  func endDecided(_ pending: PendingSet, _ transaction: WriteTransaction) throws {
    let connection = transaction.connection
    guard !pending.isEmpty, try Journal.waitingCount(on: connection) > 0 else { return }
    for entry in try Journal.waiting(on: connection) {
      guard let name = entry.property,
        let entity = schema.entity(namedNowOrBefore: entry.entity),
        let property = entity.property(namedNowOrBefore: name),
        let key = try? PutBack.key(of: entry, entity, transaction),
        let object = pending[key], let edit = object.transaction(of: property.slot),
        edit > entry.transaction,
        // An object that came back has all of its properties as edits, which nobody set.
        object.whole == .none || edit != object.wholeTransaction,
        let standing = try Self.standing(entry, schema, transaction)
      else { continue }
      try Journal.keep(standing, in: entry.number, on: connection)
      try Journal.decide(
        entry.number, entry.loser == .local ? .remote : .local, at: store.now, on: connection)
    }
  }

  /// Decides that the value that stands shall stand. Nothing is changed but the journal.
  ///
  /// Of a conflict that waits for a person, what stands may be another value by now: it is what the journal has as kept. Where the object
  /// is deleted by then, or the model has no such property any more, that stands, and the entry's explanation says so.
  ///
  /// - Throws: `SyncError` (`unknownElement` when there is no such conflict, `cannotUndo` when what the conflict kept stands
  ///   no more: it was undone, the property was edited since, or the object was deleted), `StoreError`.
  @discardableResult
  public static func keep(
    conflict number: Int64, of store: PersistentStore
  ) throws -> JournalEntry {
    let schema = SyncSchema(store.schema)
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    return try store.write(info) { transaction in
      let entry = try journaled(number, store, transaction).entry
      let why =
        "Run: syncctl why \(entry.entity)/\(entry.object.uuidString.lowercased())"
        + ".\(entry.property ?? "")"
      guard entry.decision != entry.loser else {
        throw SyncError(
          .cannotUndo, "Conflict \(number) was undone: what it kept does not stand any more.",
          suggestion: why)
      }
      let side: JournalEntry.Side = entry.loser == .local ? .remote : .local
      if let standing = try standing(entry, schema, transaction), standing != entry.kept {
        guard entry.isWaiting else {
          throw SyncError(
            .cannotUndo,
            "What conflict \(number) kept does not stand any more: \(entry.property ?? "") is "
              + "\(standing) by now.", suggestion: why)
        }
        try Journal.keep(standing, in: number, on: transaction.connection)
      } else if let gone = try whatIsGone(of: entry, schema, transaction) {
        guard entry.isWaiting else {
          throw SyncError(
            .cannotUndo, "What conflict \(number) kept does not stand any more: \(gone)",
            suggestion: "To have it back: syncctl conflicts undo, with this conflict or that "
              + "about the object's delete. Else nothing needs to be done.")
        }
        try Journal.tell("\(gone) That stands.", in: number, on: transaction.connection)
      }
      try Journal.decide(number, side, at: store.now, on: transaction.connection)
      return try Journal.entry(number, on: transaction.connection)?.entry ?? entry
    }.0
  }

  /// Why no value stands that a conflict's property was given; nil where one does, and where what the conflict left is the delete.
  private static func whatIsGone(
    of entry: JournalEntry, _ schema: SyncSchema, _ transaction: ReadTransaction
  ) throws -> String? {
    guard let name = entry.property, entry.kept != nil else { return nil }
    guard schema.entity(namedNowOrBefore: entry.entity)?.property(namedNowOrBefore: name) != nil
    else { return "the model has no \(entry.entity).\(name) any more." }
    return try isAlive(entry, schema, transaction) ? nil : "the object is deleted."
  }

  /// The value of a conflict's property now; nil where the journal has none to compare it with, and where the object or the
  /// property is gone.
  private static func standing(
    _ entry: JournalEntry, _ schema: SyncSchema, _ transaction: ReadTransaction
  ) throws -> String? {
    guard entry.kept != nil, entry.kept != JournalDraft.sealedText, let name = entry.property,
      let entity = schema.entity(namedNowOrBefore: entry.entity),
      let property = entity.property(namedNowOrBefore: name),
      let key = try PutBack.key(of: entry, entity, transaction),
      let row = try transaction.knownRow(key)
    else { return nil }
    // A value whose file is gone is no null that stands.
    if row.lost.contains(property.slot) { return JournalDraft.lostText }
    if case .place = property.kind, entry.kept.flatMap(PlaceText.after) != nil {
      return try PlaceText.standing(of: key, property, transaction)
    }
    var json = JSONText()
    try ReplicaExport.append(property, of: key, values: row.values, transaction, to: &json)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// Settles a conflict as a person decides: one side's value stands, and is set as an edit made
  /// here when it does not stand already. A conflict whose policy is `manual` waits for this.
  ///
  /// - Throws: `SyncError` (`unknownElement` when there is no such conflict, `cannotUndo` when the value cannot be set, with the reason),
  ///   `StoreError`. Nothing is changed then.
  @discardableResult
  public static func decide(
    conflict number: Int64, for side: JournalEntry.Side, of store: PersistentStore,
    author: String? = nil, keys: KeyRing? = nil, withoutLost: Bool = false
  ) throws -> JournalEntry {
    if let entry = try givenUpDelete(number, of: store), side == entry.loser {
      return try deleteAgain(entry, of: store, author: author)
    }
    return try settle(
      conflict: number, of: store, author: author, keys: keys, withoutLost: withoutLost
    ) { _, _, _ in side }
  }

  /// - Parameter side: whose value is to stand. It is asked in the transaction that sets the value: others decide, edit and sync
  ///   meanwhile.
  private static func settle(
    conflict number: Int64, of store: PersistentStore, author: String?, keys: KeyRing?,
    withoutLost: Bool,
    for side: (JournalEntry, SyncSchema, ReadTransaction) throws -> JournalEntry.Side
  ) throws -> JournalEntry {
    let schema = SyncSchema(store.schema, keys: keys)
    do {
      return try store.write(TransactionInfo(author: author, kind: .local)) { transaction in
        let (entry, values) = try journaled(number, store, transaction)
        let side = try side(entry, schema, transaction)
        let putBack = { entity in
          PutBack(
            entry, entity, transaction, schema: schema, withoutLost: withoutLost, now: store.now)
        }
        try set(side, of: entry, values, schema, transaction, by: putBack)
        try Journal.decide(number, side, at: store.now, on: transaction.connection)
        return try Journal.entry(number, on: transaction.connection)?.entry ?? entry
      }.0
    } catch let error as StoreError where error.code == .constraint {
      throw SyncError(
        .cannotUndo,
        "What conflict \(number) would put back is a unique value that another object has now.",
        suggestion: "Give that one another value first, or: syncctl conflicts keep \(number) "
          + "--store \(store.label.shellWord)")
    }
  }

  /// Has one side's value stand, as an edit made here.
  private static func set(
    _ side: JournalEntry.Side, of entry: JournalEntry, _ values: Journal.Values,
    _ schema: SyncSchema, _ transaction: WriteTransaction,
    by putBack: (SyncSchema.Entity) -> PutBack
  ) throws {
    let number = entry.number
    guard let name = entry.property else {
      guard side == entry.loser, let row = values.row else {
        throw SyncError(
          .cannotUndo, "Conflict \(number) is about the object as a whole, which stays.",
          suggestion: "Delete the object where that is meant.")
      }
      guard let entity = schema.entity(namedNowOrBefore: entry.entity) else {
        throw noLonger(entry.entity, "make the object anew as what it is now")
      }
      guard entry.outcome != .combined else {
        throw SyncError(
          .cannotUndo,
          "In conflict \(number) two objects with one unique key became one, "
            + "\(entry.object.uuidString.lowercased()).",
          suggestion: "Make the other one anew, with another key.")
      }
      return try putBack(entity).bringBack(row)
    }
    let set = side == .local ? entry.local : entry.remote
    if let value = side == .local ? values.local : values.remote {
      let (entity, property) = try property(name, of: entry, schema)
      if side == .local, entry.outcome == .remote, entry.isOfUnknownZone, entry.base != nil,
        property.policy == .counter
      {
        // Of a count that was left out the journal has what was counted: it is added once.
        if entry.decision != .local { try putBack(entity).add(value, property, row: values.row) }
        return
      }
      let opener = CellOpener(transaction, schema: schema)
      let opened = SealedValue.cell(in: value).flatMap {
        opener.value(ofCell: $0, property, of: entity, identity: entry.object)
      }
      try putBack(entity).set(opened ?? value, property, row: values.row, text: set)
    } else if let set {
      let (entity, property) = try property(name, of: entry, schema)
      try putBack(entity).set(elements: set, property, row: values.row)
    } else if side == .remote, entry.isOfUnknownZone {
      throw SyncError(
        .cannotUndo,
        "Conflict \(number) does not have what \(name) was in the zone: \(entry.explanation)",
        suggestion: "Set \(name) by hand to what it is to be.")
    } else if try isAlive(entry, schema, transaction) {
      throw SyncError(
        .cannotUndo, "On that side object \(entry.object.uuidString.lowercased()) was deleted.",
        suggestion: "Delete it where that is meant.")
    }
  }

  private static func property(
    _ name: String, of entry: JournalEntry, _ schema: SyncSchema
  ) throws -> (SyncSchema.Entity, SyncSchema.Property) {
    guard let entity = schema.entity(namedNowOrBefore: entry.entity),
      let property = entity.property(namedNowOrBefore: name)
    else {
      throw noLonger("\(entry.entity).\(name)", "set the value by hand where it belongs now")
    }
    return (entity, property)
  }

  private static func noLonger(_ element: String, _ other: String) -> SyncError {
    SyncError(
      .cannotUndo, "The model has no \(element) any more.",
      suggestion:
        "Give the store a model that has it (syncctl migrate FILE --model MODEL), and undo it then; or \(other)."
    )
  }

  private static func journaled(
    _ number: Int64, _ store: PersistentStore, _ transaction: ReadTransaction
  ) throws -> (entry: JournalEntry, values: Journal.Values) {
    let connection = transaction.connection
    guard try EngineTables.exist(on: connection),
      let found = try Journal.entry(number, on: connection)
    else {
      throw SyncError(
        .unknownElement, "The journal has no conflict \(number).",
        suggestion: "Run: syncctl conflicts --store \(store.label.shellWord)")
    }
    return found
  }

  private static func isAlive(
    _ entry: JournalEntry, _ schema: SyncSchema, _ transaction: ReadTransaction
  ) throws -> Bool {
    guard let entity = schema.entity(namedNowOrBefore: entry.entity),
      let key = try PutBack.key(of: entry, entity, transaction)
    else { return false }
    return try transaction.knownRow(key) != nil
  }
}

extension JournalEntry {
  /// What was given up here, or sent by a person's word, with no change of the zone to meet it.
  fileprivate var isOfUnknownZone: Bool {
    remote == nil && kept == nil && property != nil && sequence == 0
      && origin == RemoteSide.unknown.origin
  }
}
