#if PostgreSQL
  import DriftlessProtocol
  package import Foundation

  extension PostgresZoneStorage {
    package func stagedFrame(of header: Data, in zone: ZoneRecord) async throws -> Data {
      let cost = try StagedCandidates.cost(of: header)
      return try await staging.run(
        of: zone.id, cost: cost, most: limits.current.queuedPushesMax
      ) {
        do {
          return try await pool.perform {
            try PostgresStagedParts.frame(ofHeader: header, zone: zone, on: $0)
          }
        } catch {
          throw ServerError(refusal: error) ?? ServerError(storage: error)
        }
      }
    }

    package func stage(_ part: Push, of zone: ZoneRecord) async throws {
      try await staging.run(
        of: zone.id, cost: part.cost, most: limits.current.queuedPushesMax
      ) { try await keep(part, of: zone) }
    }

    private func keep(_ part: Push, of zone: ZoneRecord) async throws {
      do {
        guard let header = part.part, header.isFollowedByParts else {
          throw ProtocolError.malformed("The last part of a push is not kept beside the log")
        }
        try await pool.perform { [limits, clock] connection in
          let (limits, now) = (limits.current, clock.now())
          while try PostgresStagedParts.dropSomeForgotten(
            before: now - Int64(limits.stagedSeconds) * 1000, on: connection)
          {}
          var sums = StagedSums()
          let room = try PostgresStagedParts.room(
            beside: part, header, zone: zone.id, &sums, on: connection)
          if room.isCrowded(by: part, header, limits) {
            while try PostgresStagedParts.dropSomeForgotten(
              before: now - Int64(limits.stagedIdleSeconds) * 1000, but: part.replica,
              on: connection)
            {}
          }
          // Looked at in a state that stays, and written after: the log has it with the last part.
          let wanted = try connection.transaction(.read) {
            try Self.wanted(part, header, of: zone, limits, at: now, connection)
          }
          guard let wanted else { return }
          try connection.transaction(.write) {
            if wanted.takesOthers {
              try PostgresStagedParts.dropOthers(of: part, zone: zone.id, on: connection)
            }
            try PostgresStagedParts.keep(part, header, at: now, of: zone, on: connection)
          }
        }
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }

    /// - Returns: nil for a part of a push that the log has; else whether the replica's other pushes go for it.
    private static func wanted(
      _ part: Push, _ header: ChangeSetHeader, of record: ZoneRecord, _ limits: ServerLimits,
      at milliseconds: Int64, _ connection: PostgresConnection
    ) throws -> Wanted? {
      guard let row = try connection.zoneRow(named: record.name) else {
        throw ServerError.noZone(record.name)
      }
      let tables = PostgresZoneTables(connection, row, onlyReads: true)
      let append = LogAppend(tables: tables, limits: limits, nowMilliseconds: milliseconds)
      guard try append.isWanted(part, of: record) else { return nil }
      try header.checkCopies(of: part.number) {
        try PostgresStagedParts.header($0, of: part, zone: row.zone.id, on: connection)
      }
      let room = try PostgresStagedParts.room(
        beside: part, header, zone: row.zone.id, &tables.stagedSums, on: connection)
      let takesOthers = try room.takesOthers(for: part, header, limits)
      // What the rules write stays in memory. The first part alone is looked at as a push is.
      tables.begin()
      if header.part == 1 { try tables.load(for: [part]) }
      try append.probe(part, header, of: record)
      return Wanted(takesOthers: takesOthers)
    }

    private struct Wanted {
      var takesOthers: Bool
    }
  }
#endif
