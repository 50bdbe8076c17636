#if PostgreSQL
  import Foundation

  extension PostgresAdministration {
    package func clock(
      at host: Int64 = Administration.hostMilliseconds, limits: ServerLimits = .init()
    ) throws -> ClockReport {
      try told {
        let nodes = try PostgresNodes.count(connection)
        return ClockReport(
          host: host, given: try PostgresTimes.last(connection), server: nil, nodes: nodes,
          zones: try connection.zones(), limits: limits)
      }
    }

    package func setClockBack(to host: Int64 = Administration.hostMilliseconds) throws
      -> ClockReport
    {
      try write {
        guard try PostgresNodes.areNone(connection) else {
          let count = try PostgresNodes.count(connection)
          throw ServerError(
            .locked,
            count == 1 ? "a node serves the database" : "\(count) nodes serve the database",
            suggestion:
              "They have its time in memory: stop all, say the command again, and start them.")
        }
        let report = ClockReport(
          host: host, given: try PostgresTimes.last(connection), server: nil, nodes: 0,
          zones: try connection.zones(), limits: .init())
        try report.checkIsToSetBack()
        try PostgresCodes.endAhead(
          of: host, given: report.givenMilliseconds ?? host, on: connection)
        try PostgresTimes.setBack(to: host, on: connection)
        try note(.clockSetBack, zone: nil, nil, report.setBackDetail)
        return report
      }
    }
  }

  /// The nodes that serve: each holds a lock for as long as it listens to the others. A database that knows no such locks
  /// tells of none.
  enum PostgresNodes {
    private static let number = 7_301_113
    /// What nodes of before do not know: each that knows it holds a lock of this number beside it.
    enum Knowledge: Int, CaseIterable {
      /// Floors of logs.
      case floors = 7_301_114
      /// That zones leave, and rows of them stay for a while.
      case leavingZones = 7_301_115
    }

    /// Of the tables' own schema: one database may have those of several servers.
    private static let schema =
      "(SELECT oid::bigint FROM pg_namespace WHERE nspname = current_schema())"
    private static let place = "(\(schema) & 2147483647)::integer"
    private static let arguments = "\(number), \(place)"

    /// Says until the connection ends that a node serves.
    static func enter(_ connection: PostgresConnection) throws {
      do {
        // These first: who counts both finds none of this program that lacks one.
        for knowledge in Knowledge.allCases {
          try connection.run("SELECT pg_advisory_lock_shared(\(knowledge.rawValue), \(place))")
        }
        try connection.run("SELECT pg_advisory_lock_shared(\(arguments))")
      } catch let error as PostgresError where error.kind == .statement && !error.isAway {}
    }

    static func count(_ connection: PostgresConnection) throws -> Int {
      try count(.floors, connection).all
    }

    /// Whether all that serve are of a program that knows it.
    static func all(know knowledge: Knowledge, _ connection: PostgresConnection) throws -> Bool {
      let count = try count(knowledge, connection)
      return count.all <= count.knowing
    }

    /// In one look: a node that comes or goes is in both counts or in none.
    private static func count(
      _ knowledge: Knowledge, _ connection: PostgresConnection
    ) throws -> (all: Int, knowing: Int) {
      let rows = try connection.run(
        """
        SELECT count(*) FILTER (WHERE classid = \(number)),
          count(*) FILTER (WHERE classid = \(knowledge.rawValue))
        FROM pg_locks WHERE locktype = 'advisory'
          AND objid::bigint = (\(schema) & 2147483647) AND mode = 'ShareLock' AND granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """)
      return (Int(rows.int64(0, 0)), Int(rows.int64(0, 1)))
    }

    /// Whether none serves; none begins to listen until the transaction ends.
    static func areNone(_ connection: PostgresConnection) throws -> Bool {
      try connection.run("SELECT pg_try_advisory_xact_lock(\(arguments))").bool(0, 0)
    }
  }

  extension PostgresAdministration {
    /// What this is about to do all nodes have to know of.
    ///
    /// - Throws: `ServerError` (`.locked`) where one of a program of before serves, `PostgresError`.
    func checkNodes(know knowledge: PostgresNodes.Knowledge) throws {
      guard try !PostgresNodes.all(know: knowledge, connection) else { return }
      throw ServerError(
        .locked, "a node of an older program serves the database",
        suggestion: "Start all nodes again with this program, then say the command again.")
    }
  }

  extension PostgresTimes {
    /// Takes back that later times were given. Of the entries only the last ones are asked for theirs.
    static func setBack(to milliseconds: Int64, on connection: PostgresConnection) throws {
      try connection.run(
        "UPDATE clock SET given_ms = least(given_ms, $1)", .integer(milliseconds))
      try connection.run(
        """
        UPDATE log SET received_ms = $1 FROM zone
        WHERE zone.id = log.zone AND zone.head = log.sequence AND received_ms > $1
        """, .integer(milliseconds))
    }
  }
#endif
