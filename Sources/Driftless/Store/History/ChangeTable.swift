import DriftlessSQLite
import Foundation

/// Owns `ACHANGE`: a row for each object that a transaction changed, in the order of transactions. ``ChangeRecorder`` fills its
/// statements.
package enum ChangeTable {
  static let table = "ACHANGE"
  static let statement = """
    CREATE TABLE IF NOT EXISTS ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
    ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB)
    """
  /// As Core Data has it. Changes are found by their range: it costs each save and serves other programs.
  static let coreDataIndex =
    "CREATE INDEX IF NOT EXISTS ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)"
  /// The number of the oldest change that is left, in SQL; null for none.
  package static let oldestSQL = "(SELECT min(Z_PK) FROM ACHANGE)"

  /// What each row keeps by itself.
  ///
  /// - Parameter object: what `ZENTITY` and `ZENTITYPK` keep.
  static func rules(object: RowRule) -> [RowRule] {
    let entity = HistoryEntity.change
    let types = ChangeType.insert.rawValue...ChangeType.delete.rawValue
    return [
      .integer("Z_PK", 1...Int64.max), .integer("Z_ENT", entity...entity),
      .integer("Z_OPT", 0...Int64.max, orNull: true),
      .integer("ZCHANGETYPE", Int64(types.lowerBound)...Int64(types.upperBound)),
      .integer("ZTRANSACTIONID", 1...Int64.max), object, .bytes("ZCOLUMNS", orNull: true),
    ]
  }

  // MARK: Values of deleted objects

  private static func tombstone(_ index: Int) -> String { "ZTOMBSTONE\(index)" }

  /// Gives the table the columns for values of deleted objects that it lacks. Which attributes have some is in no version
  /// hash.
  static func completeTombstones(_ schema: StoreSchema, on connection: SQLiteConnection) throws {
    let tombstones =
      schema.entities
      .compactMap { schema.program(numbered: schema.entityNumber(of: $0))?.tombstoneSlots.count }
      .max() ?? 0
    let columns = try connection.rows("SELECT name FROM pragma_table_info('ACHANGE', 'main')")
    for name in (0..<tombstones).map(tombstone) where !columns.contains([.text(name)]) {
      try connection.execute("ALTER TABLE main.ACHANGE ADD COLUMN \(name)")
    }
  }

  // MARK: Writing

  /// Writes one change: the key ahead of it, its type, entity, object, transaction and mask.
  static func insertion(on connection: SQLiteConnection) throws -> SQLiteStatement {
    try connection.prepare(
      "INSERT INTO ACHANGE \(columns) VALUES (?1, 16001, 1, ?2, ?3, ?4, ?5, ?6)")
  }

  /// Writes a run of changes, whose objects are the rows that lie in memory; without the object bound as one change is.
  static func runInsertion(on connection: SQLiteConnection) throws -> SQLiteStatement {
    try connection.prepare(
      "INSERT INTO ACHANGE \(columns) SELECT rowid + ?1, 16001, 1, ?2, ?3, c0, ?5, ?6 "
        + "FROM driftless_rows")
  }

  private static let columns =
    "(Z_PK, Z_ENT, Z_OPT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS)"

  /// Keeps one value, which comes first, of the object that a change deleted.
  static func tombstoneUpdate(
    _ index: Int, on connection: SQLiteConnection
  ) throws -> SQLiteStatement {
    try connection.prepare("UPDATE ACHANGE SET \(tombstone(index)) = ? WHERE Z_PK = ?")
  }

  /// Forgets the changes up to one.
  static func drop(through last: Int64, on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM ACHANGE WHERE Z_PK <= ?", .integer(last))
  }

  static func dropAll(on connection: SQLiteConnection) throws {
    try connection.execute("DELETE FROM main.ACHANGE")
  }

  // MARK: Migration

  /// Forgets the objects of an entity.
  static func drop(entity: Int64, on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM main.ACHANGE WHERE ZENTITY = ?", .integer(entity))
  }

  /// Moves the keys of an entity's objects.
  static func shiftKeys(
    ofEntity entity: Int32, by offset: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.execute(
      "UPDATE main.ACHANGE SET ZENTITYPK = ZENTITYPK + \(offset) WHERE ZENTITY = \(entity)")
  }

  /// Gives the updates of an entity other masks. What Core Data recorded is not ours to read, and stays.
  static func mapMasks(
    ofEntity entity: Int32, on connection: SQLiteConnection, _ present: (Data) -> Data
  ) throws {
    try connection.execute(
      """
      CREATE TEMP TABLE IF NOT EXISTS migrated (former BLOB PRIMARY KEY, present BLOB);
      DELETE FROM temp.migrated
      """)
    var isChanged = false
    for row in try connection.rows(
      """
      SELECT DISTINCT ZCOLUMNS FROM main.ACHANGE WHERE ZENTITY = ? AND ZCHANGETYPE = 1
      AND NOT \(TransactionNotes.isAdopted)
      """, .integer(Int64(entity)))
    {
      guard case .blob(let former) = row[0] else { continue }
      let mask = present(former)
      if mask != former { isChanged = true }
      try connection.run("INSERT INTO temp.migrated VALUES (?, ?)", .blob(former), .blob(mask))
    }
    guard isChanged else { return }
    try connection.execute(
      """
      UPDATE main.ACHANGE SET ZCOLUMNS =
      (SELECT present FROM temp.migrated WHERE former = ZCOLUMNS)
      WHERE ZENTITY = \(entity) AND ZCHANGETYPE = 1 AND ZCOLUMNS IS NOT NULL
      AND NOT \(TransactionNotes.isAdopted)
      """)
  }

  /// Moves the values of an entity's deleted objects.
  ///
  /// - Parameters:
  ///   - places: for each value that is to be there, where it was; nil where it was not.
  ///   - formerCount: how many values there were.
  static func moveTombstones(
    ofEntity entity: Int32, from places: [Int?], formerCount: Int,
    on connection: SQLiteConnection
  ) throws {
    // A file without a history has no columns for what its model would keep.
    let columnCount = try connection.rows(
      "SELECT 1 FROM pragma_table_info('ACHANGE', 'main') WHERE name GLOB 'ZTOMBSTONE[0-9]*'"
    ).count
    let count = min(columnCount, max(places.count, formerCount))
    guard count > 0, places != (0..<count).map({ Optional($0) }) else { return }
    let columns = (0..<count).map { index in
      let place = index < places.count ? places[index] : nil
      let former = place.flatMap { $0 < columnCount ? tombstone($0) : nil }
      return "\(tombstone(index)) = \(former ?? "NULL")"
    }
    try connection.execute(
      """
      UPDATE main.ACHANGE SET \(columns.joined(separator: ", "))
      WHERE ZENTITY = \(entity) AND ZCHANGETYPE = 2
      """)
  }

  /// SQL for the keys and entities of objects that the history tells of, in a file that is attached under a name; nil where it
  /// has no history.
  static func keysSQL(
    ofEntities numbers: String, in file: String, on connection: SQLiteConnection
  ) throws -> String? {
    let isThere = try connection.scalar(
      "SELECT 1 FROM \(file).sqlite_master WHERE name = 'ACHANGE'")
    guard isThere != nil else { return nil }
    return "SELECT ZENTITYPK, ZENTITY FROM \(file).ACHANGE WHERE ZENTITY IN (\(numbers))"
  }

  // MARK: Reading

  /// What it was that transactions did to objects, as the public API gives it.
  struct Reader {
    let transaction: ReadTransaction
    let storeID: String

    /// - Parameter range: The numbers of the transaction's changes; nil where they are not known.
    func changes(
      of number: Int64, range: ClosedRange<Int64>?, kind: TransactionKind
    ) throws -> [PersistentHistoryChange] {
      let statement = try transaction.connection.prepareUncached(
        "SELECT * FROM ACHANGE WHERE "
          + (range == nil ? "ZTRANSACTIONID = ?" : "Z_PK BETWEEN ? AND ?") + " ORDER BY Z_PK")
      if let range {
        statement.bind(range.lowerBound, at: 1)
        statement.bind(range.upperBound, at: 2)
      } else {
        statement.bind(number, at: 1)
      }
      let columns = Dictionary(
        (0..<Int32(statement.columnCount)).map { (statement.columnName($0), $0) }
      ) { first, _ in first }
      var changes: [PersistentHistoryChange] = []
      while try statement.step() { changes.append(change(statement, columns, kind)) }
      return changes
    }

    private func change(
      _ statement: SQLiteStatement, _ columns: [String: Int32], _ kind: TransactionKind
    ) -> PersistentHistoryChange {
      func column(_ name: String) -> Int32 { columns[name] ?? 0 }
      let number = statement.entityNumber(column("ZENTITY"))
      let type = ChangeType(rawValue: statement.count(column("ZCHANGETYPE"))) ?? .update
      let entity = transaction.schema.entity(numbered: number)
      var updated: Set<String>?
      var values: [String: PropertyValue]?
      if let program = transaction.schema.program(numbered: number), let layout = entity?.layout {
        if type == .update {
          let mask =
            kind == .adopted
            ? program.storedSlots
            : statement.withBytes(column("ZCOLUMNS")) { program.mask(ofColumns: $0) }
          updated = Set(mask.indexes.map { layout.slots[$0].name })
        } else if type == .delete, !program.tombstoneSlots.isEmpty {
          values = [:]
          for (index, slot) in program.tombstoneSlots.enumerated() {
            guard let place = columns[ChangeTable.tombstone(index)] else { continue }
            values?[layout.slots[slot].name] = program.value(
              ofSlot: slot, in: statement, at: place)
          }
        }
      }
      return PersistentHistoryChange(
        changeID: statement.int64(column("Z_PK")), changeType: type, changedEntity: entity,
        changedObjectKey: ObjectKey(entity: number, key: statement.int64(column("ZENTITYPK"))),
        updatedProperties: updated, tombstone: values, storeID: storeID)
    }
  }
}

