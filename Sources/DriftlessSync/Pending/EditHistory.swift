import Driftless
import DriftlessSQLite

/// When each property of each object was last edited, anywhere, as far as history knows.
///
/// It is asked when a zone lost what it had: everything is offered again, with the time of the edit,
/// so that an old value does not win over a newer one.
struct EditHistory {
  /// The edits by object, with their times in place of transactions (`EditStamp`); what was deleted keeps those that it had.
  private var objects: [ObjectKey: PendingObject] = [:]
  /// What was deleted, and when.
  private(set) var deleted: [ObjectKey: HybridTime] = [:]
  /// Who made the edits of a time (`EditStamp`).
  private(set) var origins: [Int64: EditOrigin] = [:]

  /// Knows nothing: for rows that history does not name.
  init() {}

  /// Reads the whole history that the store has.
  ///
  /// - Parameter acknowledged: edits that were made here after this transaction are left out.
  init(
    _ transaction: ReadTransaction, schema: SyncSchema, acknowledged: Int64
  ) throws {
    try read(transaction, schema, acknowledged: acknowledged) { _ in true }
  }

  private mutating func read(
    _ transaction: ReadTransaction, _ schema: SyncSchema, acknowledged: Int64 = .max,
    leavingOut unsent: [ObjectKey: PendingObject] = [:], where isWanted: (ObjectKey) -> Bool
  ) throws {
    var imports = try ImportedTimes(transaction)
    var locals = LocalOrigins()
    try transaction.forEachNumberedChange { header, number, type, key, mask in
      guard isWanted(key), let entity = schema.entity(numbered: key.entity),
        type == .delete || header.kind == .imported || header.number <= acknowledged
      else { return }
      let imported = header.kind == .imported ? imports.row(of: number) : nil
      let time = imported?.time ?? header.hybridTime
      let stamp = EditStamp.number(time)
      let origin =
        header.kind == .imported
        ? imported?.origin : try locals.origin(of: header.number, transaction)
      if let origin, origins[stamp] == nil { origins[stamp] = origin }
      switch type {
      case .insert:
        var object = PendingObject()
        object.set(entity.all, by: stamp)
        object.wholeTransaction = stamp
        // Of one that came, the entry that is kept of it tells the name (`follow`).
        if header.kind != .imported { object.maker = header.name }
        objects[key] = object
        deleted[key] = nil
      case .update:
        var slots = PropertyMask((mask ?? PropertyMask()).indexes.filter(entity.all.contains))
        for edit in unsent[key]?.edits ?? [] where edit.transaction == header.number {
          slots.subtract(edit.properties)
        }
        objects[key, default: PendingObject()].set(slots, by: stamp)
      case .delete:
        deleted[key] = time
      }
    }
  }

  /// Reads when the properties of some objects were edited.
  init(_ transaction: ReadTransaction, schema: SyncSchema, of objects: Set<ObjectKey>) throws {
    try read(transaction, schema) { objects.contains($0) }
  }

  /// Reads which edits of what is deleted here, and pending, were known here: those that came, and those made here that
  /// the zone has acknowledged.
  init(
    _ transaction: ReadTransaction, schema: SyncSchema, knownOfDeleted pending: PendingSet,
    acknowledged: Int64
  ) throws {
    let deleted = Dictionary(
      uniqueKeysWithValues: pending.objects.lazy.filter { $0.value.whole == .delete }
        .map { ($0.key, $0.value) })
    try read(transaction, schema, acknowledged: acknowledged, leavingOut: deleted) {
      deleted[$0] != nil
    }
  }

  /// Takes over what the zone's log says: its order is the same for everybody, which local history is not.
  mutating func follow(_ log: LostEdits) {
    origins.merge(log.origins) { $1 }
    for (key, said) in log.objects {
      if said.whole == .delete {
        deleted[key] = EditStamp.time(said.wholeTransaction)
        continue
      }
      var object = objects[key] ?? PendingObject()
      if said.whole != .none { object.wholeTransaction = said.wholeTransaction }
      if said.maker != 0 { object.maker = said.maker }
      for edit in said.edits { object.set(edit.properties, by: edit.transaction) }
      objects[key] = object
    }
  }

  /// When a property was last edited; nil when history does not know.
  func time(of key: ObjectKey, _ slot: Int) -> HybridTime? {
    objects[key]?.transaction(of: slot).flatMap(EditStamp.time)
  }

  /// An object to be offered whole. What history does not know any more is older than all it does.
  func offer(_ key: ObjectKey, _ entity: SyncSchema.Entity) -> PendingObject {
    var object = objects[key] ?? PendingObject()
    var unknown = entity.all
    unknown.subtract(object.properties)
    object.set(unknown, by: EditStamp.number(HybridTime(rawValue: 0)))
    let isMakingKnown = object.wholeTransaction != 0
    object.whole = .insert
    if !isMakingKnown {
      object.wholeTransaction =
        object.edits.first?.transaction ?? EditStamp.number(HybridTime(rawValue: 0))
    }
    object.offers = object.edits
    return object
  }
}

/// The times of imported changes, asked in the order of history.
private struct ImportedTimes {
  private let rows: [ImportTimes.Row]
  private var place = 0

  init(_ transaction: ReadTransaction) throws {
    rows = try ImportTimes.all(on: transaction.connection)
  }

  mutating func row(of change: Int64) -> ImportTimes.Row? {
    while place + 1 < rows.count, rows[place + 1].firstChange <= change { place += 1 }
    return place < rows.count && rows[place].firstChange <= change ? rows[place] : nil
  }
}

/// Who made transactions of this store, asked in the order of history: once each.
private struct LocalOrigins {
  private var last: (number: Int64, origin: EditOrigin?)?

  mutating func origin(of number: Int64, _ transaction: ReadTransaction) throws -> EditOrigin? {
    if let last, last.number == number { return last.origin }
    let (author, contextName) = try transaction.origin(ofTransaction: number)
    let origin = EditOrigin(author: author, contextName: contextName)
    last = (number, origin)
    return origin
  }
}
