#if PostgreSQL
  package import DriftlessProtocol
  package import Foundation
  package import Logging
  import Synchronization

  /// Zones in a PostgreSQL database, which several nodes may serve at one time.
  ///
  /// A push goes through `PostgresCommits` and `PostgresZoneTables`; `PostgresNews` tells the other nodes.
  package final class PostgresZoneStorage: ZoneStorage {
    let limits: LiveLimits
    package let metrics: ServerMetrics
    package let entryCheck: EntryCheck
    let pool: PostgresPool
    let sizes = LogSizes()
    /// Parts of large pushes, and pieces of large values, leave most connections to all else that is asked.
    let staging: StagingLine
    /// Those that wait for a row of their zone, and a few of them at one time that try to get it.
    let patient = ZoneLines()
    let tries: StagingLine
    /// Refills, one at a time of a zone.
    let refilling = ZoneLines()
    let sightings: Sightings
    let seenValues = SeenValues<PostgresValueTables.Row>()
    /// For the question whether the server is well, which is not to wait for others.
    private let reserved: PostgresPool
    let commits: PostgresCommits
    let clock: ServerClock
    private let tidings: PostgresNews
    private let served: PostgresServed
    let text: String
    let folding = Mutex<ZoneFolding?>(nil)
    let logger: Logger

    /// Opens the database, and makes its tables where it has none.
    ///
    /// - Parameters:
    ///   - text: a connection string of libpq.
    ///   - now: the host's time of day, in milliseconds since 1970.
    ///   - sinceBoot: milliseconds by a clock that nobody sets.
    /// - Throws: `ServerError` (`.refusedStart` where the database cannot be reached).
    package init(
      database text: String, limits: ServerLimits = .init(), metrics: ServerMetrics = .init(),
      news: ZoneNews? = nil, logger: Logger = Logger(label: "storage"),
      now: @escaping ServerClock.Wall = { Int64(Date().timeIntervalSince1970 * 1000) },
      sinceBoot: @escaping @Sendable () -> Int64 = ServerClock.hostSinceBoot
    ) throws {
      let live = LiveLimits(limits)
      self.limits = live
      self.text = text
      sightings = Sightings(limits: live)
      staging = StagingLine(width: limits.databaseConnectionsMax / 4)
      tries = StagingLine(width: limits.databaseConnectionsMax / 4)
      self.metrics = metrics
      self.logger = logger
      entryCheck = EntryCheck(logger: logger)
      let last = try ServerError.starting {
        let connection = try PostgresConnection(serving: text, limits: limits)
        defer { connection.close() }
        try PostgresSchema.apply(to: connection)
        try PostgresServed.checkRights(connection)
        return try PostgresTimes.last(connection)
      }
      clock = ServerClock(last: last, limits: limits, wall: now, sinceBoot: sinceBoot) {
        $0.tell(logger)
      }
      let served = PostgresServed(logger)
      self.served = served
      pool = PostgresPool(text, limits: limits, served: served)
      var few = limits
      few.databaseConnectionsMax = 1
      reserved = PostgresPool(text, limits: few, served: served)
      let tidings = PostgresNews(
        text, news: news ?? ZoneNews(waitersMax: limits.waitersMax), limits: live,
        served: served, logger: logger)
      self.tidings = tidings
      commits = PostgresCommits(
        pool: pool, limits: live, metrics: metrics, clock: clock, logger: logger
      ) { tidings.publish($0, head: $1) }
    }

    package func time() async -> UInt64 {
      let time = clock.now()
      // Where the time cannot be kept, it is given all the same, and due again.
      if let due = clock.dueToKeep() {
        Task { [clock] in
          guard clock.isToKeep(due) else { return }
          do {
            try await aside { try PostgresTimes.keep(due, on: $0) }
            clock.didKeep(due)
          } catch {
            clock.didNotKeep()
          }
        }
      }
      return UInt64(max(0, time))
    }

    package func append(_ push: Push, to zone: ZoneRecord) async throws -> Appended {
      let appended = try await metrics.pending { try await commits.append(push, to: zone) }
      if !appended.isRepeat { folding.withLock { $0 }?.note(push, of: zone) }
      return appended
    }

    package func refill(_ entries: [Refill], of zone: ZoneRecord) async throws -> LogMark {
      try await RefillPortion.each(of: entries) { try await take($0, of: zone) }
    }

    /// After a restore all replicas of a zone come at once, with the same: one at a time of a zone has a connection, and all zones
    /// together leave most to all else. Each portion has a turn of its own.
    private func take(
      _ entries: [Refill], of zone: ZoneRecord
    ) async throws -> RefillPortion.Written {
      let most = limits.current.queuedPushesMax
      let cost = entries.reduce(0) { $0 + $1.push.cost }
      return try await refilling.run(of: zone.id, bytes: cost, most: (most, .max)) {
        try await staging.run(of: zone.id, cost: cost, most: most) {
          let (lacking, head) = try await self.lacking(entries, of: zone)
          guard !lacking.isEmpty else { return RefillPortion.Written(place: head, left: []) }
          let written = try await commits.refill(lacking, of: zone)
          tidings.publish(zone.generation, head: written.place.sequence)
          let taken = lacking.dropLast(written.left.count)
          folding.withLock { $0 }?.note(taken.map(\.push), of: zone)
          return written
        }
      }
    }

    /// Those that the log does not have yet, and its end.
    private func lacking(
      _ entries: [Refill], of zone: ZoneRecord
    ) async throws -> (entries: [Refill], head: LogMark) {
      do {
        return try await pool.perform { [limits, clock] connection in
          try connection.transaction(.read) {
            guard let row = try connection.currentRow(of: zone) else {
              throw ServerError.noZone(zone.name)
            }
            let tables = PostgresZoneTables(connection, row, onlyReads: true)
            try tables.loadPlaces(Set(entries.map { $0.entry.sequence }))
            return try LogAppend(
              tables: tables, limits: limits.current, nowMilliseconds: clock.now()
            ).lacking(entries, of: zone)
          }
        }
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }

    package func zone(named name: String) async throws -> ZoneRecord? {
      try await read { try $0.zoneRow(named: name)?.zone }
    }

    package func token(id: String) async throws -> TokenRecord? {
      try await read { try $0.token(id: id) }
    }

    package func generations() async throws -> Set<UUID> {
      do {
        return try await aside { connection in
          let rows = try connection.run(
            "SELECT generation FROM zone WHERE \(PostgresLeavingZones.isThere)")
          return Set((0..<rows.count).compactMap { rows.uuid($0, 0) })
        }
      } catch let error as PostgresError {
        throw ServerError(error)
      }
    }

    /// On the connection that waits for nobody; where that cannot be made, on one of all others.
    private func aside<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
      do {
        return try await reserved.perform(body)
      } catch let error as PostgresError where error.kind == .unreachable && pool.hasOpen {
        return try await pool.perform(body)
      }
    }

    /// Writes, since only that tells whether a push could be written: a standby does not take it, and a full disk neither. What
    /// no write shows is asked: whether a push has a connection, and the rights on each table, and whether they are still those
    /// that this program knows.
    package func checkReady(bytes: Int) async throws {
      do {
        try await aside { [clock, served] connection in
          try served.look(connection)
          try served.check()
          try PostgresServed.checkRights(connection)
          try PostgresTimes.keep(clock.now(), on: connection)
        }
        if !pool.hasOpen { try await pool.perform { _ in } }
      } catch {
        throw ServerError(storage: error)
      }
    }

    package func commonPlace(of marks: [LogMark], in zone: ZoneRecord) async throws -> LogMark? {
      try await read { connection in
        try connection.transaction(.read) {
          let current = try connection.current(zone)
          guard current.generation == zone.generation else { return nil }
          let asked = marks.map { Int64(clamping: $0.sequence) }
          let rows = try connection.run(
            "SELECT sequence, chain FROM entry WHERE zone = $1 AND sequence = ANY($2::bigint[])",
            .integer(zone.id), .integers(asked))
          var own = [LogMark(sequence: current.head, chain: current.chain), current.start]
          for row in 0..<rows.count where rows.uint64(row, 0) <= current.head {
            own.append(
              LogMark(
                sequence: rows.uint64(row, 0), chain: try PostgresZoneRow.chain(rows.data(row, 1))))
          }
          return marks.sorted { $0.sequence > $1.sequence }.first { own.contains($0) }
        }
      }
    }

    package func page(of zone: ZoneRecord, _ request: PageRequest) async throws -> LogPage {
      try await read { [entryCheck] connection in
        let page = try connection.transaction(.read) { try connection.page(of: zone, request) }
        entryCheck.look(at: page, of: zone, after: request.after)
        return page
      }
    }

    package func watch() async {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.tidings.run() }
        group.addTask { await self.careForValues() }
        // The first ends when the storage is closed; the other would sleep.
        await group.next()
        group.cancelAll()
      }
    }

    package func take(_ limits: ServerLimits) { self.limits.take(limits) }

    package func close() {
      tidings.stop()
      folding.withLock { $0.take() }?.stop()
      keepLastSightings()
      pool.close()
      reserved.close()
    }

    /// What was seen and is not written; a database that is away is not waited for.
    private func keepLastSightings() {
      let seen = sightings.taken()
      guard !seen.isEmpty else { return }
      var few = limits.current
      (few.databaseConnectSeconds, few.databaseSeconds) = (1, 2)
      do {
        let connection = try PostgresConnection(serving: text, limits: few)
        defer { connection.close() }
        try PostgresSightings.write(
          seen, replicasMax: few.replicasPerZoneMax, on: connection)
      } catch {
        logger.warning("when replicas were seen was not kept", metadata: ["error": "\(error)"])
      }
    }

    func read<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
      do {
        return try await pool.perform(body)
      } catch let error as PostgresError {
        throw ServerError(error)
      }
    }
  }

  extension ZoneRecord {
    fileprivate var start: LogMark { Cursor.start(generation: generation).mark }
  }

  extension ServerError {
    /// What stands in the way of serving, or of a command.
    static func starting<Result>(_ body: () throws -> Result) throws -> Result {
      do {
        return try body()
      } catch let error as PostgresError {
        let isCrowded = ["connection slots", "too many connections", "too many clients"]
          .contains { error.message.contains($0) }
        throw ServerError(
          .refusedStart, "the database cannot be used: \(error.message)",
          suggestion: isCrowded
            ? "Raise PostgreSQL's max_connections, and the limits of this user and database, to what all nodes and "
              + "commands may open at one time; or lower databaseConnectionsMax of the nodes."
            : "Check the text of --postgres, that the database runs and takes this user "
              + "(psql with the same text), and that the user may make tables in it.")
      }
    }
  }

  /// Owns the table `clock`: the last time that a node gave, as far as it is kept.
  enum PostgresTimes {
    /// The last time that is known to have been given, by this table or by an entry; 0 for none.
    static func last(_ connection: PostgresConnection) throws -> Int64 {
      let rows = try connection.run(
        """
        SELECT greatest((SELECT max(given_ms) FROM clock), (SELECT max(received_ms) FROM zone
          JOIN log ON log.zone = zone.id AND log.sequence = zone.head))
        """)
      return min(max(0, rows.int64(0, 0)), GivenTimes.latest)
    }

    static func keep(_ milliseconds: Int64, on connection: PostgresConnection) throws {
      try connection.run(
        """
        INSERT INTO clock VALUES(1, $1) ON CONFLICT (id) DO UPDATE
        SET given_ms = greatest(clock.given_ms, excluded.given_ms)
        """, .integer(milliseconds))
    }
  }
#endif
