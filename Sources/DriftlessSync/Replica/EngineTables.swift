import Driftless
import DriftlessProtocol
import DriftlessSQLite

/// The engine's own tables in the store. Each has one owner, and is written in the transaction of what it describes.
///
/// | table | holds |
/// |---|---|
/// | `ZDL_REPLICA` | one row: who this replica is, and where it stands in the zone's log |
/// | `ZDL_OUTBOX` | the change set in flight, byte for byte |
/// | `ZDL_OUTBOX_PART` | parts of it that go before the last one |
/// | `ZDL_STAGED` | entries of a push in several parts that were pulled, until the last one is here |
/// | `ZDL_DANGLING` | references whose target is deleted: null here, and back when the target comes back |
/// | `ZDL_ZONE` | what the zone says of what is pending, until the pull has reached its head |
/// | `ZDL_PENDING` | what an import left pending of an object, in place of the history before it |
/// | `ZDL_JOURNAL` | every settled conflict |
/// | `ZDL_QUARANTINE` | objects that the server refuses for good, with the reason |
/// | `ZDL_OMITTED` | what the change set in flight leaves out: it stays pending |
/// | `ZDL_IMPORT` | when the changes of imports were made, and by whom, where they came from |
/// | `ZDL_ORIGIN` | who made the edits that are pending under their times |
/// | `ZDL_PARKED_VALUE` | values of the zone that the model cannot hold |
/// | `ZDL_KEPT` | values that wait for a unique key which another object holds (`KeptKeys`) |
/// | `ZDL_LACKED` | required properties that are empty (`LackedValues`) |
/// | `ZDL_ALIAS` | identities that went when two objects became one (`Unions`) |
/// | `ZDL_CHAIN` | places of the zone's log, with their chains: dense near the cursor, then thinner |
/// | `ZDL_FRAME` | entries of the log that were applied or sent, for a server that loses them |
/// | `ZDL_PARKED` | entries of the log that were not taken in, whole or in part, and why |
/// | `ZDL_PARKED_FORMER` | such entries of logs that are gone (`FormerParking`) |
/// | `ZDL_DELETED` | deletes that the zone never heard of, of objects that may come (`RememberedDeletes`) |
/// | `ZDL_DELETED_SINCE` | when those were noted |
/// | `ZDL_STRUCK` | what later entries set of what parked ones say |
/// | `ZDL_SEGMENT` | files of the zone's snapshot that are being fetched (`SegmentPieces`) |
/// | `ZDL_VALUE` | large values on their way to the zone or from it (`ValuePieces`) |
/// | `ZDL_MISSED` | large values that were asked for and were not to be had (`MissedValues`) |
/// | `ZDL_WANTED` | large values that were asked for and have not come yet (`WantedValues`) |
/// | `ZDL_NAMED` | large values that are here, and that the zone tells by their names (`NamedCells`) |
enum EngineTables {
  /// Grows with each table or column that is added, and with each rule that a table declares.
  static let version: Int64 = 19
  static let versionSetting = "sync.tables"

  private static let statements =
    [ReplicaState.statement, Outbox.statement, OmittedParts.statement, PendingState.statement]
    + DanglingReferences.statements + Journal.statements + Parking.statements
    + [
      ZoneStates.statement, Quarantine.statement, ImportTimes.statement,
      LogPlaces.statement, KeptFrames.statement, KeptKeys.statement, LackedValues.statement,
      RememberedDeletes.statement, RememberedDeletes.sinceStatement,
      StampOrigins.statement, SegmentPieces.statement, FormerParking.statement,
      OutboxPart.statement, StagedEntries.statement, ValuePieces.statement,
      MissedValues.statement, WantedValues.statement, NamedCells.statement,
    ] + ParkedValues.statements + Unions.aliasStatements

  /// Makes the tables, or brings those of an earlier version up to date.
  static func create(in transaction: WriteTransaction) throws {
    let connection = transaction.connection
    try Quarantine.dropFormer(on: connection)
    for statement in statements { try connection.execute(statement) }
    try DanglingReferences.complete(on: connection)
    try Journal.complete(on: connection)
    try ImportTimes.complete(on: connection)
    try RememberedDeletes.complete(on: connection)
    try WantedValues.complete(on: connection)
    for statement in statements { try redeclare(statement, on: connection) }
    for statement in statements { try connection.execute(statement) }
    try transaction.setSetting(versionSetting, .integer(version))
  }

  /// Makes a table of an earlier version anew that declares other rules, with what is in it. One with rows that break the rules
  /// stays as it is: a check names them.
  private static func redeclare(_ statement: String, on connection: SQLiteConnection) throws {
    let begin = "CREATE TABLE IF NOT EXISTS "
    guard statement.hasPrefix(begin) else { return }
    let declaration = statement.dropFirst(begin.count)
    let name = String(declaration.prefix { $0 != "(" && $0 != " " })
    var former = ""
    try connection.forEachRow(
      "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", [.text(name)]
    ) { former = $0.string(0) }
    guard former != "CREATE TABLE \(declaration)" else { return }
    func columns(_ table: String) throws -> [String] {
      var columns: [String] = []
      try connection.forEachRow("SELECT name FROM pragma_table_info(?)", [.text(table)]) {
        columns.append("\"\($0.string(0))\"")
      }
      return columns
    }
    do {
      try connection.savepoint {
        try connection.execute("ALTER TABLE \(name) RENAME TO \(name)_FORMER")
        try connection.execute(statement)
        let own = try columns(name)
        guard Set(own) == Set(try columns("\(name)_FORMER")) else { throw OtherColumns() }
        let list = own.joined(separator: ", ")
        try connection.execute(
          "INSERT INTO \(name)(\(list)) SELECT \(list) FROM \(name)_FORMER; DROP TABLE \(name)_FORMER"
        )
      }
    } catch is OtherColumns {
      // Its rows have no place in the new table, or the new one's are not in it.
    } catch let error as SQLiteError
      where error.isConstraint || error.primaryCode == SQLiteError.generic
    {
      // Rows that break a rule, or a view of somebody else's on a table that is gone.
    }
  }

