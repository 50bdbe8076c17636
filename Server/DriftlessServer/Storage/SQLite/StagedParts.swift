import DriftlessProtocol
import DriftlessSQLite
package import Foundation
import Logging

/// Owns the tables `staged` and `staging`: parts of pushes whose last one has not come.
enum StagedParts {
  static let statement = """
    CREATE TABLE IF NOT EXISTS staged(
      replica BLOB NOT NULL, number INTEGER NOT NULL, part INTEGER NOT NULL, zone INTEGER NOT NULL,
      size INTEGER NOT NULL, frame BLOB NOT NULL, PRIMARY KEY(replica, number, part));
    CREATE TABLE IF NOT EXISTS staging(
      replica BLOB PRIMARY KEY, zone INTEGER NOT NULL, touched_ms INTEGER NOT NULL) WITHOUT ROWID
    """

  /// The replica may go to another zone before all parts are gone that it sent to one which was deleted.
  private static let isThere = LeavingZones.hasZone("staged")

  static func frame(
    _ part: UInt16, of push: Push, on connection: SQLiteConnection
  ) throws -> Data? {
    let statement = try connection.prepare(
      "SELECT frame FROM staged WHERE replica = ? AND number = ? AND part = ? AND \(isThere)")
    defer { statement.reset() }
    statement.bind([
      .blob(push.replica.bytes), .integer(Int64(clamping: push.number)), .integer(Int64(part)),
    ])
    return try statement.step() ? statement.data(0) : nil
  }

  /// The frame that a header is of, where a part with its bytes is here, of whatever push.
  ///
  /// - Throws: `ProtocolError` (`.notStaged`).
  static func frame(
    ofHeader bytes: Data, zone: ZoneRecord, on connection: SQLiteConnection
  ) throws -> Data {
    let header = try ChangeSetDecoder().decodeHeader(bytes)
    let statement = try connection.prepare(
      "SELECT frame FROM staged WHERE replica = ? AND zone = ? AND size = ?")
    defer { statement.reset() }
    statement.bind([
      .blob(header.replica.bytes), .integer(zone.id), .integer(Int64(header.frameSize)),
    ])
    while try statement.step() {
      let frame = bytes + statement.data(0).dropFirst(ChangeSetHeader.size)
      if ChangeSetHeader.isWhole(frame) { return frame }
    }
    throw ProtocolError.notStaged(header.part)
  }

  static func keep(
    _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord,
    on connection: SQLiteConnection
  ) throws {
    let replica = SQLiteValue.blob(part.replica.bytes)
    try connection.run(
      "INSERT OR REPLACE INTO staged VALUES(?, ?, ?, ?, ?, ?)",
      [
        replica, .integer(Int64(clamping: part.number)), .integer(Int64(header.part)),
        .integer(zone.id), .integer(Int64(part.frame.count)),
      ], lending: part.frame)
    // The same bytes under a former number are no more than these.
    try connection.leavingPages {
      try connection.run(
        "DELETE FROM staged WHERE replica = ? AND number < ? AND size = ? AND substr(frame, ?) = ?",
        [
          replica, .integer(Int64(clamping: part.number)), .integer(Int64(part.frame.count)),
          .integer(Int64(ChangeSetHeader.size) + 1),
        ], lending: part.frame.dropFirst(ChangeSetHeader.size))
    }
    try connection.run(
      "INSERT OR REPLACE INTO staging VALUES(?, ?, ?)", replica, .integer(zone.id),
      .integer(milliseconds))
  }

  /// The header of a part that is here.
  static func header(
    _ part: UInt16, of push: Push, on connection: SQLiteConnection
  ) throws -> ChangeSetHeader? {
    let bytes = try connection.scalar(
      """
      SELECT substr(frame, 1, ?) FROM staged
      WHERE replica = ? AND number = ? AND part = ? AND \(isThere)
      """, .integer(Int64(ChangeSetHeader.size)), .blob(push.replica.bytes),
      .integer(Int64(clamping: push.number)), .integer(Int64(part)))
    guard case .blob(let bytes)? = bytes else { return nil }
    return try? ChangeSetDecoder().decodeHeader(bytes)
  }

