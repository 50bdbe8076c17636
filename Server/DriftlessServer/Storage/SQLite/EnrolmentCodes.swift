import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Owns the table `enrolment_code`: codes for one use, by the hashes of their texts.
enum EnrolmentCodes {
  static let statement = """
    CREATE TABLE IF NOT EXISTS enrolment_code(
      hash BLOB PRIMARY KEY, id TEXT NOT NULL UNIQUE, zone INTEGER NOT NULL, verbs INTEGER NOT NULL,
      name TEXT, token_expires_ms INTEGER, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
      revoked_ms INTEGER, used_ms INTEGER, token TEXT, zone_uuid BLOB NOT NULL) WITHOUT ROWID
    """

  private static let select = """
    SELECT enrolment_code.id, hash, enrolment_code.zone, zone.name, verbs, enrolment_code.name,
      token_expires_ms, enrolment_code.created_ms, expires_ms, revoked_ms, used_ms, token
    FROM enrolment_code
    JOIN zone ON zone.id = enrolment_code.zone AND zone.uuid = enrolment_code.zone_uuid
    """

  static func one(hash: Data, _ connection: SQLiteConnection) throws -> CodeRecord? {
    let statement = try connection.prepare(select + " WHERE hash = ?")
    defer { statement.reset() }
    statement.bind([.blob(hash)])
    return try statement.step() ? record(statement) : nil
  }

  static func outcome(
    of use: CodeUse, at now: Int64, _ connection: SQLiteConnection
  ) throws -> CodeUse.Outcome {
    guard let code = try one(hash: use.codeHash, connection) else { return .refused }
    return code.outcome(of: use, token: try connection.token(id: use.tokenID), at: now)
  }

  static func all(_ connection: SQLiteConnection) throws -> [CodeRecord] {
    let statement = try connection.prepare(
      select + " ORDER BY zone.name, enrolment_code.created_ms, enrolment_code.id")
    defer { statement.reset() }
    var records: [CodeRecord] = []
    while try statement.step() { records.append(record(statement)) }
    return records
  }

  private static func record(_ statement: SQLiteStatement) -> CodeRecord {
    func time(_ column: Int32) -> Int64? {
      statement.isNull(column) ? nil : statement.int64(column)
    }
    func text(_ column: Int32) -> String? {
      statement.isNull(column) ? nil : statement.string(column)
    }
    return CodeRecord(
      id: statement.string(0), hash: statement.data(1), zoneID: statement.int64(2),
      zoneName: statement.string(3), verbs: Verbs(rawValue: statement.int64(4)), name: text(5),
      tokenExpiresMilliseconds: time(6), createdMilliseconds: statement.int64(7),
      expiresMilliseconds: statement.int64(8), revokedMilliseconds: time(9),
      usedMilliseconds: time(10), tokenID: text(11))
  }

  static func insert(_ code: CodeRecord, _ connection: SQLiteConnection) throws {
    try dropLeft(on: connection)
    // Those that could be used long ago are forgotten.
    try connection.run(
      "DELETE FROM enrolment_code WHERE coalesce(used_ms, revoked_ms, expires_ms) < ?",
      .integer(code.createdMilliseconds - CodeRecord.keptMilliseconds))
    try connection.run(
      "INSERT INTO enrolment_code VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, NULL, NULL, "
        + "(SELECT uuid FROM zone WHERE id = ?3))",
      .blob(code.hash), .text(code.id), .integer(code.zoneID), .integer(code.verbs.rawValue),
      code.name.map { .text($0) } ?? .null,
      code.tokenExpiresMilliseconds.map { .integer($0) } ?? .null,
      .integer(code.createdMilliseconds), .integer(code.expiresMilliseconds))
  }

  /// Programs that know no codes delete zones without them, and another zone may get the number.
  static func dropLeft(on connection: SQLiteConnection) throws {
    try connection.execute(
      """
      DELETE FROM enrolment_code WHERE NOT EXISTS (SELECT 1 FROM zone
        WHERE zone.id = enrolment_code.zone AND zone.uuid = enrolment_code.zone_uuid)
      """)
  }

