package import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Zones that were deleted, or began anew under another number, and of which rows are left.
///
/// What was a zone is nobody's from one transaction on, and its rows go some at a time: others write in between. Its row in `zone` stays until
/// the last of them is gone, under a name that no zone can have and with UUIDs that nobody knows: so its number is not given to
/// another zone meanwhile, by a program of before either, nor later (`ZoneNumbers`). What a process leaves that is killed, the server goes on with, or the next
/// command that deletes a zone.
enum LeavingZones {
  /// In a condition on `zone`: it is none of those. Names of zones begin with a letter or digit, which `/` comes right before.
  static let isThere = "NOT (zone.name >= '/' AND zone.name < '0')"
  private static let isLeaving = "name >= '/' AND name < '0'"

  /// As many rows go in one transaction, and those of entries up to so many bytes and one more.
  static let rowsAtOnce = 2_000
  static let bytesAtOnce = 16 << 20
  /// Of those that are large, and do not say how large.
  private static let largeRowsAtOnce = 8

  /// From now on the zone is nobody's: its tokens open nothing, and its replicas are nobody's either. Who calls has a transaction.
  static func leave(_ zone: ZoneRecord, on connection: SQLiteConnection) throws {
    let (uuid, generation) = (UUID(), UUID())
    try connection.run(
      """
      UPDATE zone SET name = ?, uuid = ?, generation = ?, parent_generation = NULL,
        parent_sequence = NULL, parent_chain = NULL, head = 0, chain = ?, next_object = 1,
        replacements = x'' WHERE id = ?
      """, .text("/\(uuid)"), .blob(uuid.bytes), .blob(generation.bytes),
      .blob(LogChain.start(generation: generation).bytes), .integer(zone.id))
    try connection.run("DELETE FROM purge WHERE zone = ?", .integer(zone.id))
    try EnrolmentCodes.drop(of: zone.id, on: connection)
    try connection.execute(ZoneBounds.forgetting)
  }

  /// In a condition on another table, by its name there: the row is of none of those.
  static func hasZone(_ table: String) -> String {
    "NOT EXISTS (SELECT 1 FROM zone WHERE zone.id = \(table).zone AND \(isLeaving))"
  }

  /// A replica of a zone that is nobody's goes to another one. Its row stays under another name: its number is that of entries.
  static func giveUp(_ replica: UUID, on connection: SQLiteConnection) throws {
    try connection.run(
      """
      UPDATE replica SET uuid = randomblob(16)
      WHERE uuid = ? AND zone IN (SELECT id FROM zone WHERE \(isLeaving))
      """, .blob(replica.bytes))
  }

  /// Takes away some rows of a zone that is nobody's. Who calls has a transaction.
  ///
  /// - Returns: whether there may be more.
  static func takeAway(on connection: SQLiteConnection) throws -> Bool {
    guard
      case .integer(let zone)? = try connection.scalar(
        "SELECT id FROM zone WHERE \(isLeaving) LIMIT 1")
    else { return false }
    func takes(_ portion: String) throws -> Bool {
      try connection.run(portion, .integer(zone))
      return connection.changes > 0
    }
    if try connection.leavingPages({ try takes(parts) }) { return true }
    for portion in portions where try takes(portion) { return true }
    if try LargeValues.giveUpSome(of: zone, on: connection) { return true }
    // Entries name it until the last of them is gone.
    if try takes(some("replica", "id", inZone)) { return true }
    try ZoneNumbers.note(zone, on: connection)
    try connection.run("DELETE FROM zone WHERE id = ?", .integer(zone))
    try connection.execute(ZoneBounds.forgetting)
    return true
  }

  /// The same in a transaction of its own.
  static func takeSomeAway(on connection: SQLiteConnection) throws -> Bool {
    try connection.leavingPagesIfFull {
      try connection.transaction(.immediate) { try takeAway(on: connection) }
    }
  }

  /// Each takes away some rows of a table, of the zone ?1.
  private static let portions =
    [sized("log", "position", inRange)]
    + ["purged", "object"].map { some($0, "position", inRange) }
    + [
      ("identity", "first"), ("claim", "hash"), ("tombstone", "identity"), ("sighting", "replica"),
      ("forgotten_replica", "replica"), ("zone_property", "property"),
    ].map { some($0.0, $0.1, inZone, also: inZone) }
    + [
      some("value_use", "(digest, sequence)", inZone, also: inZone),
      some("value_lost", "id", inZone),
      some("purge_file", "rowid", inZone, most: largeRowsAtOnce),
      some("staging", "replica", inZone),
    ]
    + ["token_note", "token_binding"].map {
      some($0, "id", "id IN (SELECT id FROM token WHERE \(inZone))")
    }
    + [some("token", "id", inZone)]

  /// Of pushes that are not in the log: what is elsewhere as well, and stays in the file until others have the room.
  private static let parts = sized("staged", "rowid", inZone)

