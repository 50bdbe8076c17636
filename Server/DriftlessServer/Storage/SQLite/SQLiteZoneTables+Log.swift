import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Replicas and the log.
extension SQLiteZoneTables {
  func replica(_ replica: UUID) throws -> KnownReplica? {
    try connection.replicaRow(replica).map {
      KnownReplica(
        id: $0.id, zone: $0.zone, lastPush: $0.lastPush,
        isForgotten: try ForgottenReplicas.has(replica, of: $0.zone, on: connection))
    }
  }

  func replicaCount(of zone: Int64) throws -> Int {
    try ForgottenReplicas.countOfOthers(in: zone, on: connection)
  }

  func add(_ replica: UUID, to zone: Int64, isForgotten: Bool) throws -> KnownReplica {
    try LeavingZones.giveUp(replica, on: connection)
    try connection.run(
      "INSERT INTO replica(zone, uuid, last_push) VALUES(?, ?, 0)", .integer(zone),
      .blob(replica.bytes))
    let id = connection.lastInsertRowID
    if isForgotten {
      try ForgottenReplicas.add(replica, to: zone, on: connection)
    } else {
      // A program of before may have taken the row away, and left that it was forgotten.
      try ForgottenReplicas.remove(replica, of: zone, on: connection)
    }
    return KnownReplica(id: id, zone: zone, lastPush: 0, isForgotten: isForgotten)
  }

  func remember(_ replica: UUID, of zone: Int64) throws {
    try ForgottenReplicas.remove(replica, of: zone, on: connection)
  }

  func entry(of replica: KnownReplica, number: UInt64) throws -> KnownEntry? {
    let statement = try connection.prepare(
      """
      SELECT position, first_object, digest, chain FROM entry WHERE replica = ? AND number = ?
      ORDER BY position DESC LIMIT 1
      """)
    defer { statement.reset() }
    statement.bind(replica.id, at: 1)
    statement.bind(Int64(clamping: number), at: 2)
    guard try statement.step() else { return nil }
    return KnownEntry(
      sequence: LogPosition.number(statement.int64(0)),
      firstObjectNumber: UInt64(clamping: statement.int64(1)), digest: statement.data(2),
      chain: try connection.chain(statement.data(3)))
  }

  func ownFrames(of replica: KnownReplica, after sequence: UInt64) throws -> OwnFrames {
    let statement = try connection.prepare(
      """
      SELECT position, first_object, new_objects FROM log
      WHERE replica = ? ORDER BY number DESC, position DESC LIMIT ?
      """)
    defer { statement.reset() }
    statement.bind(replica.id, at: 1)
    statement.bind(Int64(LogBounds.ownFramesMax), at: 2)
    let bound = LogPosition.of(zone: replica.zone, number: sequence)
    var own: [OwnFrames.Frame] = []
    // An entry has a higher number than all of its replica before it, or that of the part before it. So the first that is not behind
    // the place ends them: a condition on the place would walk through all that the replica ever sent.
    while try statement.step(), statement.int64(0) > bound {
      own.append(
        OwnFrames.Frame(
          sequence: LogPosition.number(statement.int64(0)),
          firstObject: UInt64(clamping: statement.int64(1)),
          count: UInt64(clamping: statement.int64(2))))
    }
    return OwnFrames(own)
  }

  func firstObject(of sequence: UInt64, zone: Int64) throws -> UInt64? {
    let statement = try connection.prepare("SELECT first_object FROM entry WHERE position = ?")
    defer { statement.reset() }
    statement.bind(LogPosition.of(zone: zone, number: sequence), at: 1)
    return try statement.step() ? UInt64(clamping: statement.int64(0)) : nil
  }

  func floor(of zone: ZoneRecord) throws -> UInt64 {
    try PurgedLog.floor(of: zone, on: connection)
  }

  func append(_ entry: NewEntry, to zone: ZoneRecord) throws {
    let push = entry.push
    let insert = try connection.prepare(
      "INSERT INTO log VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    defer { insert.letGo() }
    insert.bind(LogPosition.of(zone: zone.id, number: entry.sequence), at: 1)
    insert.bind(entry.replica.id, at: 2)
    insert.bind(Int64(clamping: push.number), at: 3)
    insert.bind(Int64(clamping: zone.nextObject), at: 4)
    insert.bind(Int64(clamping: push.contents.newCount), at: 5)
    insert.bind(entry.receivedMilliseconds, at: 6)
    insert.bind(push.digest, at: 7)
    insert.bind(entry.chain.bytes, at: 8)
    insert.bind(push.contents.names, at: 9)
    insert.bind(Int64(push.frame.count), at: 10)
    insert.bind(push.frame.prefix(ChangeSetHeader.size), at: 11)
    try insert.withBorrowed(push.frame.dropFirst(ChangeSetHeader.size), at: 12) {
      try insert.run()
    }
    try connection.run(
      "UPDATE zone SET head = ?, next_object = ?, chain = ?, newest_ms = max(newest_ms, ?) WHERE id = ?",
      .integer(Int64(clamping: entry.sequence)),
      .integer(Int64(clamping: zone.nextObject + push.contents.newCount)),
      .blob(entry.chain.bytes), .integer(Int64(clamping: push.contents.newestMilliseconds)),
      .integer(zone.id))
    try connection.run(
      "UPDATE replica SET last_push = ? WHERE id = ?", .integer(Int64(clamping: push.number)),
      .integer(entry.replica.id))
    if !entry.isRefill { try ZoneBounds.forgetPutBack(of: zone, on: connection) }
  }
}
