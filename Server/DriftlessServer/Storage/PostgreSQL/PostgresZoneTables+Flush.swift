#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// Writes in bulk.
  extension PostgresZoneTables {
    /// Writes all that was taken, the zone's row last.
    func flush() throws {
      guard !newEntries.isEmpty || !newNames.isEmpty || !changedClaims.isEmpty else { return }
      try flushReplicas()
      try flushNames()
      try flushEntries()
      try flushObjects()
      try flushIdentities()
      try flushClaims()
      try PostgresLargeValues.use(newUses, zone: zone.id, on: connection)
      try connection.run(
        """
        UPDATE zone SET head = $2, chain = $3, next_object = $4, newest_ms = $5,
          next_replica = $6, next_name = $7 WHERE id = $1
        """, .integer(zone.id), .integer(Int64(clamping: zone.head)), .blob(zone.chain.bytes),
        .integer(Int64(clamping: zone.nextObject)),
        .integer(Int64(clamping: zone.newestMilliseconds)), .integer(numbers.nextReplica),
        .integer(numbers.nextName))
      if newEntries.contains(where: { !$0.entry.isRefill }) {
        try PostgresBounds.forgetPutBack(of: zone, on: connection)
      }
    }

    private func flushNames() throws {
      guard !newNames.isEmpty else { return }
      let new = Array(newNames)
      try connection.run(
        """
        INSERT INTO name(zone, name, id)
        SELECT $1::bigint, name, id FROM unnest($2::bytea[], $3::bigint[]) AS new(name, id)
        """, .integer(zone.id), .blobs(new),
        .integers(new.map { Int64(clamping: names[$0] ?? 0) }))
    }

    private func flushEntries() throws {
      guard !newEntries.isEmpty else { return }
      let pushes = newEntries.map(\.entry.push)
      func integers(_ value: (AppendedEntry) -> Int64) -> PostgresValue {
        .integers(newEntries.map(value))
      }
      try connection.run(
        """
        INSERT INTO log(zone, sequence, replica, number, first_object, new_objects, received_ms,
          size, digest, chain, names, header, body)
        SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
          $6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[], $10::bytea[], $11::bytea[],
          $12::bytea[], $13::bytea[])
        """, .integer(zone.id), integers { Int64(clamping: $0.entry.sequence) },
        integers { $0.entry.replica.id }, integers { Int64(clamping: $0.entry.push.number) },
        integers { Int64(clamping: $0.firstObject) },
        integers { Int64(clamping: $0.entry.push.contents.newCount) },
        integers { $0.entry.receivedMilliseconds }, integers { Int64($0.entry.push.frame.count) },
        .blobs(pushes.map(\.digest)), .blobs(newEntries.map(\.entry.chain.bytes)),
        .blobs(pushes.map(\.contents.names)),
        .blobs(pushes.map { $0.frame.prefix(ChangeSetHeader.size) }),
        .blobs(pushes.map { $0.frame.dropFirst(ChangeSetHeader.size) }))
    }

    private func flushObjects() throws {
      guard !changedObjects.isEmpty else { return }
      let changed = changedObjects.sorted().map { ($0, objects[$0] ?? ObjectState()) }
      func integers(_ value: (ObjectState) -> UInt64) -> PostgresValue {
        .integers(changed.map { Int64(clamping: value($0.1)) })
      }
      try connection.run(
        """
        INSERT INTO object(zone, number, base, deleted, named, named_before, named_by, properties)
        SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
          $6::bigint[], $7::bigint[], $8::bytea[])
        ON CONFLICT (zone, number) DO UPDATE SET base = excluded.base,
          deleted = excluded.deleted, named = excluded.named, named_by = excluded.named_by,
          named_before = excluded.named_before, properties = excluded.properties
        """, .integer(zone.id), .integers(changed.map { Int64(clamping: $0.0) }),
        integers(\.base), integers(\.deleted), integers(\.named), integers(\.namedBefore),
        .integers(changed.map(\.1.namedBy)), .blobs(changed.map(\.1.properties.encoded)))
    }

    private func flushIdentities() throws {
      let runs = newRuns.flatMap(\.self)
      if !runs.isEmpty {
        try connection.run(
          """
          INSERT INTO identity(zone, first, count, number)
          SELECT $1::bigint, * FROM unnest($2::uuid[], $3::bigint[], $4::bigint[])
          """, .integer(zone.id), .uuids(runs.map(\.first)),
          .integers(runs.map { Int64(clamping: $0.count) }),
          .integers(runs.map { Int64(clamping: $0.number) }))
      }
      guard !newTombstones.isEmpty else { return }
      let tombstones = Array(newTombstones)
      try connection.run(
        """
        INSERT INTO tombstone(zone, identity, sequence)
        SELECT $1::bigint, * FROM unnest($2::uuid[], $3::bigint[])
        ON CONFLICT (zone, identity) DO UPDATE SET sequence = excluded.sequence
        """, .integer(zone.id), .uuids(tombstones.map(\.key)),
        .integers(tombstones.map { Int64(clamping: $0.value) }))
    }

    private func flushClaims() throws {
      let free = changedClaims.filter { (claims[$0] ?? nil) == nil }
      if !free.isEmpty {
        try connection.run(
          "DELETE FROM claim WHERE zone = $1 AND hash = ANY($2::bytea[])", .integer(zone.id),
          .blobs(Array(free)))
      }
      let held = changedClaims.compactMap { hash in
        (claims[hash] ?? nil).map { (hash, $0) }
      }
      guard !held.isEmpty else { return }
      try connection.run(
        """
        INSERT INTO claim(zone, hash, object, rule)
        SELECT $1::bigint, * FROM unnest($2::bytea[], $3::bigint[], $4::bigint[])
        ON CONFLICT (zone, hash) DO UPDATE SET object = excluded.object, rule = excluded.rule
        """, .integer(zone.id), .blobs(held.map(\.0)),
        .integers(held.map { Int64(clamping: $0.1.object) }),
        .integers(held.map { Int64(clamping: $0.1.rule) }))
    }
  }
#endif
