#if PostgreSQL
  import Crypto
  import DriftlessProtocol
  import Foundation

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

    /// Makes an index by which parts with the same bytes are found among all of their replica's: a program of before made none. A user
    /// who may not make it goes without.
    static func makeIndex(on connection: PostgresConnection) throws {
      let isThere = try connection.run(
        """
        SELECT EXISTS (SELECT 1 FROM pg_indexes WHERE indexname = 'staged_body'
          AND schemaname = ANY (current_schemas(false)))
        """
      ).bool(0, 0)
      guard !isThere else { return }
      do {
        try connection.patiently {
          try connection.execute(
            "CREATE INDEX IF NOT EXISTS staged_body ON staged(zone, replica, size, body_hash)")
        }
      } catch let error as PostgresError where error.kind == .statement {
        // All is found without it, at more cost. Another node may be making it.
      }
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
        """
        SELECT number, part FROM staged WHERE zone = $1 AND replica = $2 AND size = $3
        ORDER BY number = $4 AND part = $5 DESC, part = $5 DESC, number DESC
        LIMIT \(StagedCandidates.countMax)
        """, .integer(zone.id), .uuid(header.replica), .integer(Int64(header.frameSize)),
        .integer(Int64(clamping: header.pushNumber)), .integer(Int64(header.part)))
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
    /// - Returns: how many bytes of former pushes went, whose parts had the same bytes.
    /// - Throws: `ProtocolError`: `.forked` where other bytes are here under its number; `ServerError`: `.generationChanged`.
    @discardableResult static func keep(
      _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord,
      on connection: PostgresConnection
    ) throws -> Int {
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
      let gone = try connection.run(
        """
        DELETE FROM staged WHERE zone = $1 AND replica = $2 AND number < $3 AND size = $4
          AND body_hash = $5
        """, zoneID, replica, number, .integer(Int64(part.frame.count)), .blob(hash))
      return Int(gone.changes) * part.frame.count
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
      beside part: Push, _ header: ChangeSetHeader, zone: Int64, _ sums: inout StagedSums,
      on connection: PostgresConnection
    ) throws -> StagedRoom {
      try sums.room(
        beside: part, zone: zone, same: try size(of: part, header, zone: zone, on: connection)
      ) { try bytes(of: $0, zone: zone, on: connection) }
    }

    /// Bytes of a part, where it is here; 0 where it is not.
    static func size(
      of part: Push, _ header: ChangeSetHeader, zone: Int64, on connection: PostgresConnection
    ) throws -> Int {
      let rows = try connection.run(
        """
        SELECT size FROM staged WHERE zone = $1 AND replica = $2 AND number = $3 AND part = $4
        """, .integer(zone), .uuid(part.replica), .integer(Int64(clamping: part.number)),
        .integer(Int64(header.part)))
      return rows.count > 0 ? Int(clamping: rows.int64(0, 0)) : 0
    }

    /// Bytes of parts that wait, by the key that begins with the zone.
    ///
    /// - Parameter zone: that of a push.
    static func bytes(
      of scope: StagedSums.Scope, zone: Int64, on connection: PostgresConnection
    ) throws -> Int {
      let sum = "SELECT coalesce(sum(size), 0)::bigint FROM staged"
      let rows =
        switch scope {
        case .all: try connection.run(sum)
        case .zone(let zone): try connection.run(sum + " WHERE zone = $1", .integer(zone))
        case .replica(let replica, let zone):
          try connection.run(
            sum + " WHERE zone = $1 AND replica = $2", .integer(zone), .uuid(replica))
        case .push(let replica, let number):
          try connection.run(
            sum + " WHERE zone = $1 AND replica = $2 AND number = $3", .integer(zone),
            .uuid(replica), .integer(Int64(clamping: number)))
        }
      return Int(clamping: rows.int64(0, 0))
    }

    /// Bytes that wait, of all replicas.
    static func allBytes(on connection: PostgresConnection) throws -> Int64 {
      Int64(try bytes(of: .all, zone: 0, on: connection))
    }

    /// Bytes of a replica's pushes up to a number.
    static func bytes(
      of replica: UUID, through number: UInt64, zone: Int64, on connection: PostgresConnection
    ) throws -> Int {
      let rows = try connection.run(
        """
        SELECT coalesce(sum(size), 0)::bigint FROM staged
        WHERE zone = $1 AND replica = $2 AND number <= $3
        """, .integer(zone), .uuid(replica), .integer(Int64(clamping: number)))
      return Int(clamping: rows.int64(0, 0))
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
    private func sum(_ scope: StagedSums.Scope) throws -> Int {
      try stagedSums.bytes(of: scope) {
        try PostgresStagedParts.bytes(of: $0, zone: zone.id, on: connection)
      }
    }

    func stagedBytes(of zone: ZoneRecord, butOf replica: UUID) throws -> Int {
      try sum(.zone(zone.id)) - sum(.replica(replica, zone: zone.id))
    }

    func stagedBytes(beside part: Push, _ header: ChangeSetHeader) throws -> Int {
      try sum(.push(part.replica, part.number))
        - PostgresStagedParts.size(of: part, header, zone: zone.id, on: connection)
    }

    func stage(
      _ part: Push, _ header: ChangeSetHeader, at milliseconds: Int64, of zone: ZoneRecord
    ) throws {
      hasStaged = true
      let before = try PostgresStagedParts.size(of: part, header, zone: zone.id, on: connection)
      let went = try PostgresStagedParts.keep(
        part, header, at: milliseconds, of: zone, on: connection)
      stagedSums.add(
        part.frame.count - before, replica: part.replica, number: part.number, zone: zone.id)
      if went > 0 { stagedSums.remove(went, replica: part.replica) }
    }

    func makeRoom(
      for part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits, of zone: ZoneRecord
    ) throws {
      let room = try PostgresStagedParts.room(
        beside: part, header, zone: zone.id, &stagedSums, on: connection)
      if try room.takesOthers(for: part, header, limits) {
        try PostgresStagedParts.dropOthers(of: part, zone: zone.id, on: connection)
        stagedSums.forget()
      }
    }

    func staged(_ part: UInt16, of push: Push) throws -> Data? {
      try PostgresStagedParts.frame(part, of: push, zone: zone.id, on: connection)
    }

    func dropStaged(of replica: UUID, through number: UInt64) throws {
      guard hasStaged else { return }
      if !stagedSums.isEmpty {
        let bytes = try PostgresStagedParts.bytes(
          of: replica, through: number, zone: zone.id, on: connection)
        stagedSums.remove(bytes, replica: replica)
      }
      try PostgresStagedParts.drop(of: replica, through: number, zone: zone.id, on: connection)
    }
  }
#endif
