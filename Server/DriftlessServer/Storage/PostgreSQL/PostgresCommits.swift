#if PostgreSQL
  import DriftlessProtocol
  import Foundation
  import Logging
  import Synchronization

  /// The pushes of this node: one queue a zone, and one transaction at a time a zone. While one group is written, the next
  /// gathers. Zones do not wait for each other, and no transaction is about two of them: so none can be in a ring.
  ///
  /// The transaction takes the zone's row first. So the pushes of several nodes to one zone come one after the other too,
  /// each sees what the one before wrote, and sequence numbers are in the order of the commits.
  final class PostgresCommits: Sendable {
    private let queues = Mutex<[Int64: PushQueue]>([:])
    private let pool: PostgresPool
    private let limits: LiveLimits
    private let metrics: ServerMetrics
    private let clock: ServerClock
    private let logger: Logger
    private let publish: @Sendable (UUID, UInt64) -> Void

    /// - Parameter publish: told of each generation whose log has grown, and of its new end.
    init(
      pool: PostgresPool, limits: LiveLimits, metrics: ServerMetrics, clock: ServerClock,
      logger: Logger, publish: @escaping @Sendable (UUID, UInt64) -> Void
    ) {
      self.pool = pool
      self.limits = limits
      self.metrics = metrics
      self.clock = clock
      self.logger = logger
      self.publish = publish
    }

    func append(_ push: Push, to zone: ZoneRecord) async throws -> Appended {
      try await withCheckedThrowingContinuation { answer in
        // However many wait for one zone, those of another are not refused.
        let isFirst: Bool? = queues.withLock { queues in
          guard queues[zone.id]?.isFull(for: zone, limits.current) != true else { return nil }
          return queues[zone.id, default: PushQueue(isShared: false)].add(
            PushQueue.Pending(push: push, zone: zone, answer: answer))
        }
        switch isFirst {
        case true?: Task { await drain(zone.id) }
        case false?: break
        case nil: answer.resume(throwing: ServerError.busy("too many pushes wait for the database"))
        }
      }
    }

    /// How many pushes of a zone wait.
    func waiting(of zone: Int64) -> Int { queues.withLock { $0[zone]?.count ?? 0 } }

    /// Writes groups of a zone until nothing waits.
    private func drain(_ zone: Int64) async {
      while let group = nextGroup(of: zone) {
        await commit(group)
      }
    }

    private func nextGroup(of zone: Int64) -> [PushQueue.Pending]? {
      queues.withLock { queues in
        let group = queues[zone]?.nextGroup(limits.current)
        if group == nil { queues[zone] = nil }
        return group
      }
    }

    private func commit(_ group: [PushQueue.Pending]) async {
      do {
        let start = ContinuousClock.now
        let outcomes = try await pool.perform { [self] in try apply(group, on: $0) }
        metrics.countCommit(pushes: group.count, duration: ContinuousClock.now - start)
        for (pending, outcome) in zip(group, outcomes) {
          if case .success(let appended) = outcome, !appended.isRepeat {
            publish(pending.push.cursor.generation, appended.sequence)
          }
          pending.answer.resume(with: outcome)
        }
      } catch  where group.count > 1 && !Self.isAway(error) {
        // One that is too large for the database, say, must not take the others with it.
        for pending in group { await commit([pending]) }
      } catch {
        logger.error("a push could not be stored", metadata: ["error": "\(error)"])
        for pending in group { pending.answer.resume(throwing: ServerError(storage: error)) }
      }
    }

    private static func isAway(_ error: any Error) -> Bool {
      (error as? PostgresError)?.isAway ?? ((error as? ServerError)?.code == .busy)
    }

    /// All pushes of a group in one transaction.
    private func apply(
      _ group: [PushQueue.Pending], on connection: PostgresConnection
    ) throws -> [Result<Appended, any Error>] {
      if group.count == 1, group[0].push.part != nil { return [try publish(group[0], connection)] }
      return try connection.transaction(.write) {
        // Those that know the zone by an older name hear that there is none, and no others of their group.
        guard let row = try connection.currentRow(of: group[0].zone, locks: true) else {
          return group.map { .failure(ServerError.noZone($0.zone.name)) }
        }
        let tables = PostgresZoneTables(connection, row)
        try tables.load(for: group.map(\.push))
        let append = LogAppend(tables: tables, limits: limits.current, nowMilliseconds: clock.now())
        let outcomes = try group.map { pending -> Result<Appended, any Error> in
          tables.begin()
          do {
            return .success(try append.append(pending.push, to: pending.zone))
          } catch {
            guard let refusal = ServerError(refusal: error) else { throw error }
            tables.takeBack()
            return .failure(refusal)
          }
        }
        try tables.flush()
        return outcomes
      }
    }

    /// A push in several parts, in a transaction of its own: what it writes is not held in memory, and taken back by that alone.
    private func publish(
      _ pending: PushQueue.Pending, _ connection: PostgresConnection
    ) throws -> Result<Appended, any Error> {
      let start = ContinuousClock.now
      do {
        let appended = try connection.transaction(.write) {
          guard let row = try connection.currentRow(of: pending.zone, locks: true) else {
            throw ServerError.noZone(pending.zone.name)
          }
          let tables = PostgresZoneTables(connection, row)
          try tables.ready(for: pending.push)
          let append = LogAppend(
            tables: tables, limits: limits.current, nowMilliseconds: clock.now())
          let appended = try append.append(pending.push, to: pending.zone)
          try tables.flush()
          return appended
        }
        // So long all others of the zone wait.
        logger.info(
          "published",
          metadata: [
            "parts": "\(pending.push.part?.parts ?? 1)",
            "milliseconds": "\(Int((ContinuousClock.now - start) / .milliseconds(1)))",
          ])
        return .success(appended)
      } catch {
        guard let refusal = ServerError(refusal: error) else { throw error }
        return .failure(refusal)
      }
    }

    /// Takes back entries that the log lost, as many in one transaction as it has time for.
    func refill(
      _ entries: [Refill], of zone: ZoneRecord
    ) async throws -> RefillPortion.Written {
      do {
        return try await pool.perform { [limits, clock] connection in
          try connection.transaction(.write) {
            guard let row = try connection.currentRow(of: zone, locks: true) else {
              throw ServerError.noZone(zone.name)
            }
            let tables = PostgresZoneTables(connection, row)
            try tables.load(for: entries.map(\.push))
            let append = LogAppend(
              tables: tables, limits: limits.current, nowMilliseconds: clock.now())
            var isAfterParts = false
            let most = limits.groupMillisecondsMax
            let left = try RefillPortion.take(entries, milliseconds: most) { entry, push in
              // Parts leave nothing of what was read before them.
              if isAfterParts { try tables.ready(for: push) } else { tables.begin() }
              isAfterParts = isAfterParts || push.part != nil
              try append.refillInParts(entry, push, of: zone)
            }
            try tables.flush()
            return RefillPortion.Written(
              place: LogMark(sequence: tables.zone.head, chain: tables.zone.chain), left: left)
          }
        }
      } catch {
        throw ServerError(refusal: error) ?? ServerError(storage: error)
      }
    }
  }
#endif
