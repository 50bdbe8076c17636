#if PostgreSQL
  import DriftlessProtocol
  import DriftlessSQLite
  import Foundation

  /// All that one kind of database has of zones, written into one of the other kind that has nothing. Both are in a
  /// transaction. Small numbers (of zones, replicas and names) are given anew.
  enum PostgresCopy {
    /// Bytes of the log that are held at one time.
    static let pageBytes: Int64 = 4 << 20
    /// Rows of other tables.
    static let pageRows = 5000

    static func out(of source: PostgresConnection, into copy: SQLiteConnection) throws {
      let rows = try source.run(PostgresZoneRow.select + " ORDER BY name")
      guard Int64(rows.count) < LogPosition.zoneMax else {
        throw ServerError(
          .tooLarge, "a file has no room for \(rows.count) zones",
          suggestion: "Back up the database by its own means: pg_dump.")
      }
      let tokens = Dictionary(grouping: try source.tokens(), by: \.zoneID)
      for row in 0..<rows.count {
        let zone = try PostgresZoneRow(rows, row)
        var writer = PostgresZoneCopy(of: zone, as: Int64(row + 1), source, copy)
        try writer.run(tokens[zone.zone.id] ?? [])
      }
      for record in try PostgresOperators.all(source) { try OperatorTokens.insert(record, copy) }
      try AuditLog.replace(by: PostgresAudit.events(since: 0, on: source), on: copy)
      let given = try PostgresTimes.last(source)
      if given > 0 { try GivenTimes.keep(given, on: copy) }
    }

    static func into(_ copy: PostgresConnection, of source: SQLiteConnection) throws {
      let tokens = Dictionary(grouping: try source.tokens(), by: \.zoneID)
      for zone in try source.zones() {
        // Others may have had that number here, and rows of one that is leaving.
        let id = try PostgresZoneNumbers.take(on: copy)
        var writer = SQLiteZoneCopy(of: zone, as: id, source, copy)
        try writer.run(tokens[zone.id] ?? [])
      }
      for record in try OperatorTokens.all(source) {
        try copy.run(
          // Of those that are there already it is known here whether they were revoked.
          "INSERT INTO operator_token VALUES($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING",
          .text(record.id),
          .blob(record.hash), .text(record.name), .integer(record.createdMilliseconds),
          record.expiresMilliseconds.map { .integer($0) } ?? .null,
          record.revokedMilliseconds.map { .integer($0) } ?? .null)
      }
      for event in try AuditLog.events(since: 0, on: source) {
        try PostgresAudit.insert(event, on: copy)
      }
      let given = try GivenTimes.last(source)
      if given > 0 { try PostgresTimes.keep(given, on: copy) }
    }

    static func damaged(_ what: String) -> ServerError {
      ServerError(
        .damagedDatabase, "the database is damaged: \(what)",
        suggestion: "See all that is: driftless-server verify.")
    }
  }

  /// One zone of PostgreSQL, on its way into a file.
  private struct PostgresZoneCopy {
    private let zone: ZoneRecord
    private let created: Int64
    private let id: Int64
    private let source: PostgresConnection
    private let copy: SQLiteConnection
    /// By the numbers that PostgreSQL has within the zone.
    private var replicas: [Int64: Int64] = [0: 0]
    private var names: [UInt64: String] = [:]
    private let properties = PropertyNames()

    init(
      of row: PostgresZoneRow, as id: Int64, _ source: PostgresConnection, _ copy: SQLiteConnection
    ) {
      zone = row.zone
      created = row.createdMilliseconds
      self.id = id
      self.source = source
      self.copy = copy
    }

    mutating func run(_ tokens: [TokenRecord]) throws {
      try copy.insert(zone.with(id: id), createdMilliseconds: created)
      try write(tokens)
      try writeReplicas()
      try PostgresPurgeCopy.out(of: source, zone, into: copy, as: id, replica: replica)
      try writeLog()
      try writeIdentities()
      let rows = try source.run("SELECT id, name FROM name WHERE zone = $1", .integer(zone.id))
      for row in 0..<rows.count {
        names[rows.uint64(row, 0)] = String(decoding: rows.data(row, 1), as: UTF8.self)
      }
      try writeObjects()
      try writeClaims()
      try PostgresValueCopy.out(of: source, zone: zone.id, into: copy, as: id)
    }

    private func write(_ tokens: [TokenRecord]) throws {
      for token in tokens {
        try copy.run(
          "INSERT INTO token VALUES(?, ?, ?, ?, ?, ?)", .text(token.id), .blob(token.hash),
          .integer(id), .integer(token.verbs.rawValue), .integer(token.createdMilliseconds),
          token.revokedMilliseconds.map { .integer($0) } ?? .null)
        try TokenNotes.set(
          token.id, name: token.name, expiresMilliseconds: token.expiresMilliseconds, on: copy)
        try TokenBindings.set(token.binding, of: token.id, on: copy)
      }
      let seen = try source.run(
        "SELECT replica, cursor, token, seen_ms, name, address, format, asked FROM sighting WHERE zone = $1",
        .integer(zone.id))
      for row in 0..<seen.count {
        try copy.run(
          """
          INSERT INTO sighting(zone, replica, cursor, token, seen_ms, name, address, format, asked)
          VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
          """, .integer(id), .blob(seen.data(row, 0)), .integer(seen.int64(row, 1)),
          .text(seen.text(row, 2)), .integer(seen.int64(row, 3)),
          seen.isNull(row, 4) ? .null : .text(seen.text(row, 4)),
          seen.isNull(row, 5) ? .null : .text(seen.text(row, 5)),
          seen.isNull(row, 6) ? .null : .integer(seen.int64(row, 6)),
          seen.isNull(row, 7) ? .null : .integer(seen.int64(row, 7)))
      }
    }

    private mutating func writeReplicas() throws {
      let rows = try source.run(
        "SELECT id, uuid, last_push FROM replica WHERE zone = $1 ORDER BY id", .integer(zone.id))
      for row in 0..<rows.count {
        try copy.run(
          "INSERT INTO replica(zone, uuid, last_push) VALUES(?, ?, ?)", .integer(id),
          .blob(rows.data(row, 1)), .integer(rows.int64(row, 2)))
        replicas[rows.int64(row, 0)] = copy.lastInsertRowID
      }
      for replica in try PostgresForgotten.all(of: zone.id, on: source) {
        try ForgottenReplicas.add(replica, to: id, on: copy)
      }
    }

    private func replica(_ number: Int64) throws -> Int64 {
      guard let replica = replicas[number] else {
        throw PostgresCopy.damaged("zone \(zone.name) has no replica of the number \(number)")
      }
      return replica
    }

    private func writeLog() throws {
      let insert = try copy.prepareUncached(
        "INSERT INTO log VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      var last: UInt64 = 0
      while true {
        let rows = try source.logRows(of: zone.id, after: last, bytes: PostgresCopy.pageBytes)
        guard rows.count > 0 else { return }
        for row in 0..<rows.count {
          last = rows.uint64(row, 0)
          insert.bind([
            .integer(LogPosition.of(zone: id, number: last)),
            .integer(try replica(rows.int64(row, 12))), .integer(rows.int64(row, 2)),
            .integer(rows.int64(row, 3)), .integer(rows.int64(row, 4)),
            .integer(rows.int64(row, 11)), .blob(rows.data(row, 5)), .blob(rows.data(row, 6)),
            .blob(rows.data(row, 7)), .integer(rows.int64(row, 8)), .blob(rows.data(row, 9)),
            .blob(rows.data(row, 10)),
          ])
          try insert.run()
          insert.reset()
        }
      }
    }

    private func writeIdentities() throws {
      try page(
        "SELECT first, count, number FROM identity", by: "first", from: .uuid(UUID.zero)
      ) { rows, row in
        try copy.run(
          "INSERT INTO identity VALUES(?, ?, ?, ?)", .integer(id),
          .blob(rows.data(row, 0)), .integer(rows.int64(row, 1)), .integer(rows.int64(row, 2)))
      }
      try page(
        "SELECT identity, sequence FROM tombstone", by: "identity", from: .uuid(UUID.zero)
      ) { rows, row in
        try copy.run(
          "INSERT INTO tombstone VALUES(?, ?, ?)", .integer(id),
          .blob(rows.data(row, 0)), .integer(rows.int64(row, 1)))
      }
    }

    /// Rows of a table in the order of a key, their first column, some at a time.
    private func page(
      _ select: String, by key: String, from start: PostgresValue,
      _ body: (PostgresRows, Int) throws -> Void
    ) throws {
      var last = start
      var isFirst = true
      while true {
        let rows = try source.run(
          select + " WHERE zone = $1 AND \(key) \(isFirst ? ">=" : ">") $2 "
            + "ORDER BY \(key) LIMIT \(PostgresCopy.pageRows)", .integer(zone.id), last)
        guard rows.count > 0 else { return }
        for row in 0..<rows.count { try body(rows, row) }
        isFirst = false
        last = .blob(rows.data(rows.count - 1, 0))
      }
    }

    private func writeObjects() throws {
      let select = """
        SELECT number, base, deleted, properties, named, named_by, named_before FROM object
        """
      try page(select, by: "number", from: .integer(0)) { rows, row in
        var list = PropertySequences()
        for (property, sequence) in try PropertySequences(encoded: rows.data(row, 3)).pairs {
          guard let name = names[property] else {
            throw PostgresCopy.damaged("zone \(zone.name) has no name of the number \(property)")
          }
          list.set(try properties.id(of: name, zone: id, in: copy), to: sequence)
        }
        try copy.run(
          "INSERT INTO object VALUES(?, ?, ?, ?, ?, ?, ?)",
          .integer(LogPosition.of(zone: id, number: rows.uint64(row, 0))),
          .integer(rows.int64(row, 1)), .integer(rows.int64(row, 2)), .blob(list.encoded),
          .integer(rows.int64(row, 4)), .integer(try replica(rows.int64(row, 5))),
          .integer(rows.int64(row, 6)))
      }
    }

    private func writeClaims() throws {
      var rules: [UInt64: Int64] = [:]
      try page("SELECT hash, object, rule FROM claim", by: "hash", from: .blob(Data())) {
        rows, row in
        let number = rows.uint64(row, 2)
        let rule = try rules[number] ?? rule(number)
        rules[number] = rule
        try copy.run(
          "INSERT INTO claim VALUES(?, ?, ?, ?)", .integer(id), .blob(rows.data(row, 0)),
          .integer(rows.int64(row, 1)), .integer(rule))
      }
    }

    private func rule(_ number: UInt64) throws -> Int64 {
      guard let text = names[number] else {
        throw PostgresCopy.damaged("zone \(zone.name) has no name of the number \(number)")
      }
      try copy.run("INSERT OR IGNORE INTO key_rule(name) VALUES(?)", .text(text))
      guard
        case .integer(let rule)? = try copy.scalar(
          "SELECT id FROM key_rule WHERE name = ?", .text(text))
      else { throw PostgresCopy.damaged("a constraint has no text") }
      return rule
    }
  }

  extension UUID {
    fileprivate static var zero: UUID {
      UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    }
  }

  extension ZoneRecord {
    /// The same zone as another row.
    func with(id: Int64) -> ZoneRecord {
      ZoneRecord(
        id: id, name: name, zoneID: zoneID, generation: generation, parent: parent,
        intent: intent, replacements: replacements, formatLevel: formatLevel, head: head,
        chain: chain, nextObject: nextObject, newestMilliseconds: newestMilliseconds,
        limits: limits, isPutBack: isPutBack)
    }
  }
#endif
