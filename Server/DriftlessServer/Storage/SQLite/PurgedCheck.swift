import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What was purged of a log, and what stands for it.
extension DatabaseCheck {
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
    var place = Cursor.start(generation: zone.generation).mark
    var nextObject: UInt64 = 1
    while try statement.step() {
      outcome.entries += 1
      let sequence = LogPosition.number(statement.int64(0))
      let first = UInt64(clamping: statement.int64(1))
      let chain = place.chain.next(
        digest: statement.data(3), sequence: sequence, firstObjectNumber: first)
      var damages: [String] = []
      if sequence != place.sequence + 1 { damages.append("entry \(place.sequence + 1) is missing") }
      if first != nextObject {
        damages.append("its objects do not go on from number \(nextObject)")
      }
      if chain.bytes != statement.data(4) {
        damages.append("its chain does not go on from the entry before it")
      }
      if statement.int64(5) % 8 != 0 { damages.append("its list of names is cut off") }
      if statement.data(6).isEmpty { damages.append("its replica is not known") }
      for damage in damages {
        note("purged", zone.name, "entry \(sequence)", damage, Self.byRenewal(zone.name))
      }
      place = LogMark(sequence: sequence, chain: LogChain(bytes: statement.data(4)) ?? chain)
      nextObject = first + UInt64(clamping: statement.int64(2))
    }
    try checkKept(of: zone, purgedThrough: place.sequence)
    return (place, nextObject)
  }

  private mutating func checkKept(of zone: ZoneRecord, purgedThrough last: UInt64) throws {
    func found(_ message: String) {
      note("purge", zone.name, "snapshot", message, Self.byRenewal(zone.name))
    }
    let row: PurgedLog.Row?
    do {
      row = try PurgedLog.row(of: zone, on: connection)
    } catch let error as ServerError {
      return found(error.message)
    }
    guard let row else {
      if last > 0 { found("entries up to \(last) are gone, and nothing stands for them") }
      return
    }
    if last > row.floor { found("entries up to \(last) are gone, and the floor is \(row.floor)") }
    let place = row.snapshot.place
    if row.floor > place.sequence { found("it stands at \(place.sequence), below the floor") }
    if try connection.place(at: place.sequence, of: zone) != place {
      found("its place \(place.sequence) is none of the log")
    }
    for file in row.snapshot.files {
      let bytes = try PurgedLog.bytes(of: file.name, of: zone, on: connection)
      if bytes.map({ Snapshot.name(of: $0) }) != file.name {
        return found("its file \(file.name) is not as it was written, or gone")
      }
    }
    let kept = PurgedLog.kept(row, of: zone) { [connection] name in
      try PurgedLog.bytes(of: name, of: zone, on: connection)
    }
    let values = try PurgeCheck.values(of: kept.snapshot, kept.bytes)
    let unnoted = try LargeValues.unnoted(values, bySnapshotOf: zone.id, on: connection)
    if let first = unnoted.first {
      found(
        "it names the large value \(first.name) and \(unnoted.count - 1) more that are not kept for it"
      )
    }
  }
}
