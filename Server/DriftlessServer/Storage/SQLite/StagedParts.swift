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
      replica BLOB PRIMARY KEY, zone INTEGER NOT NULL, touched_ms INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS staged_size ON staged(replica, number, part, zone, size);
    CREATE INDEX IF NOT EXISTS staging_touched ON staging(touched_ms)
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
    let own = (Int64(clamping: header.pushNumber), Int64(header.part))
    let others = try StagedHeads.candidates(for: header, on: connection).filter { $0 != own }
    for part in ([own] + others).prefix(StagedCandidates.countMax) {
      if let frame = try frame(bytes, header, zone, part, on: connection) { return frame }
    }
    throw ProtocolError.notStaged(header.part)
  }

  /// - Returns: nil where the part is not there, or another one.
  private static func frame(
    _ bytes: Data, _ header: ChangeSetHeader, _ zone: ZoneRecord,
    _ place: (Int64, Int64), on connection: SQLiteConnection
  ) throws -> Data? {
    let statement = try connection.prepare(
      """
      SELECT frame FROM staged
      WHERE replica = ? AND number = ? AND part = ? AND zone = ? AND size = ?
      """)
    defer { statement.reset() }
    statement.bind([
      .blob(header.replica.bytes), .integer(place.0), .integer(place.1), .integer(zone.id),
      .integer(Int64(header.frameSize)),
    ])
    guard try statement.step() else { return nil }
    let frame = bytes + statement.data(0).dropFirst(ChangeSetHeader.size)
    return ChangeSetHeader.isWhole(frame) ? frame : nil
  }

  /// - Parameter hash: of the part's body.
  /// - Returns: by how many bytes there is more of its push than before, and how many of former ones went.
  static func keep(
    _ part: Push, _ header: ChangeSetHeader, hash: Data, at milliseconds: Int64,
    of zone: ZoneRecord, on connection: SQLiteConnection
  ) throws -> (came: Int, went: Int) {
    let replica = SQLiteValue.blob(part.replica.bytes)
    let before = try size(of: part, header, on: connection)
    try connection.run(
      "INSERT OR REPLACE INTO staged VALUES(?, ?, ?, ?, ?, ?)",
      [
        replica, .integer(Int64(clamping: part.number)), .integer(Int64(header.part)),
        .integer(zone.id), .integer(Int64(part.frame.count)),
      ], lending: part.frame)
    try StagedHeads.keep(part, header, hash: hash, on: connection)
    // The same bytes under a former number are no more than these.
    let former = try StagedHeads.dropFormer(of: part, hash: hash, on: connection)
    try connection.run(
      "INSERT OR REPLACE INTO staging VALUES(?, ?, ?)", replica, .integer(zone.id),
      .integer(milliseconds))
    return (part.frame.count - before, former * part.frame.count)
  }

  /// The header of a part that is here.
  static func header(
    _ part: UInt16, of push: Push, on connection: SQLiteConnection
  ) throws -> ChangeSetHeader? {
    let bytes = try connection.scalar(
      """
      SELECT \(StagedHeads.header) FROM staged
      WHERE replica = ? AND number = ? AND part = ? AND \(isThere)
      """, .blob(push.replica.bytes), .integer(Int64(clamping: push.number)), .integer(Int64(part)))
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
    beside part: Push, _ header: ChangeSetHeader, of zone: ZoneRecord, _ sums: inout StagedSums,
    on connection: SQLiteConnection
  ) throws -> StagedRoom {
    try sums.room(
      beside: part, zone: zone.id, same: try size(of: part, header, on: connection)
    ) { try bytes(of: $0, on: connection) }
  }

  /// Bytes of a part, where it is here; 0 where it is not.
  static func size(
    of part: Push, _ header: ChangeSetHeader, on connection: SQLiteConnection
  ) throws -> Int {
    try integer(
      "SELECT size FROM staged WHERE replica = ? AND number = ? AND part = ?",
      [
        .blob(part.replica.bytes), .integer(Int64(clamping: part.number)),
        .integer(Int64(header.part)),
      ], on: connection)
  }

  /// Bytes of parts that wait, each sum along an index that has the sizes.
  static func bytes(of scope: StagedSums.Scope, on connection: SQLiteConnection) throws -> Int {
    let sum = "SELECT coalesce(sum(size), 0) FROM staged"
    switch scope {
    case .all: return try integer(sum, [], on: connection)
    case .zone(let zone):
      return try integer(sum + " WHERE zone = ?", [.integer(zone)], on: connection)
    case .replica(let replica, let zone):
      return try integer(
        sum + " WHERE replica = ? AND zone = ?", [.blob(replica.bytes), .integer(zone)],
        on: connection)
    case .push(let replica, let number):
      return try integer(
        sum + " WHERE replica = ? AND number = ?",
        [.blob(replica.bytes), .integer(Int64(clamping: number))], on: connection)
    }
  }

  /// Bytes of a replica's pushes up to a number.
  static func bytes(
    of replica: UUID, through number: UInt64, on connection: SQLiteConnection
  ) throws -> Int {
    try integer(
      "SELECT coalesce(sum(size), 0) FROM staged WHERE replica = ? AND number <= ?",
      [.blob(replica.bytes), .integer(Int64(clamping: number))], on: connection)
  }

  private static func integer(
    _ sql: String, _ values: [SQLiteValue], on connection: SQLiteConnection
  ) throws -> Int {
    let statement = try connection.prepare(sql)
    defer { statement.reset() }
    statement.bind(values)
    return try statement.step() ? Int(clamping: statement.int64(0)) : 0
  }
}

