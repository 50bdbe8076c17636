import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Values that are named and not here, and that nobody was told of: a hand, or a disk, took the row.
extension LargeValues {
  static func gone(
    from first: Data, through last: Data?, countMax: Int, zone: Int64,
    on connection: SQLiteConnection
  ) throws -> [Data] {
    try connection.rows(
      """
      SELECT DISTINCT digest FROM value_use AS used
      WHERE zone = ?1 AND digest >= ?2 AND digest <= coalesce(?3, digest)
        AND NOT EXISTS (SELECT 1 FROM value WHERE value.zone = used.zone
          AND value.digest = used.digest AND value.replica = x'')
        AND NOT EXISTS (SELECT 1 FROM value_lost AS lost
          WHERE lost.zone = used.zone AND lost.digest = used.digest)
      ORDER BY digest LIMIT ?4
      """, .integer(zone), .blob(first), last.map { .blob($0) } ?? .null,
      .integer(Int64(countMax))
    ).compactMap { if case .blob(let digest) = $0[0] { digest } else { nil } }
  }
}

extension SQLiteValueTables {
  func gone(from first: Data, through last: Data?, countMax: Int) throws -> [Data] {
    try LargeValues.gone(
      from: first, through: last, countMax: countMax, zone: zone.id, on: connection)
  }

  func entry(naming digest: Data, after sequence: UInt64) throws -> NamingEntry? {
    let rows = try connection.rows(
      """
      SELECT sequence FROM value_use WHERE zone = ? AND digest = ? AND sequence > ?
      ORDER BY sequence
      """, .integer(zone.id), .blob(digest), .integer(Int64(clamping: sequence)))
    for case .integer(let number) in rows.map(\.[0]) {
      let sequence = UInt64(clamping: number)
      let entry = try connection.rows(
        "SELECT header, body FROM log WHERE position = ?",
        .integer(LogPosition.of(zone: zone.id, number: sequence)))
      guard let entry = entry.first, case .blob(let header) = entry[0],
        case .blob(let body) = entry[1]
      else { continue }
      return NamingEntry(sequence: sequence, frame: header + body)
    }
    return nil
  }

  func kept() throws -> KeptLog? {
    try PurgedLog.row(of: zone, on: connection).map { row in
      KeptLog(row, of: zone) { [zone, connection] name in
        try PurgedLog.bytes(of: name, of: zone, on: connection)
      }
    }
  }
}
