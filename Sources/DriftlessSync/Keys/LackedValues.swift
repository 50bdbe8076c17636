import Driftless
import DriftlessSQLite
import Foundation

/// Required properties that are empty: references and values of unique keys, where a merge could not keep them filled, and values that an
/// import or a program with another model said are null.
/// The object shows null there on every replica, and a list of what is set aside names it until somebody sets it. Owns
/// `ZDL_LACKED`.
final class LackedValues {
  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .text("property"), .bytes("had"), .identity("origin"), .natural("sequence"),
    .seconds("since"),
  ]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_LACKED(
      entity INTEGER NOT NULL, key INTEGER NOT NULL, property TEXT NOT NULL, had BLOB NOT NULL,
      origin BLOB NOT NULL, sequence INTEGER NOT NULL, since REAL NOT NULL,
      PRIMARY KEY (entity, key, property)\(RowRule.constraints(rules))) WITHOUT ROWID
    """

  /// How a list of what is set aside names them.
  static let code = "required-empty"

  static let table = "ZDL_LACKED"

  private struct Lack {
    /// Null where that is not known here.
    var had: PropertyValue
    var side: RemoteSide
  }

  /// New rows of an entity, by their keys: which of them have no partner is known when all of them were followed.
  private struct Newcomers {
    var keys: ClosedRange<Int64>
    var side: RemoteSide
  }

  /// What was written without a value. Much of it is filled before the transaction ends.
  private var written: [ObjectKey: [Int: Lack]] = [:]
  private var newcomers: [Int32: [Newcomers]] = [:]
  /// What the table has, as far as something asked.
  private var noted: [ObjectKey: Set<Int>] = [:]
  /// Whether that is all; nil while nothing asked.
  private var hasAllNoted: Bool?
  /// The references that it has, once something asks.
  private var notedReferences: [ObjectKey: Set<Int>]?
  /// What of that is filled by now, or gone.
  private var filled: [ObjectKey: Set<Int>] = [:]

  /// A row was written without a value that its model requires.
  func note(_ key: ObjectKey, _ slot: Int, had: PropertyValue, _ side: RemoteSide) {
    filled[key]?.remove(slot)
    if had.isNull, written[key]?[slot] != nil { return }
    written[key, default: [:]][slot] = Lack(had: had, side: side)
  }

  /// A row was written with a value that its model requires.
  func noteFill(_ key: ObjectKey, _ slot: Int, _ transaction: ReadTransaction) throws {
    if !written.isEmpty { written[key]?[slot] = nil }
    if try noted(of: key, transaction).contains(slot) {
      filled[key, default: []].insert(slot)
    }
  }

  /// A row goes.
  func noteGone(_ key: ObjectKey, _ transaction: ReadTransaction) throws {
    if !written.isEmpty { written[key] = nil }
    let slots = try noted(of: key, transaction)
    if !slots.isEmpty { filled[key] = slots }
  }

  /// A row is new, and its entity requires partners at ends that follow others.
  func noteNew(_ key: ObjectKey, _ side: RemoteSide) {
    // Rows of before that lie between are looked at as well.
    if let last = newcomers[key.entity]?.last?.keys, key.key >= last.lowerBound,
      key.key - last.upperBound < 1_000, let count = newcomers[key.entity]?.count
    {
      newcomers[key.entity]?[count - 1].keys = last.lowerBound...max(last.upperBound, key.key)
    } else {
      newcomers[key.entity, default: []].append(Newcomers(keys: key.key...key.key, side: side))
    }
  }

  /// What the table has of an object. A few rows are read at once; of many, as a property that became required may leave them, those
  /// that are asked for.
  private func noted(of key: ObjectKey, _ transaction: ReadTransaction) throws -> Set<Int> {
    let hasAll = try readFew(transaction)
    if let slots = noted[key] { return slots }
    guard !hasAll else { return [] }
    var slots: Set<Int> = []
    try Self.forEach(
      "WHERE entity = ? AND key = ?", [.integer(Int64(key.entity)), .integer(key.key)], transaction
    ) { slots.insert($1) }
    noted[key] = slots
    return slots
  }

  /// - Returns: whether those are all.
  private func readFew(_ transaction: ReadTransaction) throws -> Bool {
    if let hasAllNoted { return hasAllNoted }
    var rows: [(key: ObjectKey, slot: Int)] = []
    let most = SyncTuning.lacksAtOnce
    let count = try Self.forEach("LIMIT \(most + 1)", [], transaction) { rows.append(($0, $1)) }
    let hasAll = count <= most
    for row in rows where hasAll { noted[row.key, default: []].insert(row.slot) }
    hasAllNoted = hasAll
    return hasAll
  }

  /// What the table has, without attributes where it has many.
  private func references(_ transaction: ReadTransaction) throws -> [ObjectKey: Set<Int>] {
    if try readFew(transaction) { return noted }
    if let notedReferences { return notedReferences }
    var references: [ObjectKey: Set<Int>] = [:]
    for number in try Self.entities(transaction) {
      let names = transaction.schema.entity(numbered: number)?.layout.slots
        .compactMap { $0.relationship == nil ? nil : SQLiteValue.text($0.name) }
      guard let names, !names.isEmpty else { continue }
      let places = names.map { _ in "?" }.joined(separator: ", ")
      try Self.forEach(
        "WHERE entity = ? AND property IN (\(places))", [.integer(Int64(number))] + names,
        transaction
      ) { references[$0, default: []].insert($1) }
    }
    notedReferences = references
    return references
  }

  /// The entities of which something is empty.
  private static func entities(_ transaction: ReadTransaction) throws -> [Int32] {
    var numbers: [Int32] = []
    var last: Int64 = .min
    var isThere = true
    while isThere {
      isThere = false
      try transaction.connection.forEachRow(
        "SELECT entity FROM ZDL_LACKED WHERE entity > ? ORDER BY entity LIMIT 1", [.integer(last)]
      ) { row in
        last = row.int64(0)
        isThere = true
      }
      if isThere, let number = Int32(exactly: last) { numbers.append(number) }
    }
    return numbers
  }

  /// Looks which of the new rows have no partner.
  private func lookAtNewcomers(_ transaction: ReadTransaction) throws {
    for (number, ranges) in newcomers {
      for slot in transaction.schema.requiredFollowers(numbered: number).indexes {
        for range in ranges {
          for key in try transaction.keys(
            of: number, withoutAnyOf: PropertyMask([slot]), in: [range.keys])
          {
            note(key, slot, had: .null, range.side)
          }
        }
      }
    }
    newcomers.removeAll()
  }

  /// The references that are empty now, of what was written without a value, here or before.
  func emptyReferences(_ transaction: ReadTransaction) throws -> [(key: ObjectKey, slot: Int)] {
    try lookAtNewcomers(transaction)
    let noted = try references(transaction)
    let found = noted.merging(written.mapValues { Set($0.keys) }) { $0.union($1) }
    var empty: [(key: ObjectKey, slot: Int)] = []
    for (key, slots) in found.sorted(by: {
      ($0.key.entity, $0.key.key) < ($1.key.entity, $1.key.key)
    }) {
      guard let layout = transaction.schema.entity(numbered: key.entity)?.layout else { continue }
      let references = slots.filter { layout.slots[$0].relationship != nil }.sorted()
      guard !references.isEmpty else { continue }
      let row = try transaction.knownOwnRow(key)?.values
      for slot in references {
        if row?[slot].isNull == true {
          empty.append((key, slot))
        } else if noted[key]?.contains(slot) == true {
          filled[key, default: []].insert(slot)
        }
      }
    }
    return empty
  }

  /// Notes what is empty in the end, and lets go of what is not.
  func save(_ transaction: WriteTransaction, at now: Date) throws {
    let connection = transaction.connection
    try lookAtNewcomers(transaction)
    var anew: [AcceptedParking.Value] = []
    for (key, lacks) in written {
      guard let row = try transaction.knownOwnRow(key)?.values,
        let layout = transaction.schema.entity(numbered: key.entity)?.layout
      else { continue }
      for (slot, lack) in lacks where row[slot].isNull {
        // What it had once says more than that it had nothing since.
        let verb = lack.had.isNull ? "INSERT OR IGNORE" : "INSERT OR REPLACE"
        if !lack.had.isNull {
          anew.append(
            AcceptedParking.Value(
              object: try transaction.identity(of: key), property: layout.slots[slot].name))
        }
        try connection.perform(
          "\(verb) INTO ZDL_LACKED VALUES (?, ?, ?, ?, ?, ?, ?)",
          [
            .integer(Int64(key.entity)), .integer(key.key), .text(layout.slots[slot].name),
            .blob(RowArchive.encode([lack.had])), .uuid(lack.side.origin),
            .unsigned(lack.side.sequence), .real(now.timeIntervalSince1970),
          ])
      }
    }
    written.removeAll()
    try AcceptedParking.forget(anew, transaction)
    try Self.drop(
      filled.flatMap { key, slots in slots.map { (key: key, slot: $0) } }, transaction)
    filled.removeAll()
    (noted, hasAllNoted, notedReferences) = ([:], nil, nil)
  }

  /// Lets go of what is not empty any more; it is accepted no longer.
  private static func drop(
    _ filled: [(key: ObjectKey, slot: Int)], _ transaction: WriteTransaction
  ) throws {
    var dropped: [AcceptedParking.Value] = []
    for (key, slot) in filled where try transaction.knownOwnRow(key)?.values[slot].isNull != true {
      guard let name = transaction.schema.entity(numbered: key.entity)?.layout.slots[slot].name
      else { continue }
      try transaction.connection.perform(
        "DELETE FROM ZDL_LACKED WHERE entity = ? AND key = ? AND property = ?",
        [.integer(Int64(key.entity)), .integer(key.key), .text(name)])
      dropped.append(
        AcceptedParking.Value(object: try transaction.identity(of: key), property: name))
    }
    try AcceptedParking.forget(dropped, transaction)
  }

  /// The zone has what was edited here: lets go of what that filled, or deleted, and notes what it left empty, as all others do. Where
  /// the model has a default for that, it is shown here too from now on.
  ///
  /// - Parameter taken: what the zone took, of what was pending.
  static func settle(
    _ taken: PendingSet, _ transaction: WriteTransaction, _ schema: SyncSchema,
    by state: ReplicaState, at now: Date
  ) throws {
    guard try EngineTables.has(table, on: transaction.connection) else { return }
    try noteEmpty(taken, transaction, schema, by: state, at: now)
    guard try transaction.connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_LACKED)") != 0 else {
      return
    }
    var filled: [(key: ObjectKey, slot: Int)] = []
    for (entity, keys) in stretches(of: taken) {
      try forEach(
        "WHERE entity = ? AND key BETWEEN ? AND ?",
        [.integer(Int64(entity)), .integer(keys.lowerBound), .integer(keys.upperBound)], transaction
      ) { key, slot in
        let object = taken[key]
        guard object?.whole == .delete || object?.transaction(of: slot) != nil else { return }
        filled.append((key, slot))
      }
    }
    // Ends that follow are of others than those that were edited.
    if transaction.schema.hasRequiredFollowers, OneToOneEnds.mayClash(taken, transaction.schema) {
      try forEach("", [], transaction) { key, slot in
        guard transaction.schema.requiredFollowers(numbered: key.entity).contains(slot) else {
          return
        }
        filled.append((key, slot))
      }
    }
    try drop(filled, transaction)
  }

  /// Where the objects are that the zone took: those that lie near each other are looked for at once.
  private static func stretches(
    of taken: PendingSet
  ) -> [(entity: Int32, keys: ClosedRange<Int64>)] {
    var stretches: [(entity: Int32, keys: ClosedRange<Int64>)] = []
    taken.objects.forEachInOrder { key, _ in
      if let last = stretches.last, last.entity == key.entity,
        key.key >= last.keys.lowerBound, key.key - last.keys.upperBound < 16
      {
        let end = max(last.keys.upperBound, key.key)
        stretches[stretches.count - 1].keys = last.keys.lowerBound...end
      } else {
        stretches.append((key.entity, key.key...key.key))
      }
    }
    return stretches
  }

  private static func noteEmpty(
    _ taken: PendingSet, _ transaction: WriteTransaction, _ schema: SyncSchema,
    by state: ReplicaState, at now: Date
  ) throws {
    for (edited, ranges) in editedRanges(taken, transaction.schema) {
      guard let slots = transaction.schema.entity(numbered: edited.entity)?.layout.slots else {
        continue
      }
      for key in try transaction.keys(
        of: edited.entity, withoutAnyOf: edited.required, in: ranges)
      {
        guard let row = try transaction.knownOwnRow(key) else { continue }
        let properties = schema.entity(numbered: key.entity)
        var (values, filled) = (row.values, PropertyMask())
        for slot in edited.required.indexes
        where row.values[slot].isNull && !row.lost.contains(slot) {
          if let shown = properties?.property(at: slot)?.standIn?.shown(for: .null), !shown.isNull {
            values[slot] = shown
            filled.insert(slot)
            continue
          }
          try transaction.connection.perform(
            "INSERT OR IGNORE INTO ZDL_LACKED VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
              .integer(Int64(key.entity)), .integer(key.key), .text(slots[slot].name),
              .blob(RowArchive.encode([PropertyValue.null])), .uuid(state.replica),
              .unsigned(state.cursor), .real(now.timeIntervalSince1970),
            ])
        }
        if !filled.isEmpty {
          try transaction.update(key, filled, values: values, expectedVersion: nil)
        }
      }
    }
  }

  /// What edits may have left empty.
  private struct Edited: Hashable {
    var entity: Int32
    var required: PropertyMask
  }

  /// The rows that were edited, and no others: runs of those of which the same was edited.
  private static func editedRanges(
    _ pending: PendingSet, _ schema: StoreSchema
  ) -> [Edited: [ClosedRange<Int64>]] {
    var ranges: [Edited: [ClosedRange<Int64>]] = [:]
    pending.objects.forEachInOrder { key, object in
      guard object.whole != .delete else { return }
      var required = schema.requiredMask(numbered: key.entity)
      required.subtract(schema.requiredFollowers(numbered: key.entity))
      if object.whole == .none { required.formIntersection(object.properties) }
      guard !required.isEmpty else { return }
      let edited = Edited(entity: key.entity, required: required)
      if let last = ranges[edited]?.last, last.upperBound == key.key - 1,
        let count = ranges[edited]?.count
      {
        ranges[edited]?[count - 1] = last.lowerBound...key.key
      } else {
        ranges[edited, default: []].append(key.key...key.key)
      }
    }
    return ranges
  }

  /// The log above a place is another one.
  static func redate(above sequence: UInt64, on connection: SQLiteConnection) throws {
    guard try EngineTables.has(table, on: connection) else { return }
    try connection.perform(
      "UPDATE ZDL_LACKED SET sequence = ? WHERE sequence > ?",
      [.unsigned(sequence), .unsigned(sequence)])
  }

  /// - Returns: how many rows those are, with those that the model does not know.
  @discardableResult
  static func forEach(
    _ which: String, _ values: [SQLiteValue], _ transaction: ReadTransaction,
    _ body: (ObjectKey, Int) throws -> Void
  ) throws -> Int {
    var count = 0
    var rows: [(ObjectKey, Int)] = []
    try transaction.connection.forEachRow(
      "SELECT entity, key, property FROM ZDL_LACKED \(which)", values
    ) { row in
      count += 1
      let key = row.objectKey(0, 1)
      guard
        let slot = transaction.schema.entity(numbered: key.entity)?.layout
          .index(named: row.string(2))
      else { return }
      rows.append((key, slot))
    }
    for (key, slot) in rows { try body(key, slot) }
    return count
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_LACKED")
  }
}
