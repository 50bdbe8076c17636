#if PostgreSQL
  import Crypto
  import DriftlessProtocol
  package import Foundation

  /// Owns the tables `staged` and `staging`: parts of pushes whose last one has not come.
  ///
  /// They are kept and asked for without the zone's row, so that they do not wait for its pushes, nor those for them: what is
  /// kept twice is one, and what was kept in vain, beside a push or a renewal of that moment, goes with the next or by its age.
  enum PostgresStagedParts {
    /// `staged`: `digest` is the frame's, `body_hash` the SHA-256 of what follows its header.
    /// `staging`: one row a replica that has such parts: of which life of the log, and when the last of them came.
    static func make(on connection: PostgresConnection) throws {
      try connection.execute(
        """
        CREATE TABLE IF NOT EXISTS staged(
          zone bigint NOT NULL, replica uuid NOT NULL, number bigint NOT NULL, part bigint NOT NULL,
          size bigint NOT NULL, digest bytea NOT NULL, body_hash bytea NOT NULL,
          header bytea NOT NULL, body bytea NOT NULL, PRIMARY KEY(zone, replica, number, part));
        CREATE TABLE IF NOT EXISTS staging(
          zone bigint NOT NULL, replica uuid NOT NULL, generation uuid NOT NULL,
          touched_ms bigint NOT NULL, PRIMARY KEY(zone, replica)) WITH (fillfactor = 50)
        """)
      try PostgresSchema.keepAsItComes("staged", "body", connection)
    }

    static func frame(
      _ part: UInt16, of push: Push, zone: Int64, on connection: PostgresConnection
    ) throws -> Data? {
      let rows = try connection.run(
        """
        SELECT header, body FROM staged
        WHERE zone = $1 AND replica = $2 AND number = $3 AND part = $4
        """, .integer(zone), .uuid(push.replica), .integer(Int64(clamping: push.number)),
        .integer(Int64(part)))
      return rows.count > 0 ? rows.frame(0, header: 0, body: 1) : nil
    }

    /// The frame that a header is of, where a part with its bytes is here, of whatever push.
    ///
    /// - Throws: `ProtocolError` (`.notStaged`).
    static func frame(
      ofHeader bytes: Data, zone: ZoneRecord, on connection: PostgresConnection
    ) throws -> Data {
      let header = try ChangeSetDecoder().decodeHeader(bytes)
      let found = try connection.run(
        "SELECT number, part FROM staged WHERE zone = $1 AND replica = $2 AND size = $3",
        .integer(zone.id), .uuid(header.replica), .integer(Int64(header.frameSize)))
      // One at a time: they are large.
      for row in 0..<found.count {
        let body = try connection.run(
          """
          SELECT body FROM staged WHERE zone = $1 AND replica = $2 AND number = $3 AND part = $4
          """, .integer(zone.id), .uuid(header.replica), .integer(found.int64(row, 0)),
          .integer(found.int64(row, 1)))
        guard body.count > 0 else { continue }
        let frame = bytes + body.data(0, 0)
        if ChangeSetHeader.isWhole(frame) { return frame }
      }
      throw ProtocolError.notStaged(header.part)
    }

    /// Keeps a part where the zone has that generation.
    ///
    /// - Throws: `ProtocolError`: `.forked` where other bytes are here under its number; `ServerError`: `.generationChanged`.
    static func keep(
      _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord,
      on connection: PostgresConnection
    ) throws {
      let body = part.frame.dropFirst(ChangeSetHeader.size)
      let hash = Data(SHA256.hash(data: body))
      let zoneID = PostgresValue.integer(zone.id)
      let replica = PostgresValue.uuid(part.replica)
      let number = PostgresValue.integer(Int64(clamping: part.number))
      let kept = try connection.run(
        """
        INSERT INTO staging(zone, replica, generation, touched_ms)
        SELECT id, $2::uuid, generation, $4::bigint FROM zone WHERE id = $1 AND generation = $3
        ON CONFLICT (zone, replica) DO UPDATE
        SET generation = excluded.generation, touched_ms = excluded.touched_ms
        """, zoneID, replica, .uuid(zone.generation), .integer(milliseconds))
      guard kept.changes == 1 else { throw ServerError.generationChanged(zone: zone.name) }
      let inserted = try connection.run(
        """
        INSERT INTO staged(zone, replica, number, part, size, digest, body_hash, header, body)
        VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (zone, replica, number, part) DO UPDATE
        SET size = excluded.size, body_hash = excluded.body_hash, header = excluded.header,
          body = excluded.body
        WHERE staged.digest = excluded.digest
        """, zoneID, replica, number, .integer(Int64(header.part)),
        .integer(Int64(part.frame.count)), .blob(part.digest), .blob(hash),
        .blob(part.frame.prefix(ChangeSetHeader.size)), .blob(body))
      if inserted.changes == 0 {
        let there = try connection.run(
          """
          SELECT digest FROM staged WHERE zone = $1 AND replica = $2 AND number = $3 AND part = $4
          """, zoneID, replica, number, .integer(Int64(header.part)))
        guard there.count == 0 || there.data(0, 0) == part.digest else {
          throw ProtocolError.otherPush(part.number)
        }
      }
      // The same bytes under a former number are no more than these.
      try connection.run(
        """
        DELETE FROM staged WHERE zone = $1 AND replica = $2 AND number < $3 AND size = $4
          AND body_hash = $5
        """, zoneID, replica, number, .integer(Int64(part.frame.count)), .blob(hash))
    }

    /// Lets go of the parts of a replica's pushes up to a number.
    static func drop(
      of replica: UUID, through number: UInt64, zone: Int64, on connection: PostgresConnection
    ) throws {
      let zone = PostgresValue.integer(zone)
      let replica = PostgresValue.uuid(replica)
      // As they are kept: who stages at this moment waits, or is waited for.
      try connection.run(
        "SELECT 1 FROM staging WHERE zone = $1 AND replica = $2 FOR UPDATE", zone, replica)
      try connection.run(
        "DELETE FROM staged WHERE zone = $1 AND replica = $2 AND number <= $3", zone, replica,
        .integer(Int64(clamping: number)))
      try connection.run(
        """
        DELETE FROM staging WHERE zone = $1 AND replica = $2
          AND NOT EXISTS (SELECT 1 FROM staged WHERE zone = $1 AND replica = $2)
        """, zone, replica)
    }

    /// As many parts go in one transaction: a part mostly has 8 MiB.
    static let partsAtOnce = 8

    private static let forgotten = """
      replica IS DISTINCT FROM $2::uuid AND (touched_ms < $1 OR NOT EXISTS (SELECT 1 FROM zone
        WHERE zone.id = staging.zone AND zone.generation = staging.generation))
      """

    /// Lets go of some parts whose push nobody goes on with, in a transaction of its own.
    ///
    /// - Parameter replica: one whose parts stay: it goes on.
    /// - Returns: whether there may be more.
    static func dropSomeForgotten(
      before milliseconds: Int64, but replica: UUID? = nil, on connection: PostgresConnection
    ) throws -> Bool {
      let kept = replica.map { PostgresValue.uuid($0) } ?? .null
      let time = PostgresValue.integer(milliseconds)
      let there = try connection.run(
        "SELECT zone, replica FROM staging WHERE \(forgotten) LIMIT 1", time, kept)
      guard there.count > 0, let replica = there.uuid(0, 1) else { return false }
      let (zone, number) = (there.int64(0, 0), PostgresValue.uuid(replica))
      // Of one replica, and some of its parts: what is large goes in transactions that end.
      try connection.transaction(.write) {
        let held = try connection.run(
          "SELECT 1 FROM staging WHERE zone = $3 AND replica = $4 AND \(forgotten) FOR UPDATE",
          time, kept, .integer(zone), number)
        // It goes on by now, or another one has let go of it.
        guard held.count > 0 else { return }
        let gone = try connection.run(
          """
          DELETE FROM staged WHERE zone = $1 AND replica = $2 AND (number, part) IN (
            SELECT number, part FROM staged WHERE zone = $1 AND replica = $2
            LIMIT \(partsAtOnce))
          """, .integer(zone), number)
        guard gone.changes < partsAtOnce else { return }
        try connection.run(
          "DELETE FROM staging WHERE zone = $1 AND replica = $2", .integer(zone), number)
      }
      return true
    }

    /// What waits already.
    static func room(
      beside part: Push, _ header: ChangeSetHeader, zone: Int64, on connection: PostgresConnection
    ) throws -> StagedRoom {
      let rows = try connection.run(
        """
        SELECT
          coalesce(sum(size) FILTER (
            WHERE zone = $1 AND replica = $2 AND number = $3 AND part <> $4), 0)::bigint,
          coalesce(sum(size) FILTER (
            WHERE zone = $1 AND replica = $2 AND number <> $3), 0)::bigint,
          coalesce(sum(size) FILTER (WHERE NOT (zone = $1 AND replica = $2)), 0)::bigint
        FROM staged
        """, .integer(zone), .uuid(part.replica), .integer(Int64(clamping: part.number)),
        .integer(Int64(header.part)))
      return StagedRoom(
        own: Int(clamping: rows.int64(0, 0)), others: Int(clamping: rows.int64(0, 1)),
        foreign: Int(clamping: rows.int64(0, 2)))
    }

    /// Bytes that wait, of all replicas.
    static func allBytes(on connection: PostgresConnection) throws -> Int64 {
      try connection.run("SELECT coalesce(sum(size), 0)::bigint FROM staged").int64(0, 0)
    }

    /// Lets go of the parts of other pushes of a part's replica.
    static func dropOthers(of part: Push, zone: Int64, on connection: PostgresConnection) throws {
      try connection.run(
        "DELETE FROM staged WHERE zone = $1 AND replica = $2 AND number <> $3", .integer(zone),
        .uuid(part.replica), .integer(Int64(clamping: part.number)))
    }

    /// The header of a part that is here.
    static func header(
      _ part: UInt16, of push: Push, zone: Int64, on connection: PostgresConnection
    ) throws -> ChangeSetHeader? {
      let rows = try connection.run(
        """
        SELECT header, digest FROM staged
        WHERE zone = $1 AND replica = $2 AND number = $3 AND part = $4
        """, .integer(zone), .uuid(push.replica), .integer(Int64(clamping: push.number)),
        .integer(Int64(part)))
      guard rows.count > 0,
        let header = try? ChangeSetDecoder().decodeHeader(rows.data(0, 0)),
        // One that the disk has changed is nobody's.
        header.digest == rows.data(0, 1)
      else { return nil }
      return header
    }
  }

  extension PostgresZoneTables {
    func stagedBytes(of zone: ZoneRecord, butOf replica: UUID) throws -> Int {
      let rows = try connection.run(
        """
        SELECT coalesce(sum(size), 0)::bigint FROM staged WHERE zone = $1 AND replica <> $2
        """, .integer(zone.id), .uuid(replica))
      return Int(clamping: rows.int64(0, 0))
    }

    func stagedBytes(beside part: Push, _ header: ChangeSetHeader) throws -> Int {
      try PostgresStagedParts.room(beside: part, header, zone: zone.id, on: connection).own
    }

    func stage(
      _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord
    ) throws {
      hasStaged = true
      try PostgresStagedParts.keep(part, header, at: milliseconds, of: zone, on: connection)
    }

    func makeRoom(
      for part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits, of zone: ZoneRecord
    ) throws {
      let room = try PostgresStagedParts.room(
        beside: part, header, zone: zone.id, on: connection)
      if try room.takesOthers(for: part, header, limits) {
        try PostgresStagedParts.dropOthers(of: part, zone: zone.id, on: connection)
      }
    }

    func staged(_ part: UInt16, of push: Push) throws -> Data? {
      try PostgresStagedParts.frame(part, of: push, zone: zone.id, on: connection)
    }

    func dropStaged(of replica: UUID, through number: UInt64) throws {
      guard hasStaged else { return }
      try PostgresStagedParts.drop(of: replica, through: number, zone: zone.id, on: connection)
    }
  }

  extension PostgresZoneStorage {
    package func stagedFrame(of header: Data, in zone: ZoneRecord) async throws -> Data {
      do {
        return try await pool.perform {
          try PostgresStagedParts.frame(ofHeader: header, zone: zone, on: $0)
        }
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }

    package func stage(_ part: Push, of zone: ZoneRecord) async throws {
      try await staging.run(
        of: zone.id, cost: part.cost, most: limits.current.queuedPushesMax
      ) { try await keep(part, of: zone) }
    }

    private func keep(_ part: Push, of zone: ZoneRecord) async throws {
      do {
        guard let header = part.part, header.isFollowedByParts else {
          throw ProtocolError.malformed("The last part of a push is not kept beside the log")
        }
        try await pool.perform { [limits, clock] connection in
          let (limits, now) = (limits.current, clock.now())
          while try PostgresStagedParts.dropSomeForgotten(
            before: now - Int64(limits.stagedSeconds) * 1000, on: connection)
          {}
          let room = try PostgresStagedParts.room(
            beside: part, header, zone: zone.id, on: connection)
          if room.isCrowded(by: part, header, limits) {
            while try PostgresStagedParts.dropSomeForgotten(
              before: now - Int64(limits.stagedIdleSeconds) * 1000, but: part.replica,
              on: connection)
            {}
          }
          // Looked at in a state that stays, and written after: the log has it with the last part.
          let wanted = try connection.transaction(.read) {
            try Self.wanted(part, header, of: zone, limits, at: now, connection)
          }
          guard let wanted else { return }
          try connection.transaction(.write) {
            if wanted.takesOthers {
              try PostgresStagedParts.dropOthers(of: part, zone: zone.id, on: connection)
            }
            try PostgresStagedParts.keep(part, header, at: now, of: zone, on: connection)
          }
        }
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }

    /// - Returns: nil for a part of a push that the log has; else whether the replica's other pushes go for it.
    private static func wanted(
      _ part: Push, _ header: ChangeSetHeader, of record: ZoneRecord, _ limits: ServerLimits,
      at milliseconds: Int64, _ connection: PostgresConnection
    ) throws -> Wanted? {
      guard let row = try connection.zoneRow(named: record.name) else {
        throw ServerError.noZone(record.name)
      }
      let tables = PostgresZoneTables(connection, row, onlyReads: true)
      let append = LogAppend(tables: tables, limits: limits, nowMilliseconds: milliseconds)
      guard try append.isWanted(part, of: record) else { return nil }
      try header.checkCopies(of: part.number) {
        try PostgresStagedParts.header($0, of: part, zone: row.zone.id, on: connection)
      }
      let room = try PostgresStagedParts.room(
        beside: part, header, zone: row.zone.id, on: connection)
      let takesOthers = try room.takesOthers(for: part, header, limits)
      // What the rules write stays in memory. The first part alone is looked at as a push is.
      tables.begin()
      if header.part == 1 { try tables.load(for: [part]) }
      try append.probe(part, header, of: record)
      return Wanted(takesOthers: takesOthers)
    }

    private struct Wanted {
      var takesOthers: Bool
    }
  }
#endif
