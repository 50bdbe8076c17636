#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Owns the table `enrolment_code`, as `EnrolmentCodes` does in a data folder.
  enum PostgresCodes {
    static let statement = """
      CREATE TABLE IF NOT EXISTS enrolment_code(
        hash bytea PRIMARY KEY, id text NOT NULL UNIQUE, zone bigint NOT NULL,
        verbs bigint NOT NULL, name text, token_expires_ms bigint, created_ms bigint NOT NULL,
        expires_ms bigint NOT NULL, revoked_ms bigint, used_ms bigint, token text,
        zone_uuid uuid NOT NULL)
      """

    private static let select = """
      SELECT enrolment_code.id, hash, enrolment_code.zone, zone.name, verbs, enrolment_code.name,
        token_expires_ms, enrolment_code.created_ms, expires_ms, revoked_ms, used_ms, token
      FROM enrolment_code
      JOIN zone ON zone.id = enrolment_code.zone AND zone.uuid = enrolment_code.zone_uuid
      """

    static func one(hash: Data, _ connection: PostgresConnection) throws -> CodeRecord? {
      let rows = try connection.run(select + " WHERE hash = $1", .blob(hash))
      return rows.count > 0 ? record(rows, 0) : nil
    }

    static func all(_ connection: PostgresConnection) throws -> [CodeRecord] {
      let rows = try connection.run(
        select + " ORDER BY zone.name, enrolment_code.created_ms, enrolment_code.id")
      return (0..<rows.count).map { record(rows, $0) }
    }

    private static func record(_ rows: PostgresRows, _ row: Int) -> CodeRecord {
      func time(_ column: Int) -> Int64? {
        rows.isNull(row, column) ? nil : rows.int64(row, column)
      }
      func text(_ column: Int) -> String? {
        rows.isNull(row, column) ? nil : rows.text(row, column)
      }
      return CodeRecord(
        id: rows.text(row, 0), hash: rows.data(row, 1), zoneID: rows.int64(row, 2),
        zoneName: rows.text(row, 3), verbs: Verbs(rawValue: rows.int64(row, 4)), name: text(5),
        tokenExpiresMilliseconds: time(6), createdMilliseconds: rows.int64(row, 7),
        expiresMilliseconds: rows.int64(row, 8), revokedMilliseconds: time(9),
        usedMilliseconds: time(10), tokenID: text(11))
    }

    static func insert(_ code: CodeRecord, _ connection: PostgresConnection) throws {
      try dropLeft(on: connection)
      // Those that could be used long ago are forgotten.
      try connection.run(
        "DELETE FROM enrolment_code WHERE coalesce(used_ms, revoked_ms, expires_ms) < $1",
        .integer(code.createdMilliseconds - CodeRecord.keptMilliseconds))
      try connection.run(
        """
        INSERT INTO enrolment_code(hash, id, zone, verbs, name, token_expires_ms, created_ms,
          expires_ms, zone_uuid)
        VALUES($1, $2, $3, $4, $5, $6, $7, $8, (SELECT uuid FROM zone WHERE id = $3))
        """, .blob(code.hash), .text(code.id), .integer(code.zoneID),
        .integer(code.verbs.rawValue), code.name.map { .text($0) } ?? .null,
        code.tokenExpiresMilliseconds.map { .integer($0) } ?? .null,
        .integer(code.createdMilliseconds), .integer(code.expiresMilliseconds))
    }

    /// The zone has begun anew.
    static func move(
      from zone: Int64, to next: Int64, on connection: PostgresConnection
    ) throws {
      try connection.run(
        "UPDATE enrolment_code SET zone = $2 WHERE zone = $1", .integer(zone), .integer(next))
    }

    static func dropLeft(on connection: PostgresConnection) throws {
      try connection.execute(
        """
        DELETE FROM enrolment_code WHERE NOT EXISTS (SELECT 1 FROM zone
          WHERE zone.id = enrolment_code.zone AND zone.uuid = enrolment_code.zone_uuid)
        """)
    }

    static func endAhead(
      of host: Int64, given: Int64, on connection: PostgresConnection
    ) throws {
      try connection.run(
        """
        UPDATE enrolment_code SET revoked_ms = $1 WHERE used_ms IS NULL AND revoked_ms IS NULL
          AND (created_ms > $1 OR expires_ms <= $2)
        """, .integer(host), .integer(given))
    }

    static func outcome(
      of use: CodeUse, at now: Int64, _ connection: PostgresConnection
    ) throws -> CodeUse.Outcome {
      guard let code = try one(hash: use.codeHash, connection) else { return .refused }
      return code.outcome(of: use, token: try connection.token(id: use.tokenID), at: now)
    }

    /// - Throws: `ServerError`, `PostgresError`.
    static func use(
      _ use: CodeUse, at now: Int64, on connection: PostgresConnection
    ) throws -> CodeUse.Outcome {
      // The zone's row first, as whoever deletes it: then nobody does, nor uses the code meanwhile.
      guard let zone = try connection.zoneRow(named: use.zone, locks: true)?.zone else {
        return .refused
      }
      let outcome = try outcome(of: use, at: now, connection)
      guard case .made(let code) = outcome else { return outcome }
      guard code.zoneID == zone.id else { return .refused }
      let marked = try connection.run(
        """
        UPDATE enrolment_code SET used_ms = $2, token = $3
        WHERE hash = $1 AND used_ms IS NULL AND revoked_ms IS NULL
        """, .blob(use.codeHash), .integer(now), .text(use.tokenID))
      // An operator revokes it at this moment.
      guard marked.changes == 1 else { return .refused }
      try connection.run(
        """
        INSERT INTO token(id, hash, zone, verbs, created_ms, name, expires_ms)
        VALUES($1, $2, $3, $4, $5, $6, $7)
        """, .text(use.tokenID), .blob(use.tokenHash), .integer(zone.id),
        .integer(code.verbs.rawValue), .integer(now), code.name.map { .text($0) } ?? .null,
        code.tokenExpiresMilliseconds.map { .integer($0) } ?? .null)
      try PostgresAudit.add(use.event(code, at: now), on: connection)
      return outcome
    }
  }

  extension PostgresAdministration {
    package func codes() throws -> [CodeRecord] { try told { try PostgresCodes.all(connection) } }

    @discardableResult package func createCode(
      _ request: CodeRequest, handOut: (CodeRecord, String) throws -> Void
    ) throws -> CodeRecord {
      try TokenNotes.check(request.name)
      let code = EnrolmentCode.make()
      let now = try serverMilliseconds()
      let record = try write {
        let zone = try existing(
          request.zone, locks: true, orThrow: ServerError.zoneToCreate)
        let record = CodeRecord.new(code, of: zone, request, at: now)
        try PostgresCodes.insert(record, connection)
        try note(
          .codeCreated, zone: request.zone, record.id,
          AuditEvent.detail(request.verbs, request.name))
        return record
      }
      do {
        try handOut(record, EnrolmentCode.printed(code))
      } catch {
        do { try takeBackCode(record) } catch {
          throw ServerError.unheldCode(record.id, error)
        }
        throw error
      }
      return record
    }

    /// A code that nobody was given is none, as a token is none: no list has it.
    private func takeBackCode(_ code: CodeRecord) throws {
      try write {
        let gone = try connection.run(
          "DELETE FROM enrolment_code WHERE hash = $1 AND used_ms IS NULL", .blob(code.hash))
        guard gone.changes > 0 else { throw ServerError.noSuchCode(code.id) }
        try note(.codeRevoked, zone: code.zoneName, code.id, "nobody was given it")
      }
    }

    @discardableResult package func revokeCodes() throws -> [CodeRecord] {
      let now = try serverMilliseconds()
      return try write {
        try PostgresCodes.dropLeft(on: connection)
        let open = try PostgresCodes.all(connection).filter(\.isOpen)
        try connection.run(
          """
          UPDATE enrolment_code SET revoked_ms = $1 WHERE used_ms IS NULL AND revoked_ms IS NULL
          """, .integer(now))
        for code in open { try note(.codeRevoked, zone: code.zoneName, code.id) }
        return open
      }
    }

    package func revokeCode(id: String) throws {
      let now = try serverMilliseconds()
      try write {
        let revoked = try connection.run(
          """
          UPDATE enrolment_code SET revoked_ms = coalesce(revoked_ms, $2)
          WHERE id = $1 AND used_ms IS NULL
          """, .text(id), .integer(now))
        guard revoked.changes > 0 else { throw ServerError.noSuchCode(id) }
        let zone = try PostgresCodes.all(connection).first { $0.id == id }?.zoneName
        try note(.codeRevoked, zone: zone, id)
      }
    }
  }

  extension PostgresZoneStorage {
    package func use(_ use: CodeUse) async throws -> CodeUse.Outcome {
      // Who has no code that makes a token locks no zone.
      let known = try await read { [clock] in
        try PostgresCodes.outcome(of: use, at: clock.now(), $0)
      }
      guard case .made = known else { return known }
      return try await read { [clock] connection in
        try connection.transaction(.write) {
          try PostgresCodes.use(use, at: clock.now(), on: connection)
        }
      }
    }
  }
#endif