extension ReadTransaction {
  /// Calls `body` with each change after a transaction, oldest first: its transaction, what it did, to which object, and
  /// for an update the slots.
  ///
  /// - Parameter kind: transactions of this kind are passed over, and their changes not read.
  package func forEachChange(
    after number: Int64, through last: Int64 = .max, passingOver kind: TransactionKind? = nil,
    _ body: (HistoryHeader, ChangeType, ObjectKey, PropertyMask?) throws -> Void
  ) throws {
    try forEachNumberedChange(after: number, through: last, passingOver: kind) {
      header, _, type, key, mask in
      try body(header, type, key, mask)
    }
  }

  /// As `forEachChange`, with the number of each change.
  package func forEachNumberedChange(
    after number: Int64 = 0, through last: Int64 = .max, passingOver kind: TransactionKind? = nil,
    _ body: (HistoryHeader, Int64, ChangeType, ObjectKey, PropertyMask?) throws -> Void
  ) throws {
    let headers = try TransactionNotes.Headers(
      after: number, through: last, passingOver: kind, on: connection)
    let changes = try connection.prepareUncached(
      """
      SELECT ZCHANGETYPE, ZENTITY, ZENTITYPK, ZCOLUMNS, Z_PK FROM ACHANGE
      WHERE Z_PK BETWEEN ? AND ? ORDER BY Z_PK
      """)
    let newest = try maximumTransactionNumber()
    var program: RowProgram?
    while let (header, firstChange, lastChange) = try headers.next() {
      // Whoever acknowledges what there is would never come to the end of it.
      guard header.number <= newest else { throw HistoryReader.neverGivenOut(header.number) }
      guard firstChange <= lastChange else { throw HistoryReader.damaged(header.number) }
      changes.bind(firstChange, at: 1)
      changes.bind(lastChange, at: 2)
      while try changes.step() {
        let entity = changes.entityNumber(1)
        let type = ChangeType(rawValue: changes.count(0)) ?? .update
        var mask: PropertyMask?
        if type == .update {
          if program?.number != entity { program = schema.program(numbered: entity) }
          mask =
            header.kind == .adopted
            ? program?.storedSlots : changes.withBytes(3) { program?.mask(ofColumns: $0) }
        }
        try body(
          header, changes.int64(4), type, changes.objectKey(1, 2), mask)
      }
    }
  }
}
