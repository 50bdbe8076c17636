#if PostgreSQL
  import DriftlessProtocol
  import DriftlessSQLite
  import Foundation

  /// Reads in bulk. Each notes also what is not there, so that it is not asked for again.
  extension PostgresZoneTables {
    /// Reads what the rules will ask of the zone for some pushes.
    func load(for pushes: [Push]) throws {
      let found = try connection.run(
        """
        SELECT EXISTS(SELECT 1 FROM tombstone WHERE zone = $1),
          EXISTS(SELECT 1 FROM claim WHERE zone = $1),
          EXISTS(SELECT 1 FROM staged WHERE zone = $1),
          (SELECT floor FROM purge WHERE zone = $1 AND generation = $2)
        """, .integer(zone.id), .uuid(zone.generation))
      hasOldTombstones = found.bool(0, 0)
      hasOldClaims = found.bool(0, 1)
      hasStaged = found.bool(0, 2)
      knownFloor = found.uint64(0, 3)
      let unknown = Set(pushes.map(\.replica)).subtracting(replicas.keys)
      if !unknown.isEmpty { try loadReplicas(unknown) }
      let cursors = pushes.map(\.cursor.sequence).filter { $0 < zone.head }
      let marks = pushes.compactMap(\.mark?.sequence)
      let asked = Set(cursors + cursors.map { $0 + 1 } + marks)
        .filter { $0 > 0 && $0 <= zone.head && places[$0] == nil }
      if !asked.isEmpty { try loadPlaces(asked) }
      let behind = pushes.filter { $0.cursor.sequence < zone.head }.compactMap { push in
        replicas[push.replica].map { ($0.id, push.cursor.sequence) }
      }.filter { replica, after in own[replica].map { $0.after > after } ?? true }
      if !behind.isEmpty { try loadOwn(behind) }
      try loadContents(pushes.map(\.contents))
    }

    private func loadContents(_ contents: [Push.Contents]) throws {
      let names = contents.flatMap { contents in
        contents.touches.flatMap(\.properties) + contents.relied.flatMap(\.properties)
      }
      if !names.isEmpty { try loadNames(Set(names.map { Data($0.utf8) })) }
      let touched = contents.flatMap { $0.touches.flatMap(\.objects) }
      let objects = Set(
        touched + contents.flatMap(\.named) + contents.flatMap { $0.relied.flatMap(\.objects) }
      ).filter { $0 > 0 && $0 < zone.nextObject }
      if !objects.isEmpty { try loadObjects(objects) }
      let runs = contents.flatMap { contents in
        contents.identities.map(\.first) + contents.tombstones
      }
      if !runs.isEmpty { try loadRuns(Set(runs)) }
      let keys = contents.flatMap { $0.claims.flatMap(\.keys) }
      guard hasOldClaims || !keys.isEmpty else { return }
      let claiming = keys.compactMap { key -> UInt64? in
        if case .known(let number) = key.holder { number } else { nil }
      }
      try loadClaims(objects: Set(touched + claiming), hashes: Set(keys.map(\.hash)))
    }

    func loadPlaces(_ asked: Set<UInt64>) throws {
      let rows = try connection.run(
        """
        SELECT sequence, first_object, chain FROM entry
        WHERE zone = $1 AND sequence = ANY($2::bigint[])
        """, .integer(zone.id), .integers(asked.map { Int64(clamping: $0) }))
      for row in 0..<rows.count {
        places[rows.uint64(row, 0)] = (
          rows.uint64(row, 1), try PostgresZoneRow.chain(rows.data(row, 2))
        )
      }
    }

    func loadOwn(_ asked: [(replica: Int64, after: UInt64)]) throws {
      let lowest = Dictionary(asked.map { ($0.replica, $0.after) }) { min($0, $1) }
      for (replica, after) in lowest { own[replica] = (after, []) }
      let rows = try connection.run(
        """
        SELECT asked.replica, entry.sequence, entry.first_object, entry.new_objects
        FROM unnest($2::bigint[], $3::bigint[]) AS asked(replica, after)
        CROSS JOIN LATERAL (
          SELECT sequence, first_object, new_objects FROM log
          WHERE zone = $1 AND replica = asked.replica AND sequence > asked.after
          ORDER BY sequence DESC LIMIT \(LogBounds.ownFramesMax)) AS entry
        """, .integer(zone.id), .integers(Array(lowest.keys)),
        .integers(lowest.values.map { Int64(clamping: $0) }))
      for row in 0..<rows.count {
        own[rows.int64(row, 0)]?.entries.append(
          OwnFrames.Frame(
            sequence: rows.uint64(row, 1), firstObject: rows.uint64(row, 2),
            count: rows.uint64(row, 3)))
      }
    }

    func loadNames(_ asked: Set<Data>) throws {
      let rows = try connection.run(
        "SELECT name, id FROM name WHERE zone = $1 AND name = ANY($2::bytea[])",
        .integer(zone.id), .blobs(Array(asked)))
      for row in 0..<rows.count { names[rows.data(row, 0)] = rows.uint64(row, 1) }
    }

    func loadObjects(_ asked: Set<UInt64>) throws {
      for number in asked { objects[number] = ObjectState() }
      let rows = try connection.run(
        """
        SELECT number, base, deleted, named, named_by, named_before, properties FROM object
        WHERE zone = $1 AND number = ANY($2::bigint[])
        """, .integer(zone.id), .integers(asked.map { Int64(clamping: $0) }))
      for row in 0..<rows.count {
        objects[rows.uint64(row, 0)] = ObjectState(
          base: rows.uint64(row, 1), deleted: rows.uint64(row, 2),
          properties: try PropertySequences(encoded: rows.data(row, 6)),
          named: rows.uint64(row, 3), namedBy: rows.int64(row, 4),
          namedBefore: rows.uint64(row, 5))
      }
    }

    /// Runs of the database before and after some identities.
    func loadRuns(_ asked: Set<UUID>) throws {
      for identity in asked {
        runsBefore.updateValue(nil, forKey: identity)
        runsAfter.updateValue(nil, forKey: identity)
      }
      let rows = try connection.run(
        """
        SELECT asked.place, true, run.first, run.count, run.number
        FROM unnest($2::uuid[]) AS asked(place)
        CROSS JOIN LATERAL (
          SELECT first, count, number FROM identity
          WHERE zone = $1 AND first <= asked.place ORDER BY first DESC LIMIT 1) AS run
        UNION ALL
        SELECT asked.place, false, run.first, run.count, run.number
        FROM unnest($2::uuid[]) AS asked(place)
        CROSS JOIN LATERAL (
          SELECT first, count, number FROM identity
          WHERE zone = $1 AND first > asked.place ORDER BY first LIMIT 1) AS run
        """, .integer(zone.id), .uuids(Array(asked)))
      for row in 0..<rows.count {
        guard let identity = rows.uuid(row, 0), let first = rows.uuid(row, 2) else { continue }
        let run = KnownRun(first: first, count: rows.uint64(row, 3), number: rows.uint64(row, 4))
        if rows.bool(row, 1) { runsBefore[identity] = run } else { runsAfter[identity] = run }
      }
    }

    /// Keys that some objects hold, and who holds some keys.
    func loadClaims(objects asked: Set<UInt64>, hashes: Set<Data>) throws {
      // What was read or changed before stays as it is.
      let objects = asked.filter { claimsOfObject[$0] == nil }
      let missing = hashes.filter { claims[$0] == nil }
      for object in objects { claimsOfObject[object] = [] }
      for hash in missing { claims.updateValue(nil, forKey: hash) }
      guard hasOldClaims, !objects.isEmpty || !missing.isEmpty else { return }
      let rows = try connection.run(
        """
        SELECT claim.hash, claim.object, claim.rule, name.name FROM claim
        JOIN name ON name.zone = claim.zone AND name.id = claim.rule
        WHERE claim.zone = $1
          AND (claim.object = ANY($2::bigint[]) OR claim.hash = ANY($3::bytea[]))
        """, .integer(zone.id), .integers(objects.map { Int64(clamping: $0) }),
        .blobs(Array(missing)))
      for row in 0..<rows.count {
        let hash = rows.data(row, 0)
        guard !changedClaims.contains(hash) else { continue }
        let object = rows.uint64(row, 1)
        let text = String(decoding: rows.data(row, 3), as: UTF8.self)
        claims[hash] = Claim(
          object: object, rule: rows.uint64(row, 2), constraint: try ConstraintText.constraint(text)
        )
        claimsOfObject[object]?.insert(hash)
      }
    }
  }

  extension [KnownRun] {
    /// Of runs in ascending order the last that does not begin after `identity`.
    func last(atOrBefore identity: UUID) -> KnownRun? {
      var low = 0
      var high = count
      while low < high {
        let middle = (low + high) / 2
        if self[middle].first.halves <= identity.halves { low = middle + 1 } else { high = middle }
      }
      return low > 0 ? self[low - 1] : nil
    }
  }
#endif
