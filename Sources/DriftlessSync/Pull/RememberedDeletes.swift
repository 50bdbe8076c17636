import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Deletes of objects that were made and deleted here before they were sent, which a copy of this store may send
/// (`ZDL_DELETED`). When such an object comes, the delete is carried out again and sent.
///
/// Deletes of what a zone knew and lost are another matter: they are told as tombstones (`OfferedDeletes`). What was deleted
/// in a zone that the store has left, and came with another one, is noted here until it is told (`FormerZone`).
///
/// When each was noted lies in a table beside it (`ZDL_DELETED_SINCE`): programs of before write the six columns that they know, and
/// the term of what they wrote begins with the next sync.
struct RememberedDeletes {
  struct Row {
    var identity: UUID
    /// What it was here.
    var key: ObjectKey
    /// The name of the transaction that made it here; 0 where the delete was told to a zone that the store has left.
    var maker: UInt64
    var time: HybridTime
    /// It came.
    var hasCome: Bool
  }

  private let connection: SQLiteConnection
  private var rows: [UUID: Row] = [:]
  /// Those that came, by what they were here.
  private var come: [ObjectKey: Set<UUID>] = [:]

  init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    var rows: [Row] = []
    try connection.forEachRow(
      "SELECT identity, maker, time, has_come, entity, key FROM ZDL_DELETED"
    ) { row in
      guard let identity = UUID(networkBytes: row.data(0)) else { return }
      rows.append(
        Row(
          identity: identity,
          key: row.objectKey(4, 5),
          maker: row.unsigned(1),
          time: HybridTime(rawValue: row.unsigned(2)), hasCome: row.int64(3) != 0))
    }
    for row in rows { set(row) }
  }

  private mutating func set(_ row: Row) {
    remove(row.identity)
    rows[row.identity] = row
    if row.hasCome { come[row.key, default: []].insert(row.identity) }
  }

  private mutating func remove(_ identity: UUID) {
    guard let row = rows.removeValue(forKey: identity), row.hasCome else { return }
    come[row.key]?.remove(identity)
    if come[row.key]?.isEmpty == true { come[row.key] = nil }
  }

  var isEmpty: Bool { rows.isEmpty }

  /// The names of the transactions that made them here.
  var makers: Set<UInt64> { Set(rows.values.lazy.map(\.maker).filter { $0 != 0 }) }

  private static func add(
    _ identity: UUID, _ key: ObjectKey, maker: UInt64, time: HybridTime,
    _ transaction: WriteTransaction
  ) throws {
    let connection = transaction.connection
    try connection.perform(
      """
      INSERT INTO ZDL_DELETED (identity, entity, key, maker, time, has_come)
      VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING
      """,
      [
        .uuid(identity), .integer(Int64(key.entity)), .integer(key.key),
        .integer(Int64(bitPattern: maker)), .integer(Int64(bitPattern: time.rawValue)),
      ])
    guard connection.changes > 0 else { return }
    try connection.perform(
      "INSERT OR REPLACE INTO ZDL_DELETED_SINCE VALUES (?, ?)",
      [.uuid(identity), .real(try SeenTime.seconds(transaction))])
  }

  /// Notes the pending deletes of objects that the zone does not know.
  static func noteUnsent(
    _ pending: PendingSet, after acknowledged: Int64, _ transaction: WriteTransaction,
    schema: SyncSchema
  ) throws {
    guard pending.objects.containsState(where: { $0.whole == .delete }) else { return }
    var directory = ObjectDirectory(transaction.connection)
    var unsent: Set<ObjectKey> = []
    for (key, object) in pending.objects where object.whole == .delete {
      if try directory.number(root: schema.root(of: key), key: key.key) == nil {
        unsent.insert(key)
      }
    }
    guard !unsent.isEmpty else { return }
    var makers: [ObjectKey: Int64] = [:]
    try transaction.forEachChange(after: acknowledged, passingOver: .imported) {
      header, type, key, _ in
      if type == .insert, unsent.contains(key) { makers[key] = header.number }
    }
    for (key, maker) in makers {
      let name = try transaction.transactionName(maker)
      guard name != 0, let object = pending[key] else { continue }
      try add(
        transaction.identity(of: key), key, maker: name,
        time: transaction.editTime(object.wholeTransaction), transaction)
    }
  }

  /// Takes note of the new objects of a change set.
  ///
  /// - Parameter madeAt: when a save was made here, by its name.
  mutating func meet(
    _ run: ChangeSetIndex.NewObjects, _ frame: inout FrameContext,
    madeAt: (UInt64) throws -> HybridTime?
  ) throws {
    for (identity, place) in among(run.identities) {
      guard var row = rows[identity] else { continue }
      // A given identity is no object's alone, and a save's name is.
      var isSame = frame.tells(row.maker)
      // Who offers it has it from a snapshot, or keeps the entry that made it no more: the time of its making is left.
      if !isSame, !run.isGiven, !run.makers.indices.contains(place) || run.makers[place] == 0,
        let time = try madeAt(row.maker)
      {
        isSame = frame.offersAsMade(time, at: place)
      }
      // Else it is another object.
      row.hasCome = isSame
      try note(row)
    }
  }

  /// Those of some identities that are remembered, with their places among them.
  private func among(
    _ identities: ChangeSetIndex.Identities
  ) -> [(identity: UUID, place: Int)] {
    guard !rows.isEmpty else { return [] }
    if case .range(let first, let count) = identities, count > rows.count {
      let (high, start) = first.halves
      return rows.keys.compactMap { identity in
        let own = identity.halves
        guard own.high == high, own.low >= start, own.low - start < UInt64(count) else {
          return nil
        }
        return (identity, Int(own.low - start))
      }.sorted { $0.place < $1.place }
    }
    return (0..<identities.count).compactMap { place in
      rows[identities[place]] == nil ? nil : (identities[place], place)
    }
  }

  /// What came is kept until the delete is carried out again; of what did not the delete is done with.
  private mutating func note(_ row: Row) throws {
    guard row.hasCome else { return try forget(row.identity) }
    set(row)
    try connection.perform(
      "UPDATE ZDL_DELETED SET has_come = 1 WHERE identity = ?", [.uuid(row.identity)])
  }

  /// Takes note of new objects of what a log came to.
  ///
  /// - Parameters:
  ///   - isAlive: they were not deleted in the zone as well.
  ///   - hasCome: whether the zone knows the save of a name.
  /// - Returns: false where it is not known who made one.
  mutating func meet(
    _ run: ChangeSetIndex.NewObjects, isAlive: Bool, hasCome: (UInt64) -> Bool
  ) throws -> Bool {
    for (identity, _) in among(run.identities) {
      guard var row = rows[identity] else { continue }
      let isSame = hasCome(row.maker)
      // A given identity is no object's alone.
      guard isSame || run.isGiven else { return false }
      row.hasCome = isSame && isAlive
      try note(row)
    }
    return true
  }

  /// Notes that an object came whose delete was told to another zone.
  mutating func addCome(
    _ identity: UUID, _ key: ObjectKey, time: HybridTime, _ transaction: WriteTransaction
  ) throws {
    try Self.add(identity, key, maker: 0, time: time, transaction)
    try note(Row(identity: identity, key: key, maker: 0, time: time, hasCome: true))
  }

  static func removeAll(on connection: SQLiteConnection) throws {
    try connection.perform("DELETE FROM ZDL_DELETED")
    try connection.perform("DELETE FROM ZDL_DELETED_SINCE")
  }

  /// What an object that came was here.
  func key(of identity: UUID) -> ObjectKey? {
    rows[identity].flatMap { $0.hasCome ? $0.key : nil }
  }

  /// Whether one of these came.
  func have(_ identities: ChangeSetIndex.Identities) -> Bool {
    haveCome && among(identities).contains { rows[$0.identity]?.hasCome == true }
  }

  /// Whether one of these may be one of those.
  func mayBe(_ identities: ChangeSetIndex.Identities) -> Bool {
    !among(identities).isEmpty
  }

  var haveCome: Bool { !come.isEmpty }

  /// Those that came, by what they were here, in a set order.
  var rowsThatCame: [Row] {
    come.values.joined().compactMap { rows[$0] }.sorted { $0.identity.precedes($1.identity) }
  }

  /// Whether an object came, by its key under the root entity.
  func haveCome(root: ObjectKey, _ schema: SyncSchema) -> Bool {
    guard haveCome else { return false }
    return come[root] != nil
      || schema.entities.contains {
        $0.rootNumber == root.entity && come[ObjectKey(entity: $0.number, key: root.key)] != nil
      }
  }

  /// What the log says of an object that came, and was deleted there too, is newer than the delete here.
  mutating func forget(_ key: ObjectKey) throws {
    for identity in come[key] ?? [] { try forget(identity) }
  }

  mutating func forget(_ identity: UUID) throws {
    remove(identity)
    try connection.perform("DELETE FROM ZDL_DELETED WHERE identity = ?", [.uuid(identity)])
    try connection.perform("DELETE FROM ZDL_DELETED_SINCE WHERE identity = ?", [.uuid(identity)])
  }

  /// Lets go of those whose term has passed: a copy of the store may sleep for as long as a zone tells names of saves.
  static func trim(_ dates: SeenTime.Dates, on connection: SQLiteConnection) throws {
    try connection.perform(
      """
      INSERT INTO ZDL_DELETED_SINCE SELECT identity, ? FROM ZDL_DELETED
      WHERE identity NOT IN (SELECT identity FROM ZDL_DELETED_SINCE)
      """, [.real(dates.now)])
    try dates.trim(
      "ZDL_DELETED_SINCE", by: "noted", after: SyncTuning.rememberedDeleteSeconds, on: connection)
    // Programs of before let go of a delete, and know of no date.
    try connection.execute(
      """
      DELETE FROM ZDL_DELETED WHERE identity NOT IN (SELECT identity FROM ZDL_DELETED_SINCE);
      DELETE FROM ZDL_DELETED_SINCE WHERE identity NOT IN (SELECT identity FROM ZDL_DELETED)
      """)
  }

  /// Takes the dates out of a table of an earlier version, which had them in a column of their own.
  static func complete(on connection: SQLiteConnection) throws {
    guard try EngineTables.has(column: "noted", of: "ZDL_DELETED", on: connection) else { return }
    try connection.execute(
      """
      INSERT OR IGNORE INTO ZDL_DELETED_SINCE
      SELECT identity, noted FROM ZDL_DELETED WHERE noted > 0;
      ALTER TABLE ZDL_DELETED RENAME TO ZDL_DELETED_FORMER;
      \(statement);
      INSERT INTO ZDL_DELETED SELECT identity, entity, key, maker, time, has_come FROM ZDL_DELETED_FORMER;
      DROP TABLE ZDL_DELETED_FORMER
      """)
  }

  /// What each row keeps by itself.
  static let rules: [RowRule] = [
    .identity("identity"), .integer("maker"), .integer("time"), .integer("has_come", 0...1),
  ]
  static let sinceRules: [RowRule] = [.identity("identity"), .seconds("noted")]
  static let statement = """
    CREATE TABLE IF NOT EXISTS ZDL_DELETED(
      identity BLOB PRIMARY KEY, entity INTEGER NOT NULL, key INTEGER NOT NULL,
      maker INTEGER NOT NULL, time INTEGER NOT NULL,
      has_come INTEGER NOT NULL\(RowRule.constraints(rules))) WITHOUT ROWID
    """
  static let sinceStatement = """
    CREATE TABLE IF NOT EXISTS ZDL_DELETED_SINCE(
      identity BLOB PRIMARY KEY, noted REAL NOT NULL\(RowRule.constraints(sinceRules))) WITHOUT ROWID
    """
}

