import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension SQLiteZoneStorage {
  package func operatorToken(id: String) async throws -> OperatorRecord? {
    try await reader.perform { try OperatorTokens.one(id, $0) }
  }

  package func look(from name: String, count: Int) async throws -> StorageLook {
    await keepSightings()
    return try await reader.perform { [self] connection in
      var look = try connection.withSnapshot { try self.look(connection, from: name, count: count) }
      for index in look.zones.indices {
        let zone = look.zones[index].zone
        let found = try snapshots.snapshot(of: zone)
        let kept = try PurgedLog.row(of: zone, on: connection)?.snapshot
        let snapshot = [found, kept].compactMap(\.self)
          .max { $0.place.sequence < $1.place.sequence }
        look.zones[index].snapshot = snapshot.map { ($0.place.sequence, $0.bytes) }
      }
      let path = folder.database.path
      look.databaseBytes = Self.size(path)
      look.logFileBytes = Self.size(path + "-wal") ?? 0
      look.freeBytes = snapshots.freeBytes.map { Int64($0) }
      return look
    }
  }

  /// Has what was seen since the last time written; does not wait for a writer that is at something long.
  private func keepSightings() async {
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    writer.later { [self] in
      writeSightings()
      end.finish()
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in ends {} }
      group.addTask { try? await Task.sleep(for: .milliseconds(300)) }
      await group.next()
      group.cancelAll()
    }
  }

  private static func size(_ path: String) -> Int64? {
    DiskSpace.bytes(ofFile: path).map { Int64($0) }
  }

  private func look(
    _ connection: SQLiteConnection, from name: String, count: Int
  ) throws -> StorageLook {
    // One more, to know whether there are more.
    let zones = try connection.zones(from: name, count: count + 1)
    var looks = zones.prefix(count).map { ZoneLook($0) }
    for index in looks.indices {
      looks[index].floor = try PurgedLog.floor(of: looks[index].zone, on: connection)
      try connection.look(at: &looks[index])
    }
    try sizes.count(&looks) { zone, after, through in
      let sum = try connection.scalar(
        "SELECT cast(total(size) AS INTEGER) FROM log WHERE position > ? AND position <= ?",
        .integer(LogPosition.of(zone: zone.id, number: after)),
        .integer(LogPosition.of(zone: zone.id, number: through)))
      guard case .integer(let bytes)? = sum else { return 0 }
      return UInt64(clamping: bytes)
    }
    return StorageLook(
      zones: looks,
      zoneCount: Int(
        try connection.integer("SELECT count(*) FROM zone WHERE \(LeavingZones.isThere)") ?? 0),
      hasMore: zones.count > count,
      stagedBytes: Int64(try StagedParts.bytes(of: .all, on: connection)),
      valueBytes: try LargeValues.bytes(of: nil, on: connection),
      unnamedValueBytes: try LargeValues.bytes(of: nil, isUnnamed: true, on: connection),
      lostValues: try LargeValues.lostCount(of: nil, on: connection))
  }

  package func replicas(of zone: ZoneRecord, countMax: Int) async throws -> [ReplicaReport]? {
    try await reader.perform { connection in
      try connection.withSnapshot {
        try connection.sightings(of: connection.current(zone), countMax: countMax)
      }
    }
  }
}

extension SQLiteConnection {
  fileprivate func look(at look: inout ZoneLook) throws {
    let seen = try prepare(
      """
      SELECT count(*), min(cursor), max(seen_ms)
      FROM (SELECT cursor, seen_ms FROM sighting WHERE zone = ?1 LIMIT ?2)
      """)
    defer { seen.reset() }
    seen.bind(look.zone.id, at: 1)
    seen.bind(Int64(ZoneLook.replicasMax), at: 2)
    guard try seen.step() else { return }
    look.replicas = Int(seen.int64(0))
    if look.replicas ?? 0 > 0 {
      look.slowestCursor = UInt64(clamping: seen.int64(1))
      look.lastSeenMilliseconds = seen.int64(2)
    }
    let last = try scalar(
      "SELECT received_ms FROM log WHERE position = ?",
      .integer(LogPosition.of(zone: look.zone.id, number: look.zone.head)))
    if case .integer(let milliseconds)? = last { look.lastPushMilliseconds = milliseconds }
  }

  /// Replicas that were seen, those furthest behind first.
  fileprivate func sightings(of zone: ZoneRecord, countMax: Int) throws -> [ReplicaReport] {
    let statement = try prepare(
      """
      SELECT sighting.replica, sighting.cursor, coalesce(replica.last_push, 0),
        coalesce(
          (SELECT max(received_ms) FROM log
            WHERE log.replica = replica.id AND log.number = replica.last_push),
          (SELECT max(received_ms) FROM purged
            WHERE purged.replica = replica.id AND purged.number = replica.last_push)),
        sighting.seen_ms, sighting.token, token_note.name, sighting.name,
        sighting.address
      FROM (SELECT * FROM sighting WHERE zone = ?1 ORDER BY cursor, replica LIMIT ?2) AS sighting
      LEFT JOIN replica ON replica.uuid = sighting.replica AND replica.zone = ?1
      LEFT JOIN token_note ON token_note.id = sighting.token
      ORDER BY sighting.cursor, sighting.replica
      """)
    defer { statement.reset() }
    statement.bind(zone.id, at: 1)
    statement.bind(Int64(countMax), at: 2)
    var reports: [ReplicaReport] = []
    while try statement.step() {
      guard let replica = UUID(bytes: statement.data(0)) else { continue }
      reports.append(
        ReplicaReport(
          zone: zone.name, replica: replica, cursor: UInt64(clamping: statement.int64(1)),
          head: zone.head, pushes: UInt64(clamping: statement.int64(2)),
          lastPushMilliseconds: statement.isNull(3) ? nil : statement.int64(3),
          lastSeenMilliseconds: statement.int64(4), token: statement.string(5),
          tokenName: statement.isNull(6) ? nil : statement.string(6),
          name: statement.isNull(7) ? nil : statement.string(7),
          address: statement.isNull(8) ? nil : statement.string(8)))
    }
    return reports
  }
}
