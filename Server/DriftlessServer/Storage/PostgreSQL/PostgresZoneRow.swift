#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// A row of the table `zone`.
  struct PostgresZoneRow {
    let zone: ZoneRecord
    let numbers: Numbers
    let createdMilliseconds: Int64

    /// The small numbers that come next in a zone.
    struct Numbers: Equatable {
      var nextReplica: Int64
      var nextName: Int64
    }

    static let select = """
      SELECT id, name, uuid, generation, head, chain, parent_generation, parent_sequence,
        parent_chain, intent, format_level, next_object, newest_ms, replacements, next_replica,
        next_name, created_ms, \(PostgresBounds.column) FROM zone WHERE \(PostgresLeavingZones.isThere)
      """

    /// - Throws: `ServerError` (`.storage`) for a row that is damaged.
    init(_ rows: PostgresRows, _ row: Int) throws {
      guard let zoneID = rows.uuid(row, 2), let generation = rows.uuid(row, 3),
        let chain = LogChain(bytes: rows.data(row, 5))
      else {
        throw ServerError(
          .storage, "the record of zone \(rows.text(row, 1)) is damaged",
          suggestion: "Restore the database from its backup.")
      }
      let parent = try rows.uuid(row, 6).map {
        ZoneParent(
          generation: $0, sequence: rows.uint64(row, 7), chain: try Self.chain(rows.data(row, 8)))
      }
      let noted = ZoneLimitRows(rows.isNull(row, 17) ? nil : rows.text(row, 17))
      zone = ZoneRecord(
        id: rows.int64(row, 0), name: rows.text(row, 1), zoneID: zoneID, generation: generation,
        parent: parent, intent: ZoneIntent(rawValue: rows.text(row, 9)) ?? .offer,
        replacements: rows.data(row, 13).uuids,
        formatLevel: UInt16(clamping: rows.int64(row, 10)), head: rows.uint64(row, 4),
        chain: chain, nextObject: rows.uint64(row, 11), newestMilliseconds: rows.uint64(row, 12),
        limits: noted.limits, isPutBack: noted.isPutBack)
      numbers = Numbers(nextReplica: rows.int64(row, 14), nextName: rows.int64(row, 15))
      createdMilliseconds = rows.int64(row, 16)
    }

    static func chain(_ bytes: Data) throws -> LogChain {
      guard let chain = LogChain(bytes: bytes) else {
        throw ServerError(
          .storage, "the chain of a log entry is damaged",
          suggestion: "Restore the database from its backup.")
      }
      return chain
    }
  }

  extension PostgresConnection {
    /// So often a row is looked for that others wrote meanwhile.
    private static let looks = 4

    /// The zone of that name; nil when there is none.
    ///
    /// - Parameter locks: whether nobody else may write to the zone until the transaction ends.
    func zoneRow(named name: String, locks: Bool = false) throws -> PostgresZoneRow? {
      // A name that no zone can have may hold what no text of the database may.
      guard ZoneName.isValid(name) else { return nil }
      let select = PostgresZoneRow.select + " AND name = $1" + (locks ? " FOR UPDATE" : "")
      var rows = try run(select, .text(name))
      // Who waited for a row which has another name by then finds the one that has this name when it looks again.
      for _ in 0..<Self.looks where locks && rows.count == 0 { rows = try run(select, .text(name)) }
      return rows.count > 0 ? try PostgresZoneRow(rows, 0) : nil
    }

    /// The zone as it is now, whatever its name and its number became; nil when it is gone.
    ///
    /// - Parameter locks: whether nobody else may write to the zone until the transaction ends.
    func currentRow(of zone: ZoneRecord, locks: Bool = false) throws -> PostgresZoneRow? {
      let lock = locks ? " FOR UPDATE" : ""
      let uuid = PostgresValue.uuid(zone.zoneID)
      var rows = try run(
        PostgresZoneRow.select + " AND id = $1 AND uuid = $2" + lock, .integer(zone.id), uuid)
      // Who waited for a renewal looks again, and may wait for another one then.
      for _ in 0..<(locks ? Self.looks : 1) where rows.count == 0 {
        rows = try run(PostgresZoneRow.select + " AND uuid = $1" + lock, uuid)
      }
      return rows.count > 0 ? try PostgresZoneRow(rows, 0) : nil
    }

    func current(_ zone: ZoneRecord) throws -> ZoneRecord {
      guard let row = try currentRow(of: zone) else { throw ServerError.noZone(zone.name) }
      return row.zone
    }

    /// Writes a zone of which nothing is there so far.
    ///
    /// - Returns: whether its number, and its name, were free.
    func insert(_ zone: ZoneRecord, createdMilliseconds: Int64) throws -> Bool {
      let inserted = try run(
        """
        INSERT INTO zone(id, name, uuid, generation, parent_generation, parent_sequence,
          parent_chain, intent, format_level, head, chain, next_object, newest_ms, created_ms,
          replacements, next_replica, next_name)
        VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 1, 1)
        ON CONFLICT DO NOTHING
        """, .integer(zone.id), .text(zone.name), .uuid(zone.zoneID), .uuid(zone.generation),
        zone.parent.map { .uuid($0.generation) } ?? .null,
        zone.parent.map { .integer(Int64(clamping: $0.sequence)) } ?? .null,
        zone.parent.map { .blob($0.chain.bytes) } ?? .null, .text(zone.intent.rawValue),
        .integer(Int64(zone.formatLevel)), .integer(Int64(clamping: zone.head)),
        .blob(zone.chain.bytes), .integer(Int64(clamping: zone.nextObject)),
        .integer(Int64(clamping: zone.newestMilliseconds)), .integer(createdMilliseconds),
        .blob(zone.replacements.bytes))
      guard inserted.changes == 1 else { return false }
      try PostgresBounds.set(of: zone, on: self)
      return true
    }

    func zones() throws -> [ZoneRecord] {
      let rows = try run(PostgresZoneRow.select + " ORDER BY name")
      return try (0..<rows.count).map { try PostgresZoneRow(rows, $0).zone }
    }

    /// A place of the log; nil when the log has none there.
    func place(at sequence: UInt64, of zone: ZoneRecord) throws -> LogMark? {
      guard sequence <= zone.head else { return nil }
      if sequence == 0 { return Cursor.start(generation: zone.generation).mark }
      if sequence == zone.head { return LogMark(sequence: sequence, chain: zone.chain) }
      let rows = try run(
        "SELECT chain FROM entry WHERE zone = $1 AND sequence = $2", .integer(zone.id),
        .integer(Int64(clamping: sequence)))
      guard rows.count > 0 else { return nil }
      return LogMark(sequence: sequence, chain: try PostgresZoneRow.chain(rows.data(0, 0)))
    }

    /// - Throws: `ServerError` (`.diverged`) when a place is not the log's own.
    func check(_ place: LogMark, in zone: ZoneRecord) throws {
      guard try self.place(at: place.sequence, of: zone) == place else {
        throw ServerError.diverged(at: place.sequence, zone)
      }
    }
  }
#endif