  /// Lets go of the parts of a replica's pushes up to a number.
  static func drop(
    of replica: UUID, through number: UInt64, on connection: SQLiteConnection
  ) throws {
    let replica = SQLiteValue.blob(replica.bytes)
    try connection.leavingPages {
      try connection.run(
        "DELETE FROM staged WHERE replica = ? AND number <= ?", replica,
        .integer(Int64(clamping: number)))
    }
    try connection.run(
      """
      DELETE FROM staging WHERE replica = ?1
        AND NOT EXISTS (SELECT 1 FROM staged WHERE replica = ?1)
      """, replica)
  }

  /// Lets go of the parts of other pushes of a part's replica.
  static func dropOthers(of part: Push, on connection: SQLiteConnection) throws {
    try connection.leavingPages {
      try connection.run(
        "DELETE FROM staged WHERE replica = ? AND number <> ?", .blob(part.replica.bytes),
        .integer(Int64(clamping: part.number)))
    }
  }

  /// So many bytes go in one transaction, and so many parts: others want the writer too, and the disk need not have room for more.
  private static let bytesAtOnce = 16 << 20
  private static let partsAtOnce: Int64 = 1000

  /// Lets go of some parts whose push nobody goes on with, in a transaction of its own.
  ///
  /// - Parameter replica: one whose parts stay: it goes on.
  /// - Returns: whether there may be more.
  static func dropSomeForgotten(
    before milliseconds: Int64, but replica: UUID? = nil, on connection: SQLiteConnection
  ) throws -> Bool {
    let time = SQLiteValue.integer(milliseconds)
    let kept = replica.map { SQLiteValue.blob($0.bytes) } ?? .null
    let forgotten = "touched_ms < ?1 AND staging.replica IS NOT ?2"
    let there = try connection.scalar("SELECT 1 FROM staging WHERE \(forgotten)", time, kept)
    guard there != nil else { return false }
    try connection.leavingPages {
      try connection.transaction(.immediate) {
        let rows = try connection.rows(
          """
          SELECT staged.rowid, size FROM staging JOIN staged ON staged.replica = staging.replica
          WHERE \(forgotten) LIMIT ?3
          """, time, kept, .integer(partsAtOnce))
        var bytes: Int64 = 0
        for row in rows where bytes < bytesAtOnce {
          guard case .integer(let size) = row[1] else { continue }
          try connection.run("DELETE FROM staged WHERE rowid = ?", row[0])
          bytes += size
        }
        try connection.run(
          """
          DELETE FROM staging WHERE \(forgotten)
            AND NOT EXISTS (SELECT 1 FROM staged WHERE staged.replica = staging.replica)
          """, time, kept)
      }
    }
    return true
  }

  /// What waits already.
  static func room(
    beside part: Push, _ header: ChangeSetHeader, on connection: SQLiteConnection
  ) throws -> StagedRoom {
    let replica = try bytes(of: part.replica, on: connection)
    let push = try bytes(of: part.replica, number: part.number, on: connection)
    // One that comes again takes no more room.
    let own = try bytes(
      of: part.replica, number: part.number, but: header.part, on: connection)
    let all = try bytes(of: nil, on: connection)
    return StagedRoom(own: own, others: replica - push, foreign: all - replica)
  }

  /// Bytes that wait; of one replica or of all.
  ///
  /// - Parameters:
  ///   - number: of one push alone.
  ///   - part: without this one.
  static func bytes(
    of replica: UUID?, number: UInt64? = nil, but part: UInt16? = nil,
    on connection: SQLiteConnection
  ) throws -> Int {
    let bytes = try connection.scalar(
      """
      SELECT coalesce(sum(size), 0) FROM staged
      WHERE (?1 IS NULL OR replica = ?1) AND (?2 IS NULL OR number = ?2)
        AND (?3 IS NULL OR part <> ?3)
      """, replica.map { .blob($0.bytes) } ?? .null,
      number.map { .integer(Int64(clamping: $0)) } ?? .null,
      part.map { .integer(Int64($0)) } ?? .null)
    guard case .integer(let bytes)? = bytes else { return 0 }
    return Int(clamping: bytes)
  }
}

extension SQLiteZoneTables {
  func stagedBytes(of zone: ZoneRecord, butOf replica: UUID) throws -> Int {
    let bytes = try connection.scalar(
      "SELECT coalesce(sum(size), 0) FROM staged WHERE zone = ? AND replica <> ?",
      .integer(zone.id), .blob(replica.bytes))
    guard case .integer(let bytes)? = bytes else { return 0 }
    return Int(clamping: bytes)
  }