extension PageApplier {
  /// Deletes again what was deleted here and came back.
  func repeatDeletes() throws {
    var deletes = remembered
    for row in remembered.rowsThatCame {
      try deletes.forget(row.identity)
      guard let key = try transaction.key(of: row.identity),
        try transaction.concreteKey(root: key) == key,
        let entity = schema.entity(numbered: key.entity),
        pending[key].map({ $0.whole == .none }) ?? true
      else { continue }
      guard row.maker != 0 else {
        try journalOfFormerZone(key, entity, row.time)
        continue
      }
      // What refers to it, or may have edited it, keeps it.
      let isKept = try entity.description.deletePolicy == .editWins || isReferredTo(key, entity)
      let values = try currentValues(of: key)
      try journal.addWhole(
        entity: entity, key: key, outcome: isKept ? .remote : .local, localTime: row.time,
        side: keptKeys.side, row: values,
        explanation: isKept
          ? "Deleted here before the zone heard of it; another replica had it still: it is back."
          : "Deleted here before the zone heard of it; another replica had it still: the delete "
            + "stands.")
      report.conflicts += 1
      if !isKept { try deleteAgain(key, entity, values, EditStamp.number(row.time)) }
    }
  }

  private func isReferredTo(_ key: ObjectKey, _ entity: SyncSchema.Entity) throws -> Bool {
    for referrer in schema.referrers(of: entity)
    where try transaction.keys(referring: referrer.relationship, to: key)
      .contains(where: { $0 != key })
    { return true }
    for holder in schema.holders(of: entity)
    where try !transaction.sources(holding: key, in: holder.relationship).isEmpty { return true }
    return false
  }
}
