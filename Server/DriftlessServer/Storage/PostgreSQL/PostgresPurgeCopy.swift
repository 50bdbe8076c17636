#if PostgreSQL
  import DriftlessProtocol
  import DriftlessSQLite
  import Foundation

  /// What stands for purged entries of a zone's log, and what is kept of them, on their way from one kind of database to the other.
  /// Numbers of replicas are another's there.
  enum PostgresPurgeCopy {
    /// - Parameters:
    ///   - zone: as it is in PostgreSQL.
    ///   - id: its number in the file.
    static func out(
      of source: PostgresConnection, _ zone: ZoneRecord, into copy: SQLiteConnection, as id: Int64,
      replica: (Int64) throws -> Int64
    ) throws {
      guard let row = try PostgresPurgedLog.row(of: zone, on: source) else { return }
      let copied = zone.with(id: id)
      for file in row.snapshot.files {
        guard let bytes = try PostgresPurgedLog.bytes(of: file.name, of: zone, on: source)
        else { throw PostgresCopy.damaged("what zone \(zone.name) came to is not there") }
        try PurgedLog.keep(bytes, as: file.name, of: copied, on: copy)
      }
      try PurgedLog.setFloor(
        row.floor, row.snapshot, of: copied, at: row.milliseconds, on: copy)
      var last: Int64 = 0
      while true {
        let rows = try source.run(
          """
          SELECT sequence, replica, number, first_object, new_objects, received_ms, digest, chain,
            names, size FROM purged WHERE zone = $1 AND sequence > $2
          ORDER BY sequence LIMIT \(PostgresCopy.pageRows)
          """, .integer(zone.id), .integer(last))
        guard rows.count > 0 else { return }
        for row in 0..<rows.count {
          last = rows.int64(row, 0)
          try copy.run(
            "INSERT INTO purged VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            .integer(LogPosition.of(zone: id, number: UInt64(clamping: last))),
            .integer(try replica(rows.int64(row, 1))), .integer(rows.int64(row, 2)),
            .integer(rows.int64(row, 3)), .integer(rows.int64(row, 4)),
            .integer(rows.int64(row, 5)), .blob(rows.data(row, 6)), .blob(rows.data(row, 7)),
            .blob(rows.data(row, 8)), .integer(rows.int64(row, 9)))
        }
      }
    }

    /// - Parameters:
    ///   - id: its number in PostgreSQL.
    ///   - zone: as it is in the file.
    static func into(
      _ copy: PostgresConnection, as id: Int64, of source: SQLiteConnection, _ zone: ZoneRecord,
      replica: (Int64) throws -> Int64
    ) throws {
      guard let row = try PurgedLog.row(of: zone, on: source) else { return }
      for file in row.snapshot.files {
        guard let bytes = try PurgedLog.bytes(of: file.name, of: zone, on: source)
        else { throw PostgresCopy.damaged("what zone \(zone.name) came to is not there") }
        try PostgresPurgedLog.keep(bytes, as: file.name, zone: id, on: copy)
      }
      try PostgresPurgedLog.setFloor(
        row.floor, row.snapshot, of: zone.with(id: id), at: row.milliseconds, on: copy)
      let entries = try source.prepareUncached(
        """
        SELECT position, replica, number, first_object, new_objects, received_ms, digest, chain,
          names, size FROM purged WHERE position >= ? AND position < ? ORDER BY position
        """)
      entries.bind([
        .integer(LogPosition.of(zone: zone.id, number: 0)),
        .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)),
      ])
      while try entries.step() {
        try copy.run(
          """
          INSERT INTO purged(zone, sequence, replica, number, first_object, new_objects,
            received_ms, digest, chain, names, size)
          VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
          """, .integer(id),
          .integer(Int64(clamping: LogPosition.number(entries.int64(0)))),
          .integer(try replica(entries.int64(1))), .integer(entries.int64(2)),
          .integer(entries.int64(3)), .integer(entries.int64(4)), .integer(entries.int64(5)),
          .blob(entries.data(6)), .blob(entries.data(7)), .blob(entries.data(8)),
          .integer(entries.int64(9)))
      }
    }
  }
#endif
