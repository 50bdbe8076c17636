#if PostgreSQL
  package import DriftlessProtocol
  import Foundation

  /// Zones that were deleted, or began anew under another number, and of which rows are left: as `LeavingZones` of a data folder. Here nobody waits for who deletes, but
  /// what was read by a transaction stays until that ends, and a connection that is lost loses all of its transaction.
  enum PostgresLeavingZones {
    /// In a condition on `zone`: it is none of those. Names of zones begin with a letter or digit.
    static let isThere = "left(zone.name, 1) <> '/'"

    /// As many rows go in one transaction, and those of entries up to so many bytes.
    static let rowsAtOnce = 2_000
    private static let bytesAtOnce = 16 << 20
    /// Of those that are large, and do not say how large.
    private static let largeRowsAtOnce = 16

    /// In a condition on another table, by its name there: the row is of none of those.
    static func hasZone(_ table: String) -> String {
      "NOT EXISTS (SELECT 1 FROM zone WHERE zone.id = \(table).zone AND NOT (\(isThere)))"
    }

    /// Replicas of a zone that is nobody's go to another one.
    static func giveUp(_ replicas: [UUID], on connection: PostgresConnection) throws {
      try connection.run(
        """
        DELETE FROM replica_home WHERE uuid = ANY($1::uuid[])
          AND zone IN (SELECT id FROM zone WHERE NOT (\(isThere)))
        """, .uuids(replicas))
    }

    /// From now on the zone is nobody's: its tokens open nothing, and its replicas are nobody's either. Who calls has its row, in a transaction.
    static func leave(_ zone: ZoneRecord, on connection: PostgresConnection) throws {
      let (uuid, generation) = (UUID(), UUID())
      try connection.run(
        """
        UPDATE zone SET name = $2, uuid = $3, generation = $4, parent_generation = NULL,
          parent_sequence = NULL, parent_chain = NULL, head = 0, chain = $5, next_object = 1,
          replacements = ''::bytea WHERE id = $1
        """, .integer(zone.id), .text("/\(uuid)"), .uuid(uuid), .uuid(generation),
        .blob(LogChain.start(generation: generation).bytes))
      // A fold that goes on waits at the first, and finds that it has the zone no more.
      for table in ["folding", "snapshot", "enrolment_code", "purge"] {
        try connection.run("DELETE FROM \(table) WHERE zone = $1", .integer(zone.id))
      }
      try PostgresBounds.drop(of: zone, on: connection)
    }

    /// Takes away some rows of a zone that is nobody's, in transactions of their own.
    ///
    /// - Returns: whether there may be more that another one is not at.
    static func takeAway(on connection: PostgresConnection) throws -> Bool {
      let zone = try connection.transaction(.write) { () -> (id: Int64, isEmpty: Bool)? in
        let rows = try connection.run(
          "SELECT id FROM zone WHERE NOT (\(isThere)) ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
        guard rows.count > 0 else { return nil }
        let zone = rows.int64(0, 0)
        for portion in portions {
          let gone = try connection.run(portion, .integer(zone))
          guard gone.changes == 0 else { return (zone, false) }
        }
        return (zone, true)
      }
      guard let zone else { return try takeUp(on: connection) }
      guard zone.isEmpty else { return true }
      // Bytes that are of no row any more.
      guard try !PostgresLargeValues.sweep(of: zone.id, on: connection) else { return true }
      return try remove(zone.id, on: connection)
    }

    /// Has rows leave whose zone is gone, and that somebody wrote who had not heard of it: a node of a program of before. What such a
    /// one writes first are tokens, sightings and parts.
    ///
    /// - Returns: whether there are any.
    private static func takeUp(on connection: PostgresConnection) throws -> Bool {
      let rows = try connection.run(
        """
        (SELECT zone FROM token UNION SELECT zone FROM sighting UNION SELECT zone FROM staging)
        EXCEPT SELECT id FROM zone LIMIT 1
        """)
      guard rows.count > 0 else { return false }
      let zone = ZoneRecord.new(id: rows.int64(0, 0), name: "/\(UUID())")
      return try connection.transaction(.write) {
        try connection.insert(zone, createdMilliseconds: Administration.hostMilliseconds)
      }
    }

    /// Removes a zone's row, once nothing of the zone is left: another has looked before the row was had, and what was under way then
    /// may have written since.
    ///
    /// - Returns: whether there may be more that another one is not at.
    private static func remove(_ id: Int64, on connection: PostgresConnection) throws -> Bool {
      let zone = PostgresValue.integer(id)
      return try connection.transaction(.write) {
        let rows = try connection.run(
          "SELECT id FROM zone WHERE id = $1 AND NOT (\(isThere)) FOR UPDATE SKIP LOCKED", zone)
        guard rows.count > 0 else { return false }
        for portion in portions {
          let gone = try connection.run(portion, zone)
          guard gone.changes == 0 else { return true }
        }
        let pieces = try connection.run(
          "SELECT EXISTS(SELECT 1 FROM value_piece WHERE zone = $1)", zone)
        guard !pieces.bool(0, 0) else { return true }
        try PostgresZoneNumbers.note(id, on: connection)
        try connection.run("DELETE FROM zone WHERE id = $1", zone)
        return true
      }
    }

    /// Each takes away some rows of a table, of the zone $1.
    private static let portions =
      [sized("log", "sequence"), sized("staged", "replica, number, part")]
      + [
        ("purged", "sequence"), ("object", "number"), ("identity", "first"), ("claim", "hash"),
        ("tombstone", "identity"), ("name", "name"), ("staging", "replica"),
        ("value_use", "digest, sequence"), ("value_lost", "digest"), ("value", "id"),
        ("sighting", "replica"), ("forgotten_replica", "replica"), ("replica_home", "uuid"),
        ("replica", "uuid"),
      ].map { some($0.0, $0.1, rowsAtOnce) }
      + [("purge_file", "name"), ("segment", "name")].map { some($0.0, $0.1, largeRowsAtOnce) }
      + [
        """
        DELETE FROM token_binding WHERE id IN (
          SELECT id FROM token_binding JOIN token USING (id) WHERE token.zone = $1
          LIMIT \(rowsAtOnce))
        """, some("token", "id", rowsAtOnce),
      ]

    private static func some(_ table: String, _ key: String, _ most: Int) -> String {
      """
      DELETE FROM \(table) WHERE zone = $1 AND (\(key)) IN (
        SELECT \(key) FROM \(table) WHERE zone = $1 LIMIT \(most))
      """
    }

    private static func sized(_ table: String, _ key: String) -> String {
      """
      DELETE FROM \(table) WHERE zone = $1 AND (\(key)) IN (
        SELECT \(key) FROM (
          SELECT \(key), size, sum(size) OVER (ORDER BY \(key)) AS total FROM (
            SELECT \(key), size FROM \(table) WHERE zone = $1 ORDER BY \(key)
            LIMIT \(rowsAtOnce)) AS few) AS counted
        WHERE total - size < \(bytesAtOnce))
      """
    }
  }

  extension PostgresAdministration {
    @discardableResult package func deleteZone(_ name: String) throws -> ServerError? {
      try deleteZone(name) {}
    }

    /// - Parameter between: called between the transactions in which rows go.
    @discardableResult func deleteZone(
      _ name: String, between: () throws -> Void
    ) throws -> ServerError? {
      try write {
        try checkNodes(know: .leavingZones)
        let zone = try existing(name, locks: true)
        try PostgresLeavingZones.leave(zone, on: connection)
        try note(.zoneDeleted, zone: name)
      }
      return try ServerError.rest(
        after: "zone \(name) is deleted, and what it had", takeAway: takeAway, between)
    }

    package func renew(
      _ name: String, intent: ZoneIntent
    ) throws -> (zone: ZoneRecord, rest: ServerError?) {
      try renew(name, intent: intent) {}
    }

    /// - Parameter between: called between the transactions in which rows go.
    func renew(
      _ name: String, intent: ZoneIntent, between: () throws -> Void
    ) throws -> (zone: ZoneRecord, rest: ServerError?) {
      // Large values take as long as there are many.
      let renewed = try told {
        try connection.patiently { try write { try beginAnew(name, intent) } }
      }
      let rest = try ServerError.rest(
        after: "zone \(name) is renewed, and what its former log had", takeAway: takeAway, between)
      return (renewed, rest)
    }

    /// The zone under a number of its own, so that nothing of its former log is in the way: that leaves with the number that it had.
    private func beginAnew(_ name: String, _ intent: ZoneIntent) throws -> ZoneRecord {
      try checkNodes(know: .leavingZones)
      // Before the zone's row, as who creates one: else each would wait for the other.
      let id = try PostgresZoneNumbers.take(on: connection)
      guard let row = try connection.zoneRow(named: name, locks: true) else {
        throw ServerError.noSuchZone(name)
      }
      let (zone, next) = (row.zone, row.zone.renewed(intent: intent, as: id))
      // What tells it is about to go.
      let leased = LeaseTime.of(
        host: Administration.hostMilliseconds, given: try PostgresTimes.last(connection),
        isServed: try PostgresNodes.count(connection) > 0)
      try PostgresCodes.move(from: zone.id, to: id, on: connection)
      try PostgresLeavingZones.leave(zone, on: connection)
      guard try connection.insert(next, createdMilliseconds: row.createdMilliseconds) else {
        throw PostgresError(.statement, sqlState: "40001", message: "another zone was created")
      }
      try connection.run(
        "UPDATE token SET zone = $2 WHERE zone = $1", .integer(zone.id), .integer(id))
      try PostgresBindings.begin(anewIn: id, on: connection)
      try PostgresLargeValues.move(from: zone.id, to: id, intent, at: leased, on: connection)
      try note(.zoneRenewed, zone: name, nil, intent.rawValue)
      return next
    }

    /// - Returns: whether there may be more.
    private func takeAway() throws -> Bool {
      try told { try retrying { try PostgresLeavingZones.takeAway(on: connection) } }
    }
  }
#endif
