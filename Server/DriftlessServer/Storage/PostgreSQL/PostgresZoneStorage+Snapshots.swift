#if PostgreSQL
  package import DriftlessProtocol
  package import Foundation
  package import Logging
  import Synchronization

  extension PostgresZoneStorage {
    /// Begins to add up the logs of zones, now and as they grow.
    package func beginFolding(
      logger: Logger, trimsMemory: @escaping @Sendable () -> Void
    ) {
      let folding = ZoneFolding(
        PostgresLogs(text, limits: limits.current), limits: limits, metrics: metrics,
        logger: logger, trimsMemory: trimsMemory)
      self.folding.withLock { $0 = folding }
      folding.begin()
    }

    package func snapshot(of zone: ZoneRecord) async throws -> Snapshot? {
      try await read { connection in
        try connection.transaction(.read) {
          let current = try connection.current(zone)
          guard current.generation == zone.generation else { return nil }
          let kept = try PostgresPurgedLog.row(of: current, on: connection)?.snapshot
          guard let snapshot = try PostgresSnapshots.snapshot(of: current, on: connection),
            // A database that was put back to an older copy has another log.
            try connection.place(at: snapshot.place.sequence, of: current) == snapshot.place,
            // Who is below a floor has nothing else: the newer one has to be there.
            try kept.map({
              try snapshot.place.sequence > $0.place.sequence
                && PostgresSnapshots.hasFiles(of: snapshot, zone, on: connection)
            }) ?? true
          else { return kept }
          return snapshot
        }
      }
    }

    package func floor(of zone: ZoneRecord) async throws -> UInt64 {
      try await read { try PostgresPurgedLog.floor(of: zone, on: $0) }
    }

    package func keptSnapshot(of zone: ZoneRecord) async throws -> Snapshot? {
      try await read { try PostgresPurgedLog.row(of: zone, on: $0)?.snapshot }
    }

    package func segment(
      _ name: String, of zone: ZoneRecord, first: Int, count: Int
    ) async throws -> Data? {
      try await read { connection in
        let kept = try PostgresPurgedLog.piece(
          of: name, of: zone, first: first, count: count, on: connection)
        if let kept { return kept }
        return try PostgresSnapshots.piece(
          of: name, of: zone, first: first, count: count, on: connection)
      }
    }

    package func digests(of zone: ZoneRecord, at place: LogMark) async throws -> ZoneDigests {
      guard let folding = folding.withLock({ $0 }) else {
        throw ServerError(ProtocolError.noDigests)
      }
      return try await folding.digests(of: zone, at: place) { try await isOwn($0, zone) }
    }

    /// For so long a request waits for digests that another node has told of.
    private static let digestsMax = Duration.seconds(20)

    package func digests(
      _ part: DigestPart, of zone: ZoneRecord, at place: LogMark
    ) async throws -> Data {
      guard let folding = folding.withLock({ $0 }) else {
        throw ServerError(ProtocolError.noDigests)
      }
      // The digests over all may have come from another node: this one makes them of the same snapshot.
      let start = ContinuousClock.now
      if try folding.digests.take(of: zone, at: place) == nil, try await isOwn(place, zone) {
        folding.makeDigests(of: zone.name, at: place)
        while try folding.digests.take(of: zone, at: place) == nil {
          guard ContinuousClock.now - start < Self.digestsMax else {
            throw ServerError.busy("the digests of the zone are being made")
          }
          try await Task.sleep(for: .milliseconds(50))
        }
      }
      return try await folding.digests.answer(part, of: zone, at: place)
    }

    private func isOwn(_ place: LogMark, _ zone: ZoneRecord) async throws -> Bool {
      try await read { connection in
        try connection.transaction(.read) {
          let current = try connection.current(zone)
          guard current.generation == zone.generation else { return false }
          return try connection.place(at: place.sequence, of: current) == place
        }
      }
    }
  }
#endif
