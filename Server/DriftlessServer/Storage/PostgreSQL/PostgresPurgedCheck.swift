#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  extension PostgresCheck {
    /// What was purged of a log, and what stands for it.
    ///
    /// - Returns: where the log goes on, and the number of the next object there.
    mutating func checkPurged(of zone: ZoneRecord) throws -> (place: LogMark, nextObject: UInt64) {
      var check = PurgedCheck(of: zone)
      while true {
        let rows = try connection.run(
          """
          SELECT sequence, first_object, new_objects, digest, chain, octet_length(names),
            EXISTS (SELECT 1 FROM replica WHERE replica.zone = $1 AND replica.id = purged.replica)
          FROM purged WHERE zone = $1 AND sequence > $2 ORDER BY sequence LIMIT 5000
          """, .integer(zone.id), .integer(Int64(clamping: check.place.sequence)))
        guard rows.count > 0 else { break }
        for row in 0..<rows.count {
          outcome.entries += 1
          let entry = PurgedCheck.Entry(
            sequence: rows.uint64(row, 0), firstObject: rows.uint64(row, 1),
            newObjects: rows.uint64(row, 2), digest: rows.data(row, 3), chain: rows.data(row, 4),
            namesSize: Int(rows.int64(row, 5)), hasReplica: rows.bool(row, 6))
          for damage in check.damages(of: entry) {
            note("purged", zone.name, "entry \(entry.sequence)", damage)
          }
        }
      }
      let connection = connection
      let damages = try check.damages {
        try PostgresPurgedLog.row(of: zone, on: connection)
      } own: {
        try connection.place(at: $0, of: zone)
      } bytes: {
        try PostgresPurgedLog.bytes(of: $0, of: zone, on: connection)
      } unnoted: {
        try PostgresLargeValues.unnoted($0, bySnapshotOf: zone.id, on: connection)
      }
      for damage in damages { note("purge", zone.name, "snapshot", damage) }
      return (check.place, check.nextObject)
    }
  }
#endif