  private static let inZone = "zone = ?1"
  private static let inRange = "position >= ?1 << 40 AND position < (?1 + 1) << 40"

  /// - Parameter also: where the key is one within a zone.
  private static func some(
    _ table: String, _ key: String, _ place: String, also: String = "1", most: Int = rowsAtOnce
  ) -> String {
    let columns = key.trimmingCharacters(in: ["(", ")"])
    return """
      DELETE FROM \(table) WHERE \(also) AND \(key) IN (
        SELECT \(columns) FROM \(table) WHERE \(place) LIMIT \(most))
      """
  }

  private static func sized(_ table: String, _ key: String, _ place: String) -> String {
    """
    DELETE FROM \(table) WHERE \(key) IN (
      SELECT key FROM (
        SELECT key, size, sum(size) OVER (ORDER BY key) AS total FROM (
          SELECT \(key) AS key, size FROM \(table) WHERE \(place) ORDER BY \(key)
          LIMIT \(rowsAtOnce)))
      WHERE total - size < \(bytesAtOnce))
    """
  }
}

extension SQLiteConnection {
  /// Lets go of something. Where the disk is full, what becomes free is not overwritten, as that would want as much room: its bytes
  /// stay in the file until others have the room.
  fileprivate func leavingPagesIfFull<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError where error.isFull {
      return try leavingPages(body)
    }
  }
}

extension Administration {
  private static let leavingCacheKibibytes = 64 << 10

  @discardableResult package func deleteZone(_ name: String) throws -> ServerError? {
    try deleteZone(name) { WriterWait(folder).giveWay() }
  }

  /// - Parameter between: called between the transactions in which rows go: who waits for the writer has it.
  @discardableResult func deleteZone(
    _ name: String, between: () throws -> Void
  ) throws -> ServerError? {
    let deleted = try leaving {
      let zone = try existingZone(name)
      try LeavingZones.leave(zone, on: connection)
      try note(.zoneDeleted, zone: name)
      return zone
    }
    ZoneSnapshots(folder).forget(deleted)
    return try ServerError.rest(
      after: "zone \(name) is deleted, and what it had", takeAway: takeAway, between)
  }

  package func renew(
    _ name: String, intent: ZoneIntent
  ) throws -> (zone: ZoneRecord, rest: ServerError?) {
    try renew(name, intent: intent) { WriterWait(folder).giveWay() }
  }

  /// - Parameter between: called between the transactions in which rows go: who waits for the writer has it.
  func renew(
    _ name: String, intent: ZoneIntent, between: () throws -> Void
  ) throws -> (zone: ZoneRecord, rest: ServerError?) {
    let renewed = try leaving {
      try connection.renew(
        existingZone(name), intent: intent, isServed: folder.servingProcess != nil)
      try note(.zoneRenewed, zone: name, nil, intent.rawValue)
      return try existingZone(name)
    }
    ZoneSnapshots(folder).forget(renewed)
    let rest = try ServerError.rest(
      after: "zone \(name) is renewed, and what its former log had", takeAway: takeAway, between)
    return (renewed, rest)
  }

  /// The transaction from which on rows are nobody's.
  private func leaving(_ body: () throws -> ZoneRecord) throws -> ZoneRecord {
    try checkServers()
    // A page that is given up while it is in memory is not written: the log of what is done stays short.
    try connection.execute("PRAGMA cache_size=-\(Self.leavingCacheKibibytes)")
    return try connection.leavingPagesIfFull { try writeAtNeed(body) }
  }

  /// - Returns: whether there may be more.
  private func takeAway() throws -> Bool {
    func take() throws -> Bool {
      try connection.leavingPagesIfFull {
        try writeAtNeed { try LeavingZones.takeAway(on: connection) }
      }
    }
    do {
      return try take()
    } catch let error as SQLiteError where error.isFull {
      // What went before lies in the write-ahead log, and takes up room there.
      FolderPurge(administration: self).makeRoom()
      return try take()
    }
  }
}

extension ServerError {
  /// Takes away rows that are nobody's, some at a time.
  ///
  /// - Parameters:
  ///   - done: what was done before, and whose rows they were.
  ///   - takeAway: takes some, and says whether there may be more.
  ///   - between: called in between.
  /// - Returns: why some of them are left; nil where none are.
  /// - Throws: what `between` throws.
  static func rest(
    after done: String, takeAway: () throws -> Bool, _ between: () throws -> Void
  ) throws -> ServerError? {
    while true {
      do {
        guard try takeAway() else { return nil }
      } catch {
        let known = error as? ServerError ?? ServerError(command: error)
        return ServerError(
          known?.code ?? .storage,
          "\(done) is there in part: \(known?.message ?? "\(error)")",
          suggestion:
            "A server lets go of the rest when it starts, and every hour, or the next zone delete or zone renew."
        )
      }
      try between()
    }
  }
}
