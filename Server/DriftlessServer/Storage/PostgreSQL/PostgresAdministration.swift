#if PostgreSQL
  package import DriftlessProtocol
  import Foundation

  /// What an operator does to zones and tokens of a PostgreSQL database, while nodes serve it or not.
  package struct PostgresAdministration: ZoneAdministration {
    let connection: PostgresConnection
    let text: String

    /// Opens the database, and makes the server's tables where it has none.
    ///
    /// - Parameter text: a connection string of libpq.
    /// - Throws: `ServerError` (`.refusedStart`).
    package init(database text: String, limits: ServerLimits = .init()) throws {
      self.text = text
      connection = try ServerError.starting {
        let connection = try PostgresConnection(serving: text, limits: limits)
        try PostgresSchema.apply(to: connection)
        return connection
      }
    }

    package func close() { connection.close() }

    /// Looks at a database as a node does that is about to serve it, and makes nothing there.
    ///
    /// - Returns: what is worth knowing, and stands in nobody's way.
    /// - Throws: `ServerError` (`.refusedStart`).
    package static func look(at text: String) throws -> [String] {
      try ServerError.starting {
        let connection = try PostgresConnection(serving: text, limits: .init())
        defer { connection.close() }
        guard try PostgresSchema.isKnown(to: connection) else {
          return ["the database has no zones so far"]
        }
        try PostgresServed.checkRights(connection, needsAll: false)
        return []
      }
    }

    package func zones() throws -> [ZoneRecord] { try told { try connection.zones() } }

    package func snapshot(of zone: ZoneRecord) throws -> Snapshot? {
      try told {
        let found = try PostgresSnapshots.snapshot(of: zone, on: connection)
        let kept = try PostgresPurgedLog.row(of: zone, on: connection)?.snapshot
        return [found, kept].compactMap(\.self).max { $0.place.sequence < $1.place.sequence }
      }
    }

    package func foldZone(_ name: String) throws -> Snapshot {
      let zone = try told { try existing(name) }
      let logs = PostgresLogs(text, limits: .init())
      defer { logs.close() }
      return try told {
        try logs.sweep()
        return try logs.fold(zone, options: FoldOptions()) { place in
          let request = PageRequest(after: place, bytesMax: 4 << 20, entriesMax: 1_000)
          return try logs.entries(of: zone, request)
        }
      }
    }

    package func createZone(_ name: String) throws -> ZoneRecord {
      try ZoneName.check(name)
      return try write {
        let zone = ZoneRecord.new(
          id: try PostgresZoneNumbers.take(on: connection), name: name)
        if try connection.insert(zone, createdMilliseconds: Administration.hostMilliseconds) {
          try note(.zoneCreated, zone: name)
          return zone
        }
        guard try connection.zoneRow(named: name) == nil else {
          throw ServerError.zoneExists(name)
        }
        // Another command took the number meanwhile.
        throw PostgresError(.statement, sqlState: "40001", message: "another zone was created")
      }
    }

    package func renewZone(_ name: String, intent: ZoneIntent) throws -> ZoneRecord {
      try renew(name, intent: intent).zone
    }

    package func namedValues(of name: String) throws -> NamedValues {
      try told { try PostgresLargeValues.named(of: existing(name).id, on: connection) }
    }

    package func serverMilliseconds() throws -> Int64 {
      try told { max(Administration.hostMilliseconds, try PostgresTimes.last(connection)) }
    }

    package func tokens() throws -> [TokenRecord] { try told { try connection.tokens() } }

    @discardableResult package func createToken(
      zone name: String, verbs: Verbs, label: String? = nil, expiresMilliseconds: Int64? = nil,
      binds: Bool = false, handOut: (AccessToken) throws -> Void = { _ in }
    ) throws -> AccessToken {
      _ = try told { try existing(name, orThrow: ServerError.zoneToCreate) }
      try TokenNotes.check(label)
      let token = AccessToken.mint()
      let now = try serverMilliseconds()
      try write {
        // Taken, so that nobody deletes the zone meanwhile.
        let zone = try existing(name, locks: true)
        try connection.run(
          """
          INSERT INTO token(id, hash, zone, verbs, created_ms, name, expires_ms)
          VALUES($1, $2, $3, $4, $5, $6, $7)
          """, .text(token.id), .blob(token.hash), .integer(zone.id), .integer(verbs.rawValue),
          .integer(now), label.map { .text($0) } ?? .null,
          expiresMilliseconds.map { .integer($0) } ?? .null)
        try PostgresBindings.set(binds ? .first : .none, of: token.id, on: connection)
        try note(
          .tokenCreated, zone: name, token.id, AuditEvent.detail(verbs, label, binds: binds))
      }
      try hand(token, handOut)
      return token
    }

    /// Hands out a token that is made. Not within its transaction: pushes would wait for a terminal that was stopped.
    func hand(_ token: AccessToken, _ handOut: (AccessToken) throws -> Void) throws {
      do {
        try handOut(token)
      } catch {
        do {
          try write {
            try connection.run("DELETE FROM token WHERE id = $1", .text(token.id))
            try PostgresBindings.remove(token.id, on: connection)
            try note(.tokenRevoked, zone: nil, token.id, "nobody was given it")
          }
        } catch { throw ServerError.unheldToken(token.id, error) }
        throw error
      }
    }

    package func revokeToken(id: String) throws {
      let now = try serverMilliseconds()
      try write {
        guard let token = try connection.token(id: id) else { throw ServerError.noSuchToken(id) }
        try connection.run(
          "UPDATE token SET revoked_ms = coalesce(revoked_ms, $2) WHERE id = $1", .text(id),
          .integer(now))
        try note(.tokenRevoked, zone: token.zoneName, id)
      }
    }

    func existing(
      _ name: String, locks: Bool = false,
      orThrow missing: (String) -> ServerError = ServerError.noSuchZone
    ) throws -> ZoneRecord {
      guard let row = try connection.zoneRow(named: name, locks: locks) else {
        throw missing(name)
      }
      return row.zone
    }

    private static let triesMax = 10

    func write<Result>(_ body: () throws -> Result) throws -> Result {
      try told { try retrying { try connection.transaction(.write, body) } }
    }

    /// Runs what is one transaction, or several that may come again, anew where others were in its way.
    func retrying<Result>(_ body: () throws -> Result) throws -> Result {
      for _ in 1..<Self.triesMax {
        do {
          return try body()
        } catch let error as PostgresError where error.isContention {
          continue
        }
      }
      return try body()
    }

    /// Says an error of the database so that an operator knows what to do.
    func told<Result>(_ body: () throws -> Result) throws -> Result {
      do {
        return try body()
      } catch let error as PostgresError {
        let isUnknown = error.kind == .unknownOutcome
        throw ServerError(
          error.isFull ? .diskFull : error.isAway ? .busy : .storage,
          isUnknown
            ? "the database did not say whether the change is stored: \(error.message)"
            : "the database refused: \(error.message)",
          suggestion: isUnknown
            ? "See what is there (zone list, token list), then say the command again if it is not."
            : "Nothing was changed. Check the database, then say the command again.")
      }
    }
  }
#endif
