#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Replicas: read, made, forgotten and remembered.
  extension PostgresZoneTables {
    func replica(_ replica: UUID) throws -> KnownReplica? {
      if replicas[replica] == nil, !strangers.contains(replica) { try loadReplicas([replica]) }
      return replicas[replica]
    }

    func replicaCount(of zone: Int64) throws -> Int {
      let written = try PostgresForgotten.countOfOthers(in: zone, on: connection)
      return written + newReplicas.count { replicas[$0]?.isForgotten == false }
        + rememberedReplicas.count
    }

    func remember(_ replica: UUID, of zone: Int64) throws {
      // What a refill of this transaction brought is in no table yet.
      if !newReplicas.contains(replica) { add(replica, to: \.rememberedReplicas) }
    }

    func add(_ replica: UUID, to zone: Int64, isForgotten: Bool) throws -> KnownReplica {
      let known = KnownReplica(
        id: numbers.nextReplica, zone: zone, lastPush: 0, isForgotten: isForgotten)
      change(\.numbers.nextReplica, to: numbers.nextReplica + 1)
      set(replica, to: known, in: \.replicas)
      add(replica, to: \.newReplicas)
      return known
    }

    func loadReplicas(_ asked: Set<UUID>) throws {
      let rows = try connection.run(
        """
        SELECT home.uuid, home.zone, replica.id, replica.last_push, forgotten.replica IS NOT NULL
        FROM replica_home AS home
        LEFT JOIN replica ON replica.zone = home.zone AND replica.uuid = home.uuid
        LEFT JOIN forgotten_replica AS forgotten
          ON forgotten.zone = home.zone AND forgotten.replica = home.uuid
        WHERE home.uuid = ANY($1::uuid[]) AND \(PostgresLeavingZones.hasZone("home"))
        """, .uuids(Array(asked)))
      for row in 0..<rows.count {
        guard let replica = rows.uuid(row, 0) else { continue }
        replicas[replica] = KnownReplica(
          id: rows.int64(row, 2), zone: rows.int64(row, 1), lastPush: rows.uint64(row, 3),
          isForgotten: rows.bool(row, 4))
      }
      strangers.formUnion(asked.filter { replicas[$0] == nil })
    }

    func flushReplicas() throws {
      // In one order for all: two zones that hear of the same replicas at one time do not wait for each other.
      let new = newReplicas.filter { (replicas[$0]?.lastPush ?? 0) > 0 }
        .sorted { $0.uuidString < $1.uuidString }
      if !new.isEmpty {
        try PostgresLeavingZones.giveUp(new, on: connection)
        let made = try connection.run(
          """
          INSERT INTO replica_home(uuid, zone) SELECT uuid, $1::bigint FROM unnest($2::uuid[]) AS new(uuid)
          ON CONFLICT (uuid) DO NOTHING
          """, .integer(zone.id), .uuids(new))
        // Another zone took one meanwhile: what was decided without knowing it is decided again.
        guard made.changes == new.count else {
          throw PostgresError(
            .statement, sqlState: "40001", message: "another zone took in the same replica")
        }
      }
      guard !changedReplicas.isEmpty else { return }
      let changed = changedReplicas.compactMap { uuid in replicas[uuid].map { (uuid, $0) } }
      try connection.run(
        """
        INSERT INTO replica(zone, uuid, id, last_push)
        SELECT $1::bigint, uuid, id, last_push
        FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS new(uuid, id, last_push)
        ON CONFLICT (zone, uuid) DO UPDATE SET last_push = excluded.last_push
        """, .integer(zone.id), .uuids(changed.map(\.0)), .integers(changed.map(\.1.id)),
        .integers(changed.map { Int64(clamping: $0.1.lastPush) }))
      try PostgresForgotten.remove(
        rememberedReplicas.union(new).sorted { $0.uuidString < $1.uuidString }, of: zone.id,
        on: connection)
      try PostgresForgotten.add(
        new.filter { replicas[$0]?.isForgotten == true }, to: zone.id, on: connection)
    }
  }
#endif