extension SQLiteZoneTables {
  func stagedBytes(of zone: ZoneRecord, butOf replica: UUID) throws -> Int {
    func sum(_ scope: StagedSums.Scope) throws -> Int {
      try stagedSums.bytes(of: scope) { try StagedParts.bytes(of: $0, on: connection) }
    }
    return try sum(.zone(zone.id)) - sum(.replica(replica, zone: zone.id))
  }

  func stagedBytes(beside part: Push, _ header: ChangeSetHeader) throws -> Int {
    let push = try stagedSums.bytes(of: .push(part.replica, part.number)) {
      try StagedParts.bytes(of: $0, on: connection)
    }
    return try push - StagedParts.size(of: part, header, on: connection)
  }

  func stage(
    _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord
  ) throws {
    try stage(part, header, hash: StagedHeads.hash(of: part), at: milliseconds, of: zone)
  }

  /// - Parameter hash: of the part's body.
  func stage(
    _ part: Push, _ header: ChangeSetHeader, hash: Data, at milliseconds: Int64,
    of zone: ZoneRecord
  ) throws {
    let (came, went) = try StagedParts.keep(
      part, header, hash: hash, at: milliseconds, of: zone, on: connection)
    stagedSums.add(came, replica: part.replica, number: part.number, zone: zone.id)
    if went > 0 { stagedSums.remove(went, replica: part.replica) }
  }

  func makeRoom(
    for part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits, of zone: ZoneRecord
  ) throws {
    let room = try StagedParts.room(
      beside: part, header, of: zone, &stagedSums, on: connection)
    if try room.takesOthers(for: part, header, limits) {
      try StagedParts.dropOthers(of: part, on: connection)
      stagedSums.forget()
    }
  }

  func staged(_ part: UInt16, of push: Push) throws -> Data? {
    try StagedParts.frame(part, of: push, on: connection)
  }

  func dropStaged(of replica: UUID, through number: UInt64) throws {
    if !stagedSums.isEmpty {
      let bytes = try StagedParts.bytes(of: replica, through: number, on: connection)
      stagedSums.remove(bytes, replica: replica)
    }
    try StagedParts.drop(of: replica, through: number, on: connection)
  }
}

extension SQLiteZoneStorage {
  package func stagedFrame(of header: Data, in zone: ZoneRecord) async throws -> Data {
    let cost = try StagedCandidates.cost(of: header)
    return try await staging.run(
      of: zone.id, cost: cost, most: limits.current.queuedPushesMax
    ) {
      try await reader.perform { connection in
        do {
          return try StagedParts.frame(ofHeader: header, zone: zone, on: connection)
        } catch let error as ProtocolError {
          throw ServerError(error)
        }
      }
    }
  }

  package func stage(_ part: Push, of zone: ZoneRecord) async throws {
    try await staging.run(
      of: zone.id, cost: part.cost, most: limits.current.queuedPushesMax
    ) {
      try await makeRoom(for: part, of: zone)
      // Not while others wait for the writer.
      let hash = StagedHeads.hash(of: part)
      try await commits.write(bytes: part.frame.count) { [limits, clock] connection in
        try Self.stage(
          part, hash: hash, of: zone, limits: limits.current, at: clock.now(), on: connection)
      }
    }
  }

  /// Lets go of what nobody goes on with. A disk that has no room even for that may have some for the part.
  private func makeRoom(for part: Push, of zone: ZoneRecord) async throws {
    do {
      try await dropForgottenParts(after: limits.current.stagedSeconds)
      guard let header = part.part,
        try await reader.perform({ [limits] in
          var sums = StagedSums()
          return try StagedParts.room(beside: part, header, of: zone, &sums, on: $0)
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
    _ part: Push, hash: Data, of zone: ZoneRecord, limits: ServerLimits,
    at milliseconds: Int64, on connection: SQLiteConnection
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
        try tables.stage(part, header, hash: hash, at: milliseconds, of: zone)
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
      guard let frame = try StagedParts.frame(number, of: part, on: connection),
        // One that the disk has changed is nobody's.
        ChangeSetHeader.isWhole(frame)
      else { return nil }
      return try? ChangeSetDecoder().decodeHeader(frame)
    }
  }
}