  private struct OtherColumns: Error {}

  /// Whether the store was enrolled by an earlier version, whose tables are others.
  static func needCreation(_ transaction: ReadTransaction) throws -> Bool {
    guard try exist(on: transaction.connection) else { return false }
    return try transaction.setting(versionSetting) != .integer(version)
  }

  /// Whether the store has them: one that was never enrolled has none.
  static func exist(on connection: SQLiteConnection) throws -> Bool {
    try ReplicaState.hasTable(on: connection)
  }

  /// Whether the file has a table. An earlier version made fewer.
  static func has(_ table: String, on connection: SQLiteConnection) throws -> Bool {
    try connection.number(
      "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?)", [.text(table)]) != 0
  }

  static func has(
    column: String, of table: String, on connection: SQLiteConnection
  ) throws -> Bool {
    try connection.number(
      "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?", [.text(table), .text(column)])
      != 0
  }

  // MARK: Beginning anew

  /// Forgets the zone: the store is no replica, and all of it is pending once it is one again. What stands in for other
  /// values goes on doing so, and what is set aside of a log that is gone is kept nowhere else.
  static func forgetZone(on connection: SQLiteConnection) throws {
    try ReplicaState.remove(on: connection)
    try forgetLog(on: connection)
    try forgetPending(on: connection)
    try IdentityRuns.forgetNumbers(on: connection)
  }

  /// Takes the store out of its zone: it keeps its rows, its history and its journal, and is no replica.
  static func leaveZone(in transaction: WriteTransaction) throws {
    try forgetZone(on: transaction.connection)
    for (name, _) in try settings(transaction) where name != versionSetting {
      try transaction.setSetting(name, nil)
    }
    try transaction.removeHistoryReader(ReplicaState.historyReader)
    try transaction.setSyncing(false)
  }

  /// Forgets a log of the zone: what is in flight to it, and what came of it.
  static func forgetLog(on connection: SQLiteConnection) throws {
    try Outbox.clear(on: connection)
    try Parking.forgetAll(on: connection)
    try DanglingReferences.removeAll(on: connection)
    try LogPlaces.dropAll(on: connection)
    try KeptFrames.dropAll(on: connection)
    try ZoneStates.removeAll(on: connection)
    try SegmentPieces.dropAll(on: connection)
    try StagedEntries.removeAll(on: connection)
    try ValuePieces.dropAll(on: connection)
    try WantedValues.forgetAll(on: connection)
    try NamedCells.removeAll(on: connection)
    // What waits, and what is empty, is so whatever log said it.
    try KeptKeys.redate(above: 0, on: connection)
    try LackedValues.redate(above: 0, on: connection)
  }

  /// Forgets what is pending, and what is kept for it.
  static func forgetPending(on connection: SQLiteConnection) throws {
    try PendingState.removeAll(on: connection)
    try StampOrigins.removeAll(on: connection)
    try BaseValues.dropAll(on: connection)
    try TransactionDeltas.dropAll(on: connection)
    try DanglingReferences.removeAll(on: connection)
    try Quarantine.removeAll(on: connection)
    try Unions.confirmAll(on: connection)
  }

  /// Forgets notes that the zone need not have: those of tables in which a check found damage.
  static func forgetDamagedNotes(_ findings: [StoreCheck.Finding], in transaction: WriteTransaction)
    throws
  {
    let connection = transaction.connection
    let notes: [String: (SQLiteConnection) throws -> Void] = [
      "ZDL_KEPT": KeptKeys.removeAll(on:), "ZDL_LACKED": LackedValues.removeAll(on:),
      "ZDL_ALIAS": Unions.removeAliases(on:),
      "ZDL_DELETED": RememberedDeletes.removeAll(on:),
      "ZDL_DELETED_SINCE": RememberedDeletes.removeAll(on:),
      "ZDL_IMPORT": ImportTimes.removeAll(on:),
      "ZDL_GRAVE": Graves.dropAll(on:), "ZDL_SEGMENT": SegmentPieces.dropAll(on:),
      "ZDL_STAGED": StagedEntries.removeAll(on:), "ZDL_VALUE": ValuePieces.dropAll(on:),
      "ZDL_MISSED": MissedValues.forgetAll(on:), "ZDL_WANTED": WantedValues.forgetAll(on:),
      "ZDL_PARKED_VALUE": ParkedValues.removeAll(on:), "ZDL_NAMED": NamedCells.removeAll(on:),
      "ZDL_PARKED_FORMER": FormerParking.removeAll(on:),
    ]
    for table in Set(findings.map(\.table)).sorted() { try notes[table]?(connection) }
    for (name, value) in try settings(transaction) where !fits(value, setting: name) {
      try transaction.setSetting(name, nil)
    }
  }
}
