import DriftlessSQLite
public import Foundation

/// What an operator asks of a zone.
public struct ZoneReport: Sendable {
  /// The zone.
  public let zone: ZoneRecord
  /// When it was made, by the server's time. Milliseconds since 1970.
  public let createdMilliseconds: Int64
  /// Change sets that the log has, and their bytes.
  public let entries: Int
  /// Bytes of their frames.
  public let bytes: Int64
  /// Objects that were made in the log, deleted ones included.
  public let objects: UInt64
  /// Replicas that it counts.
  public let replicas: Int
  /// Tokens that are valid.
  public let tokens: Int
  /// When the last change set came; nil where the log is empty.
  public let lastPushMilliseconds: Int64?
  /// The last entry whose change set may be gone; 0 where none was purged.
  public var floor: UInt64 = 0
  /// Large values that its log names and the server lacks.
  public var lackedValues: Int64 = 0

  /// All that there is to say of one.
  public init(
    zone: ZoneRecord, createdMilliseconds: Int64, entries: Int, bytes: Int64, objects: UInt64,
    replicas: Int, tokens: Int, lastPushMilliseconds: Int64?, floor: UInt64 = 0,
    lackedValues: Int64 = 0
  ) {
    self.zone = zone
    self.createdMilliseconds = createdMilliseconds
    self.entries = entries
    self.bytes = bytes
    self.objects = objects
    self.replicas = replicas
    self.tokens = tokens
    self.lastPushMilliseconds = lastPushMilliseconds
    self.floor = floor
    self.lackedValues = lackedValues
  }
}

/// What is known of a replica of a zone.
public struct ReplicaReport: Sendable {
  /// The zone's name.
  public let zone: String
  /// The replica.
  public let replica: UUID
  /// Up to where it had the log when it was last seen: what it had applied, and what it was given then; nil where it was not seen since the zone began anew, or
  /// since the server keeps that.
  public let cursor: UInt64?
  /// The last sequence number of the zone's log.
  public let head: UInt64
  /// Pushes that the log has of it.
  public let pushes: UInt64
  /// When its last push came, by the server's time. Milliseconds since 1970.
  public let lastPushMilliseconds: Int64?
  /// When it was last there, by the server's time. Milliseconds since 1970.
  public let lastSeenMilliseconds: Int64?
  /// The ID and the name of the token that it came with.
  public let token: String?
  /// What that token is called.
  public let tokenName: String?
  /// The name that it told when it was last seen; nil for none.
  public let name: String?
  /// Where it came from then, as the server saw it: a proxy's, where one is in between; nil where that is not known.
  public let address: String?
  /// The highest format level that it said it reads; nil where it said none: programs of before read level 1.
  public var formatLevel: UInt16?

  /// All that there is to say of one.
  public init(
    zone: String, replica: UUID, cursor: UInt64?, head: UInt64, pushes: UInt64,
    lastPushMilliseconds: Int64?, lastSeenMilliseconds: Int64?, token: String?,
    tokenName: String?, name: String?, address: String?, formatLevel: UInt16? = nil
  ) {
    self.zone = zone
    self.replica = replica
    self.cursor = cursor
    self.head = head
    self.pushes = pushes
    self.lastPushMilliseconds = lastPushMilliseconds
    self.lastSeenMilliseconds = lastSeenMilliseconds
    self.token = token
    self.tokenName = tokenName
    self.name = name
    self.address = address
    self.formatLevel = formatLevel
  }

  /// Entries that it has not applied.
  public var lag: UInt64? { cursor.map { head > $0 ? head - $0 : 0 } }

  /// Those furthest behind come first.
  static func isFirst(_ left: ReplicaReport, _ right: ReplicaReport) -> Bool {
    let lags = (left.lag ?? .max, right.lag ?? .max)
    return lags.0 != lags.1
      ? lags.0 > lags.1 : left.replica.uuidString < right.replica.uuidString
  }
}