  /// Ends those that a clock which goes back would leave open: made at a time that is to come again, or ended by then.
  static func endAhead(of host: Int64, given: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      """
      UPDATE enrolment_code SET revoked_ms = ?1 WHERE used_ms IS NULL AND revoked_ms IS NULL
        AND (created_ms > ?1 OR expires_ms <= ?2)
      """, .integer(host), .integer(given))
  }

  /// The zone has begun anew.
  static func move(from zone: Int64, to next: Int64, on connection: SQLiteConnection) throws {
    try connection.run(
      "UPDATE enrolment_code SET zone = ? WHERE zone = ?", .integer(next), .integer(zone))
  }

  static func drop(of zone: Int64, on connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM enrolment_code WHERE zone = ?", .integer(zone))
  }

  /// A copy that is put back does not know which were used since.
  static func dropAll(on connection: SQLiteConnection) throws {
    try connection.execute("DELETE FROM enrolment_code")
  }
}

extension Administration {
  package func codes() throws -> [CodeRecord] { try EnrolmentCodes.all(connection) }

  @discardableResult package func createCode(
    _ request: CodeRequest, handOut: (CodeRecord, String) throws -> Void
  ) throws -> CodeRecord {
    try TokenNotes.check(request.name)
    let code = EnrolmentCode.make()
    let record = try write {
      let record = CodeRecord.new(
        code, of: try existingZone(request.zone, orThrow: ServerError.zoneToCreate), request,
        at: try serverMilliseconds())
      try EnrolmentCodes.insert(record, connection)
      try note(
        .codeCreated, zone: request.zone, record.id,
        AuditEvent.detail(request.verbs, request.name))
      return record
    }
    do {
      try handOut(record, EnrolmentCode.printed(code))
    } catch {
      do { try takeBackCode(record) } catch { throw ServerError.unheldCode(record.id, error) }
      throw error
    }
    return record
  }

  /// A code that nobody was given is none, as a token is none: no list has it.
  private func takeBackCode(_ code: CodeRecord) throws {
    try writeAtNeed {
      try connection.run(
        "DELETE FROM enrolment_code WHERE hash = ? AND used_ms IS NULL", .blob(code.hash))
      guard connection.changes > 0 else { throw ServerError.noSuchCode(code.id) }
      try note(.codeRevoked, zone: code.zoneName, code.id, "nobody was given it")
    }
  }

  @discardableResult package func revokeCodes() throws -> [CodeRecord] {
    try writeAtNeed {
      try EnrolmentCodes.dropLeft(on: connection)
      let open = try EnrolmentCodes.all(connection).filter(\.isOpen)
      try connection.run(
        """
        UPDATE enrolment_code SET revoked_ms = ? WHERE used_ms IS NULL AND revoked_ms IS NULL
        """, .integer(try serverMilliseconds()))
      for code in open { try note(.codeRevoked, zone: code.zoneName, code.id) }
      return open
    }
  }

  package func revokeCode(id: String) throws {
    try writeAtNeed {
      try connection.run(
        """
        UPDATE enrolment_code SET revoked_ms = coalesce(revoked_ms, ?)
        WHERE id = ? AND used_ms IS NULL
        """, .integer(try serverMilliseconds()), .text(id))
      guard connection.changes > 0 else { throw ServerError.noSuchCode(id) }
      try note(.codeRevoked, zone: codes().first { $0.id == id }?.zoneName, id)
    }
  }
}

extension SQLiteZoneStorage {
  package func use(_ use: CodeUse) async throws -> CodeUse.Outcome {
    // Who has no code that makes a token does not keep the writer busy.
    let known = try await reader.perform { [clock] in
      try EnrolmentCodes.outcome(of: use, at: clock.now(), $0)
    }
    guard case .made = known else { return known }
    return try await writer.perform { [clock] connection in
      try connection.transaction(.immediate) {
        let now = clock.now()
        let outcome = try EnrolmentCodes.outcome(of: use, at: now, connection)
        guard case .made(let code) = outcome else { return outcome }
        try connection.run(
          "INSERT INTO token VALUES(?, ?, ?, ?, ?, NULL)", .text(use.tokenID),
          .blob(use.tokenHash), .integer(code.zoneID), .integer(code.verbs.rawValue),
          .integer(now))
        try TokenNotes.set(
          use.tokenID, name: code.name, expiresMilliseconds: code.tokenExpiresMilliseconds,
          on: connection)
        try connection.run(
          "UPDATE enrolment_code SET used_ms = ?, token = ? WHERE hash = ?", .integer(now),
          .text(use.tokenID), .blob(use.codeHash))
        try AuditLog.add(use.event(code, at: now), on: connection)
        return outcome
      }
    }
  }
}
