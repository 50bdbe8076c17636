import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension DatabaseCheck {
  /// What was purged of a log, and what stands for it.
  ///
  /// - Returns: where the log goes on, and the number of the next object there.
  mutating func checkPurged(of zone: ZoneRecord) throws -> (place: LogMark, nextObject: UInt64) {
    let statement = try connection.prepareUncached(
      """
      SELECT position, first_object, new_objects, digest, chain, length(names), replica.uuid
      FROM purged LEFT JOIN replica ON replica.id = purged.replica AND replica.zone = ?1
      WHERE position >= ?2 AND position < ?3 ORDER BY position
      """)
    statement.bind([
      .integer(zone.id), .integer(LogPosition.of(zone: zone.id, number: 0)),
      .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)),
    ])
    var check = PurgedCheck(of: zone)
    while try statement.step() {
      outcome.entries += 1
      let entry = PurgedCheck.Entry(
        sequence: LogPosition.number(statement.int64(0)),
        firstObject: UInt64(clamping: statement.int64(1)),
        newObjects: UInt64(clamping: statement.int64(2)), digest: statement.data(3),
        chain: statement.data(4), namesSize: Int(statement.int64(5)),
        hasReplica: !statement.data(6).isEmpty)
      for damage in check.damages(of: entry) {
        note("purged", zone.name, "entry \(entry.sequence)", damage, Self.byRenewal(zone.name))
      }
    }
    let connection = connection
    let damages = try check.damages {
      try PurgedLog.row(of: zone, on: connection)
    } own: {
      try connection.place(at: $0, of: zone)
    } bytes: {
      try PurgedLog.bytes(of: $0, of: zone, on: connection)
    } unnoted: {
      try LargeValues.unnoted($0, bySnapshotOf: zone.id, on: connection)
    }
    for damage in damages {
      note("purge", zone.name, "snapshot", damage, Self.byRenewal(zone.name))
    }
    return (check.place, check.nextObject)
  }
}