extension Administration {
  /// - Throws: `ServerError` (`.noZone`).
  package func inspectZone(_ name: String) throws -> ZoneReport {
    try connection.withSnapshot {
      let zone = try existingZone(name)
      let places: [SQLiteValue] = [
        .integer(LogPosition.of(zone: zone.id, number: 0)),
        .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)),
      ]
      let log = try connection.prepare(
        "SELECT count(*), total(size) FROM log WHERE position >= ? AND position < ?")
      defer { log.reset() }
      log.bind(places)
      _ = try log.step()
      func count(_ sql: String) throws -> Int64? {
        guard case .integer(let value)? = try connection.scalar(sql, .integer(zone.id)) else {
          return nil
        }
        return value
      }
      let replicas = try replicaReports(of: zone)
      return ZoneReport(
        zone: zone,
        createdMilliseconds: try count("SELECT created_ms FROM zone WHERE id = ?") ?? 0,
        entries: Int(log.int64(0)), bytes: log.int64(1), objects: max(1, zone.nextObject) - 1,
        replicas: replicas.count,
        tokens: Int(
          try count("SELECT count(*) FROM token WHERE zone = ? AND revoked_ms IS NULL") ?? 0),
        lastPushMilliseconds: try count(
          "SELECT received_ms FROM zone JOIN log ON position = zone.id << 40 | head WHERE zone.id = ?"
        ), floor: try PurgedLog.floor(of: zone, on: connection),
        lackedValues: try LargeValues.lostCount(of: zone.id, on: connection))
    }
  }

  /// The replicas of one zone, or of all: those furthest behind first.
  ///
  /// - Throws: `ServerError` (`.noZone`).
  package func replicas(of name: String? = nil) throws -> [ReplicaReport] {
    try connection.withSnapshot {
      let zones = try name.map { [try existingZone($0)] } ?? zones()
      return try zones.flatMap { try replicaReports(of: $0) }
    }
  }

  func replicaReports(of zone: ZoneRecord) throws -> [ReplicaReport] {
    let statement = try connection.prepare(
      """
      SELECT known.uuid, sighting.cursor, coalesce(replica.last_push, 0),
        coalesce(
          (SELECT max(received_ms) FROM log
            WHERE log.replica = replica.id AND log.number = replica.last_push),
          (SELECT max(received_ms) FROM purged
            WHERE purged.replica = replica.id AND purged.number = replica.last_push)),
        sighting.seen_ms, sighting.token, token_note.name, sighting.name,
        sighting.address, sighting.format
      FROM (SELECT uuid FROM replica WHERE zone = ?1
        EXCEPT SELECT replica FROM forgotten_replica WHERE zone = ?1
        UNION SELECT replica FROM sighting WHERE zone = ?1) AS known
      LEFT JOIN replica ON replica.uuid = known.uuid AND replica.zone = ?1
      LEFT JOIN sighting ON sighting.zone = ?1 AND sighting.replica = known.uuid
      LEFT JOIN token_note ON token_note.id = sighting.token
      """)
    defer { statement.reset() }
    statement.bind(zone.id, at: 1)
    var reports: [ReplicaReport] = []
    while try statement.step() {
      guard let replica = UUID(bytes: statement.data(0)) else { continue }
      func integer(_ column: Int32) -> Int64? {
        statement.isNull(column) ? nil : statement.int64(column)
      }
      func text(_ column: Int32) -> String? {
        statement.isNull(column) ? nil : statement.string(column)
      }
      reports.append(
        ReplicaReport(
          zone: zone.name, replica: replica, cursor: integer(1).map { UInt64(clamping: $0) },
          head: zone.head, pushes: UInt64(clamping: statement.int64(2)),
          lastPushMilliseconds: integer(3), lastSeenMilliseconds: integer(4), token: text(5),
          tokenName: text(6), name: text(7), address: text(8),
          formatLevel: integer(9).map { UInt16(clamping: $0) }))
    }
    return reports.sorted(by: ReplicaReport.isFirst)
  }

  /// Entries of a zone's log, oldest first.
  ///
  /// - Throws: `ServerError` (`.noZone`).
  package func log(of name: String, from first: UInt64, count: Int) throws -> [LogLine] {
    try connection.withSnapshot {
      let zone = try existingZone(name)
      guard first <= zone.head else { return [] }
      let statement = try connection.prepare(
        """
        SELECT log.position, replica.uuid, log.number, log.received_ms, log.first_object,
          log.new_objects, log.size
        FROM log LEFT JOIN replica ON replica.id = log.replica AND replica.zone = ?1
        WHERE log.position >= ?2 AND log.position < ?3 ORDER BY log.position LIMIT ?4
        """)
      defer { statement.reset() }
      statement.bind([
        .integer(zone.id), .integer(LogPosition.of(zone: zone.id, number: first)),
        .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)), .integer(Int64(count)),
      ])
      var lines: [LogLine] = []
      while try statement.step() {
        lines.append(
          LogLine(
            sequence: LogPosition.number(statement.int64(0)),
            replica: statement.isNull(1) ? nil : UUID(bytes: statement.data(1)),
            pushNumber: UInt64(clamping: statement.int64(2)),
            receivedMilliseconds: statement.int64(3),
            firstObject: UInt64(clamping: statement.int64(4)),
            newObjects: UInt64(clamping: statement.int64(5)), bytes: statement.int64(6)))
      }
      return lines
    }
  }

  package func raiseFormat(
    of name: String, to level: UInt16, highest: UInt16
  ) throws -> ZoneRecord {
    try write {
      let zone = try existingZone(name)
      guard try zone.canRaiseFormat(to: level, highest: highest) else { return zone }
      try connection.run(
        "UPDATE zone SET format_level = ? WHERE id = ?", .integer(Int64(level)), .integer(zone.id))
      try note(.formatRaised, zone: name, nil, "\(zone.formatLevel) → \(level)")
      return try existingZone(name)
    }
  }

  /// Gives a zone another name. Its tokens go on being of it; its replicas have to be enrolled at the new name.
  ///
  /// - Throws: `ServerError`: `.noZone`, `.badName`, `.exists`.
  package func renameZone(_ name: String, to other: String) throws -> ZoneRecord {
    try write {
      let zone = try existingZone(name)
      guard name != other else {
        throw ServerError(
          .exists, "the zone is called \(name) already; nothing was changed",
          suggestion: "Give the name that it is to have: driftless-server zone rename \(name) NAME")
      }
      try checkFree(other)
      try connection.run("UPDATE zone SET name = ? WHERE id = ?", .text(other), .integer(zone.id))
      try note(.zoneRenamed, zone: name, other)
      return try existingZone(other)
    }
  }
}
