#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Reads of tokens and logs.
  extension PostgresConnection {
    /// Those of zones that are there. It ends in a condition, to which others are added by AND.
    private static let selectTokens = """
      SELECT token.id, token.hash, token.zone, zone.name, token.verbs, token.created_ms,
        token.revoked_ms, token.name, token.expires_ms, token_binding.id IS NOT NULL,
        token_binding.replica
      FROM token JOIN zone ON zone.id = token.zone
      LEFT JOIN token_binding ON token_binding.id = token.id
      WHERE \(PostgresLeavingZones.isThere)
      """

    func token(id: String) throws -> TokenRecord? {
      let rows = try run(Self.selectTokens + " AND token.id = $1", .text(id))
      return rows.count > 0 ? Self.token(rows, 0) : nil
    }

    func tokens() throws -> [TokenRecord] {
      let rows = try run(Self.selectTokens + " ORDER BY zone.name, token.created_ms, token.id")
      return (0..<rows.count).map { Self.token(rows, $0) }
    }

    private static func token(_ rows: PostgresRows, _ row: Int) -> TokenRecord {
      TokenRecord(
        id: rows.text(row, 0), hash: rows.data(row, 1), zoneID: rows.int64(row, 2),
        zoneName: rows.text(row, 3), verbs: Verbs(rawValue: rows.int64(row, 4)),
        createdMilliseconds: rows.int64(row, 5),
        revokedMilliseconds: rows.isNull(row, 6) ? nil : rows.int64(row, 6),
        name: rows.isNull(row, 7) ? nil : rows.text(row, 7),
        expiresMilliseconds: rows.isNull(row, 8) ? nil : rows.int64(row, 8),
        binding: PostgresBindings.binding(rows, row, at: 9))
    }

    /// Entries after a place, until the bytes are used up; at least one, if there is one. Who calls it has a transaction in
    /// which all statements see one state.
    func page(of zone: ZoneRecord, _ request: PageRequest) throws -> LogPage {
      var page = try entries(of: zone, request)
      page.lostValues = try PostgresLargeValues.lostMark(of: zone.id, on: self)
      return page
    }

    private func entries(of zone: ZoneRecord, _ request: PageRequest) throws -> LogPage {
      // Read anew: the log may have grown while the request waited for news.
      let current = try self.current(zone)
      guard current.generation == zone.generation else {
        throw ServerError.generationChanged(zone: zone.name)
      }
      try check(request.after, in: current)
      if let mark = request.mark { try check(mark, in: current) }
      let floor = try PostgresPurgedLog.floor(of: current, on: self)
      guard request.after.sequence >= floor else {
        throw ServerError.purged(at: request.after.sequence, floor: floor, current)
      }
      guard request.after.sequence < current.head else {
        return LogPage(entries: [], head: current.head)
      }
      guard let last = try pageEnd(of: current, request) else {
        return LogPage(entries: [], head: current.head)
      }
      try request.reserve?(last.bytes)
      let rows = try run(
        """
        WITH own AS (SELECT id FROM replica WHERE zone = $1 AND uuid = $2)
        SELECT sequence, first_object, chain, header, is_own,
          CASE WHEN is_own THEN NULL ELSE body END
        FROM (
          SELECT *, replica IN (SELECT id FROM own) AND sequence <= $3 AS is_own FROM log
          WHERE zone = $1 AND sequence > $4 AND sequence <= $5) AS page
        ORDER BY sequence
        """, .integer(current.id), .uuid(request.own?.replica ?? UUID()),
        .integer(Int64(clamping: request.own?.through ?? 0)),
        .integer(Int64(clamping: request.after.sequence)), .integer(Int64(clamping: last.sequence)))
      let entries = try (0..<rows.count).map { row in
        LogEntry(
          sequence: rows.uint64(row, 0), firstObjectNumber: rows.uint64(row, 1),
          chain: try PostgresZoneRow.chain(rows.data(row, 2)),
          bytes: rows.frame(row, header: 3, body: 5), isHeaderOnly: rows.bool(row, 4))
      }
      return LogPage(entries: entries, head: current.head)
    }

    /// The last entry of a page, and the bytes up to it, by what the rows say of their sizes: no change set is read for it.
    private func pageEnd(
      of zone: ZoneRecord, _ request: PageRequest
    ) throws -> (sequence: UInt64, bytes: Int)? {
      let rows = try run(
        """
        WITH own AS (SELECT id FROM replica WHERE zone = $1 AND uuid = $2),
        candidate AS (
          SELECT sequence, size, replica IN (SELECT id FROM own) AND sequence <= $3 AS is_own
          FROM log WHERE zone = $1 AND sequence > $4 ORDER BY sequence LIMIT $5),
        measured AS (
          SELECT sequence, row_number() OVER (ORDER BY sequence) AS place,
            (sum($6::bigint + CASE WHEN is_own THEN $7::bigint ELSE size END)
              OVER (ORDER BY sequence))::bigint AS total
          FROM candidate)
        SELECT sequence, total FROM measured WHERE place = 1 OR total <= $8::bigint
        ORDER BY sequence DESC LIMIT 1
        """, .integer(zone.id), .uuid(request.own?.replica ?? UUID()),
        .integer(Int64(clamping: request.own?.through ?? 0)),
        .integer(Int64(clamping: request.after.sequence)), .integer(Int64(request.entriesMax)),
        .integer(Int64(PullPage.Entry.headerSize)), .integer(Int64(ChangeSetHeader.size)),
        .integer(Int64(request.bytesMax)))
      return rows.count > 0 ? (rows.uint64(0, 0), Int(clamping: rows.int64(0, 1))) : nil
    }
  }
#endif
