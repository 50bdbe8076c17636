#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Owns the table `forgotten_replica`: as `ForgottenReplicas` of a data folder.
  enum PostgresForgotten {
    static let statement = """
      CREATE TABLE IF NOT EXISTS forgotten_replica(
        zone bigint NOT NULL, replica uuid NOT NULL, PRIMARY KEY(zone, replica))
      """

    /// How many replicas a zone has that are not forgotten.
    static func countOfOthers(in zone: Int64, on connection: PostgresConnection) throws -> Int {
      Int(
        clamping: try connection.run(
          """
          SELECT count(*) FROM replica WHERE zone = $1 AND NOT EXISTS (
            SELECT 1 FROM forgotten_replica AS forgotten
            WHERE forgotten.zone = $1 AND forgotten.replica = replica.uuid)
          """, .integer(zone)
        ).int64(0, 0))
    }

    static func all(of zone: Int64, on connection: PostgresConnection) throws -> Set<UUID> {
      // A node of before leaves rows where it renews a zone.
      let rows = try connection.run(
        """
        SELECT replica FROM forgotten_replica AS forgotten WHERE zone = $1 AND EXISTS (
          SELECT 1 FROM replica WHERE replica.zone = $1 AND replica.uuid = forgotten.replica)
        """, .integer(zone))
      return Set((0..<rows.count).compactMap { rows.uuid($0, 0) })
    }

    static func add(
      _ replicas: [UUID], to zone: Int64, on connection: PostgresConnection
    ) throws {
      guard !replicas.isEmpty else { return }
      try connection.run(
        """
        INSERT INTO forgotten_replica(zone, replica)
        SELECT $1::bigint, uuid FROM unnest($2::uuid[]) AS new(uuid) ON CONFLICT DO NOTHING
        """, .integer(zone), .uuids(replicas))
    }

    static func remove(
      _ replicas: [UUID], of zone: Int64, on connection: PostgresConnection
    ) throws {
      guard !replicas.isEmpty else { return }
      try connection.run(
        "DELETE FROM forgotten_replica WHERE zone = $1 AND replica = ANY($2::uuid[])",
        .integer(zone), .uuids(replicas))
    }

    /// Forgets replicas: what was seen of them, the parts of their pushes that wait, and their rows where the log has nothing of
    /// them. Who calls it holds the zone's row.
    static func forget(
      _ replicas: [UUID], of zone: Int64, on connection: PostgresConnection
    ) throws {
      guard !replicas.isEmpty else { return }
      let (zoneID, names) = (PostgresValue.integer(zone), PostgresValue.uuids(replicas))
      try connection.run(
        "DELETE FROM sighting WHERE zone = $1 AND replica = ANY($2::uuid[])", zoneID, names)
      for table in ["staging", "staged"] {
        try connection.run(
          "DELETE FROM \(table) WHERE zone = $1 AND replica = ANY($2::uuid[])", zoneID, names)
      }
      let gone = try connection.run(
        """
        DELETE FROM replica WHERE zone = $1 AND uuid = ANY($2::uuid[]) AND NOT EXISTS (
          SELECT 1 FROM entry WHERE entry.zone = $1 AND entry.replica = replica.id)
        RETURNING uuid
        """, zoneID, names)
      let unknown = (0..<gone.count).compactMap { gone.uuid($0, 0) }
      try connection.run(
        "DELETE FROM replica_home WHERE zone = $1 AND uuid = ANY($2::uuid[])", zoneID,
        .uuids(unknown))
      try remove(unknown, of: zone, on: connection)
      try connection.run(
        """
        INSERT INTO forgotten_replica(zone, replica)
        SELECT zone, uuid FROM replica WHERE zone = $1 AND uuid = ANY($2::uuid[])
        ON CONFLICT DO NOTHING
        """, zoneID, names)
    }
  }

  extension PostgresAdministration {
    package func forgetReplicas(
      of name: String, _ choice: ForgettingChoice, isDryRun: Bool
    ) throws -> ForgettingReport {
      let now = try serverMilliseconds()
      return try write {
        // Taken, so that none of them pushes meanwhile.
        let zone = try existing(name, locks: true)
        let plan = try ForgettingPlan(
          choice, of: zone, known: PostgresSightings.all(of: zone, on: connection),
          forgotten: PostgresForgotten.all(of: zone.id, on: connection),
          tokens: connection.tokens(), at: now)
        let report = ForgettingReport(
          zone: zone.name, replicas: plan.replicas, before: plan.before, isDryRun: isDryRun)
        guard !isDryRun else { return report }
        try PostgresForgotten.forget(
          plan.replicas.map(\.report.replica), of: zone.id, on: connection)
        for event in plan.events(choice, of: zone, at: now) {
          try PostgresAudit.add(event, on: connection)
        }
        return report
      }
    }
  }
#endif
