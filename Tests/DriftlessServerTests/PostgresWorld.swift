#if PostgreSQL
  import DriftlessStorageConformance
  import Foundation
  import Synchronization
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// Zones in a PostgreSQL database, as an operator's command and some nodes have them.
  final class PostgresWorld {
    let cluster: PostgresCluster
    let database: String
    let administration: PostgresAdministration
    let nodes: [PostgresZoneStorage]
    var boxes = PhotoReplica()
    /// Milliseconds by which the clocks of all nodes but the first are ahead.
    private let ahead: Ahead

    private final class Ahead: Sendable { let milliseconds = Mutex<Int64>(0) }

    /// - Parameters:
    ///   - database: one that is there; a new one unless given.
    ///   - zones: what it has, if it has none yet.
    ///   - limits: changes those of the nodes, which take large values.
    init(
      _ cluster: PostgresCluster? = nil, database: String? = nil, zones: [String] = ["shop"],
      nodes count: Int = 1, limits change: (inout ServerLimits) -> Void = { _ in }
    ) throws {
      self.cluster = try cluster ?? PostgresCluster.shared()
      let database = try database ?? self.cluster.place()
      self.database = database
      administration = try PostgresAdministration(database: database)
      if try administration.zones().isEmpty {
        for zone in zones { _ = try administration.createZone(zone) }
      }
      var limits = ServerLimits()
      limits.valueBytesMax = 256 << 20
      change(&limits)
      let ahead = Ahead()
      self.ahead = ahead
      let taken = limits
      nodes = try (0..<count).map { number in
        try PostgresZoneStorage(database: database, limits: taken) {
          Administration.hostMilliseconds
            + (number > 0 ? ahead.milliseconds.withLock { $0 } : 0)
        }
      }
    }

    deinit { close() }

    func close() {
      for node in nodes { node.close() }
      administration.close()
    }

    func pass(days: Int64) { ahead.milliseconds.withLock { $0 += days * 86_400_000 } }

    var connection: PostgresConnection { administration.connection }

    /// The first node.
    var storage: PostgresZoneStorage { nodes[0] }

    var zone: ZoneRecord { get throws { try zone("shop") } }

    func zone(_ name: String) throws -> ZoneRecord {
      try #require(try connection.zoneRow(named: name)).zone
    }

    func count(_ table: String) throws -> Int64 {
      try connection.run("SELECT count(*) FROM \(table)").int64(0, 0)
    }

    func show(_ seeds: ClosedRange<UInt8>, at node: Int = 0) async throws {
      for seed in seeds { try await boxes.show(seed, to: nodes[node], zone) }
    }

    func expectWhole(_ location: SourceLocation = #_sourceLocation) throws {
      #expect(try administration.verify().damage == [], sourceLocation: location)
    }

    /// A transaction of another process that has the zone's row, while `body` runs beside it; then the transaction goes on, and is
    /// committed.
    ///
    /// - Parameter before: what the transaction has done by then.
    func holding(
      before: (PostgresConnection) throws -> Void,
      _ body: @escaping @Sendable () async throws -> Void,
      then: (PostgresConnection) throws -> Void = { _ in }
    ) async throws {
      let isOver = Flag()
      try await withThrowingTaskGroup(of: Void.self) { group in
        try await holding(until: isOver) { holder in
          try before(holder)
          group.addTask {
            defer { isOver.set() }
            try await body()
          }
        } then: {
          try then($0)
        }
        try await group.waitForAll()
      }
    }

    /// The same where what runs beside it was begun before.
    ///
    /// - Parameter isOver: whether that is done, as it must not be before it has waited for the row.
    func holding(
      until isOver: Flag, before: (PostgresConnection) throws -> Void,
      then: (PostgresConnection) throws -> Void = { _ in }
    ) async throws {
      let holder = try PostgresConnection(serving: database, limits: .init())
      defer { holder.close() }
      let process = try holder.run("SELECT pg_backend_pid()").int64(0, 0)
      try holder.execute("BEGIN")
      _ = try holder.zoneRow(named: "shop", locks: true)
      try before(holder)
      let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE \(process) = ANY(pg_blocking_pids(pid))"
      while try connection.run(waiting).int64(0, 0) == 0, !isOver.isSet {
        await Task.yield()
      }
      try then(holder)
      try holder.execute("COMMIT")
    }

    final class Flag: Sendable {
      private let value = Atomic(false)

      var isSet: Bool { value.load(ordering: .relaxed) }

      func set() { value.store(true, ordering: .relaxed) }
    }
  }
#endif