  func stagedBytes(beside part: Push, _ header: ChangeSetHeader) throws -> Int {
    try StagedParts.bytes(
      of: part.replica, number: part.number, but: header.part, on: connection)
  }

  func stage(
    _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord
  ) throws {
    try StagedParts.keep(part, header, at: milliseconds, of: zone, on: connection)
  }

  func makeRoom(
    for part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits, of zone: ZoneRecord
  ) throws {
    let room = try StagedParts.room(beside: part, header, on: connection)
    if try room.takesOthers(for: part, header, limits) {
      try StagedParts.dropOthers(of: part, on: connection)
    }
  }

  func staged(_ part: UInt16, of push: Push) throws -> Data? {
    try StagedParts.frame(part, of: push, on: connection)
  }

  func dropStaged(of replica: UUID, through number: UInt64) throws {
    try StagedParts.drop(of: replica, through: number, on: connection)
  }
}

extension SQLiteZoneStorage {
  package func stagedFrame(of header: Data, in zone: ZoneRecord) async throws -> Data {
    try await reader.perform { connection in
      do {
        return try StagedParts.frame(ofHeader: header, zone: zone, on: connection)
      } catch let error as ProtocolError {
        throw ServerError(error)
      }
    }
  }

  package func stage(_ part: Push, of zone: ZoneRecord) async throws {
    try await staging.run(
      of: zone.id, cost: part.cost, most: limits.current.queuedPushesMax
    ) {
      try await makeRoom(for: part)
      try await commits.write(bytes: part.frame.count) { [limits, clock] connection in
        try Self.stage(part, of: zone, limits: limits.current, at: clock.now(), on: connection)
      }
    }
  }

  /// Lets go of what nobody goes on with. A disk that has no room even for that may have some for the part.
  private func makeRoom(for part: Push) async throws {
    do {
      try await dropForgottenParts(after: limits.current.stagedSeconds)
      guard let header = part.part,
        try await reader.perform({ [limits] in
          try StagedParts.room(beside: part, header, on: $0)
            .isCrowded(by: part, header, limits.current)
        })
      else { return }
      try await dropForgottenParts(after: limits.current.stagedIdleSeconds, but: part.replica)
    } catch let error as ServerError where error.code == .diskFull {
      logger.warning("forgotten parts were not let go of", metadata: ["error": "\(error)"])
    }
  }

  /// Lets go of parts whose push nobody goes on with: some, and again some when others had the writer.
  ///
  /// - Parameter replica: one whose parts stay.
  func dropForgottenParts(after seconds: Int, but replica: UUID? = nil) async throws {
    while try await commits.letGo({ [clock] in
      try StagedParts.dropSomeForgotten(
        before: clock.now() - Int64(seconds) * 1000, but: replica, on: $0)
    }) {}
  }

  private static func stage(
    _ part: Push, of zone: ZoneRecord, limits: ServerLimits, at milliseconds: Int64,
    on connection: SQLiteConnection
  ) throws {
    guard let header = part.part, header.isFollowedByParts else {
      throw ProtocolError.malformed("The last part of a push is not kept beside the log")
    }
    let tables = SQLiteZoneTables(connection)
    let append = LogAppend(tables: tables, limits: limits, nowMilliseconds: milliseconds)
    try connection.transaction(.immediate) {
      if try append.isWanted(part, of: zone) {
        try checkCopies(part, header, connection)
        try tables.makeRoom(for: part, header, limits, of: zone)
        // Looked at, and taken back: the log has it with the last part.
        try connection.probing { try append.probe(part, header, of: zone) }
        tables.forget()
        try tables.stage(part, header, at: milliseconds, of: zone)
      }
    }
  }

  private static func checkCopies(
    _ part: Push, _ header: ChangeSetHeader, _ connection: SQLiteConnection
  ) throws {
    do {
      try header.checkCopies(of: part.number) {
        try StagedParts.header($0, of: part, on: connection)
      }
      return
    } catch is ProtocolError {}
    // Parts are read as a whole only now.
    try header.checkCopies(of: part.number) { number in
      guard let staged = try StagedParts.header(number, of: part, on: connection) else {
        return nil
      }
      // One that the disk has changed is nobody's.
      let isWhole =
        try StagedParts.frame(number, of: part, on: connection)
        .map(ChangeSetHeader.isWhole) ?? false
      return isWhole ? staged : nil
    }
  }
}
