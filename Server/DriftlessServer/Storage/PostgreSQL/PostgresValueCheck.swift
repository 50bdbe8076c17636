#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  extension PostgresCheck {
    /// Whether the bytes of each whole value are what its digest says, a piece at a time. That a log names one which is not here
    /// is no damage where that is known: a database that was put back may have got the entry without it.
    mutating func checkValues(of zone: ZoneRecord) throws {
      var last = Data()
      while true {
        let rows = try connection.run(
          """
          SELECT digest, id, length FROM value
          WHERE zone = $1 AND digest > $2 AND replica = ''::bytea ORDER BY digest LIMIT 5000
          """, .integer(zone.id), .blob(last))
        guard rows.count > 0 else { break }
        for row in 0..<rows.count {
          last = rows.data(row, 0)
          let place = "value \(Hexadecimal.text(last))"
          guard let id = rows.uuid(row, 1),
            let value = LargeValue(digest: last, length: rows.uint64(row, 2))
          else {
            note("value", zone.name, place, "its row is damaged", DatabaseCheck.byReplica)
            continue
          }
          let isWhole = try value.isWhole { [connection] first in
            try PostgresLargeValues.piece(of: id, first: first, zone: zone.id, on: connection)
          }
          guard !isWhole else { continue }
          note(
            "value", zone.name, place, "its bytes are not what its digest says",
            DatabaseCheck.byReplica)
        }
      }
      let lacked = try connection.run(
        """
        SELECT digest, length, count(*) OVER () FROM value_lost WHERE zone = $1
        ORDER BY digest LIMIT \(DatabaseCheck.damageMax)
        """, .integer(zone.id))
      outcome.note(
        lacked: (0..<lacked.count).compactMap {
          LargeValue(digest: lacked.data($0, 0), length: lacked.uint64($0, 1))
        }, of: zone.name, count: lacked.count > 0 ? lacked.int64(0, 2) : 0)
      let gone = try PostgresLargeValues.gone(
        from: Data(), through: nil, countMax: DatabaseCheck.damageMax + 1, zone: zone.id,
        on: connection)
      for digest in gone {
        note(
          "value", zone.name, "value \(Hexadecimal.text(digest))",
          "it is named, and neither here nor told to replicas as lost", DatabaseCheck.byReplica)
      }
    }
  }
#endif
