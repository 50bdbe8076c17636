#if PostgreSQL
  import DriftlessProtocol
  import DriftlessSQLite
  import Foundation

  /// One zone of a file, on its way into PostgreSQL.
  struct SQLiteZoneCopy {
    /// As it is in the file.
    private let zone: ZoneRecord
    /// Its number in PostgreSQL.
    private let id: Int64
    private let source: SQLiteConnection
    private let copy: PostgresConnection
    /// By the numbers that the file has.
    private var replicas: [Int64: Int64] = [0: 0]
    private var names: [Data: UInt64] = [:]
    private var properties: [UInt64: UInt64] = [:]

    init(
      of zone: ZoneRecord, as id: Int64, _ source: SQLiteConnection, _ copy: PostgresConnection
    ) {
      self.zone = zone
      self.id = id
      self.source = source
      self.copy = copy
    }

    mutating func run(_ tokens: [TokenRecord]) throws {
      let created = try source.integer("SELECT created_ms FROM zone WHERE id = \(zone.id)") ?? 0
      guard try copy.insert(zone.with(id: id), createdMilliseconds: created) else {
        throw ServerError.zoneExists(zone.name)
      }
      try write(tokens)
      try writeReplicas()
      try PostgresPurgeCopy.into(copy, as: id, of: source, zone, replica: replica)
      try writeLog()
      try writeIdentities()
      try writeObjects()
      try writeClaims()
      try writeNames()
      try PostgresValueCopy.into(copy, as: id, zone: zone.id, of: source)
    }

    private func write(_ tokens: [TokenRecord]) throws {
      for token in tokens {
        try copy.run(
          """
          INSERT INTO token(id, hash, zone, verbs, created_ms, revoked_ms, name, expires_ms)
          VALUES($1, $2, $3, $4, $5, $6, $7, $8)
          """, .text(token.id), .blob(token.hash), .integer(id),
          .integer(token.verbs.rawValue), .integer(token.createdMilliseconds),
          token.revokedMilliseconds.map { .integer($0) } ?? .null,
          token.name.map { .text($0) } ?? .null,
          token.expiresMilliseconds.map { .integer($0) } ?? .null)
        try PostgresBindings.set(token.binding, of: token.id, on: copy)
      }
      for row in try source.rows(
        "SELECT replica, cursor, token, seen_ms, name, address, format, asked FROM sighting WHERE zone = ?",
        .integer(zone.id))
      {
        guard case .blob(let replica) = row[0], case .integer(let cursor) = row[1],
          case .text(let token) = row[2], case .integer(let seen) = row[3]
        else { continue }
        func text(_ value: SQLiteValue) -> PostgresValue {
          if case .text(let text) = value { .text(text) } else { .null }
        }
        func integer(_ value: SQLiteValue) -> PostgresValue {
          if case .integer(let number) = value { .integer(number) } else { .null }
        }
        try copy.run(
          """
          INSERT INTO sighting(zone, replica, cursor, token, seen_ms, name, address, format, asked)
          VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9)
          """, .integer(id), .blob(replica), .integer(cursor), .text(token), .integer(seen),
          text(row[4]), text(row[5]), integer(row[6]), integer(row[7]))
      }
    }

    private mutating func writeReplicas() throws {
      let statement = try source.prepareUncached(
        "SELECT id, uuid, last_push FROM replica WHERE zone = ? ORDER BY id")
      statement.bind(zone.id, at: 1)
      while try statement.step() {
        let number = Int64(replicas.count)
        replicas[statement.int64(0)] = number
        let replica = statement.data(1)
        try copy.run(
          "INSERT INTO replica(zone, uuid, id, last_push) VALUES($1, $2, $3, $4)",
          .integer(id), .blob(replica), .integer(number), .integer(statement.int64(2)))
        try copy.run(
          "INSERT INTO replica_home(uuid, zone) VALUES($1, $2)", .blob(replica), .integer(id))
      }
      try PostgresForgotten.add(
        Array(ForgottenReplicas.all(of: zone.id, on: source)), to: id, on: copy)
    }

    private func replica(_ number: Int64) throws -> Int64 {
      guard let replica = replicas[number] else {
        throw PostgresCopy.damaged("zone \(zone.name) has no replica of the number \(number)")
      }
      return replica
    }

    private var range: [SQLiteValue] {
      [
        .integer(LogPosition.of(zone: zone.id, number: 0)),
        .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)),
      ]
    }

    private func writeLog() throws {
      let statement = try source.prepareUncached(
        """
        SELECT position, replica, number, first_object, new_objects, received_ms, digest, chain,
          names, size, header, body
        FROM log WHERE position >= ? AND position < ? ORDER BY position
        """)
      statement.bind(range)
      while try statement.step() {
        try copy.run(
          """
          INSERT INTO log(zone, sequence, replica, number, first_object, new_objects, received_ms,
            digest, chain, names, size, header, body)
          VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
          """, .integer(id),
          .integer(Int64(clamping: LogPosition.number(statement.int64(0)))),
          .integer(try replica(statement.int64(1))), .integer(statement.int64(2)),
          .integer(statement.int64(3)), .integer(statement.int64(4)),
          .integer(statement.int64(5)), .blob(statement.data(6)), .blob(statement.data(7)),
          .blob(statement.data(8)), .integer(statement.int64(9)), .blob(statement.data(10)),
          .blob(statement.data(11)))
      }
    }

    private func writeIdentities() throws {
      let runs = try source.prepareUncached(
        "SELECT first, count, number FROM identity WHERE zone = ? ORDER BY first")
      runs.bind(zone.id, at: 1)
      try inPages(of: runs) { rows in
        try copy.run(
          """
          INSERT INTO identity(zone, first, count, number)
          SELECT $1::bigint, * FROM unnest($2::uuid[], $3::bigint[], $4::bigint[])
          """, .integer(id), .uuids(rows.compactMap { UUID(bytes: $0.bytes) }),
          .integers(rows.map { $0.integers[0] }), .integers(rows.map { $0.integers[1] }))
      } row: {
        ($0.data(0), [$0.int64(1), $0.int64(2)])
      }
      let dead = try source.prepareUncached(
        "SELECT identity, sequence FROM tombstone WHERE zone = ? ORDER BY identity")
      dead.bind(zone.id, at: 1)
      try inPages(of: dead) { rows in
        try copy.run(
          """
          INSERT INTO tombstone(zone, identity, sequence)
          SELECT $1::bigint, * FROM unnest($2::uuid[], $3::bigint[])
          """, .integer(id), .uuids(rows.compactMap { UUID(bytes: $0.bytes) }),
          .integers(rows.map { $0.integers[0] }))
      } row: {
        ($0.data(0), [$0.int64(1)])
      }
    }

    private typealias Row = (bytes: Data, integers: [Int64])

    /// Rows of a statement, some at a time.
    private func inPages(
      of statement: SQLiteStatement, _ write: ([Row]) throws -> Void,
      row: (SQLiteStatement) throws -> Row
    ) throws {
      var rows: [Row] = []
      while try statement.step() {
        rows.append(try row(statement))
        guard rows.count == PostgresCopy.pageRows else { continue }
        try write(rows)
        rows = []
      }
      if !rows.isEmpty { try write(rows) }
    }

    /// The number that a name has in the zone, by its text.
    private mutating func number(of name: Data) -> UInt64 {
      if let number = names[name] { return number }
      let number = UInt64(names.count + 1)
      names[name] = number
      return number
    }

    private mutating func property(_ id: UInt64) throws -> UInt64 {
      if let number = properties[id] { return number }
      guard
        case .text(let name)? = try source.scalar(
          "SELECT name FROM property WHERE id = ?", .integer(Int64(clamping: id)))
      else { throw PostgresCopy.damaged("there is no property of the number \(id)") }
      let number = number(of: Data(name.utf8))
      properties[id] = number
      return number
    }

    private mutating func writeObjects() throws {
      let statement = try source.prepareUncached(
        """
        SELECT position, base, deleted, named, named_by, named_before, properties FROM object
        WHERE position >= ? AND position < ? ORDER BY position
        """)
      statement.bind(range)
      var rows: [Row] = []
      while try statement.step() {
        var list = PropertySequences()
        for (id, sequence) in try PropertySequences(encoded: statement.data(6)).pairs {
          list.set(try property(id), to: sequence)
        }
        let number = Int64(clamping: LogPosition.number(statement.int64(0)))
        rows.append(
          (
            list.encoded,
            [
              number, statement.int64(1), statement.int64(2), statement.int64(3),
              try replica(statement.int64(4)), statement.int64(5),
            ]
          ))
        if rows.count == PostgresCopy.pageRows {
          try write(objects: rows)
          rows = []
        }
      }
      if !rows.isEmpty { try write(objects: rows) }
    }

    private func write(objects rows: [Row]) throws {
      func column(_ place: Int) -> PostgresValue { .integers(rows.map { $0.integers[place] }) }
      try copy.run(
        """
        INSERT INTO object(zone, number, base, deleted, named, named_by, named_before, properties)
        SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
          $6::bigint[], $7::bigint[], $8::bytea[])
        """, .integer(id), column(0), column(1), column(2), column(3), column(4), column(5),
        .blobs(rows.map(\.bytes)))
    }

    private mutating func writeClaims() throws {
      let statement = try source.prepareUncached(
        """
        SELECT hash, object, key_rule.name FROM claim JOIN key_rule ON key_rule.id = claim.rule
        WHERE claim.zone = ?
        """)
      statement.bind(zone.id, at: 1)
      while try statement.step() {
        let rule = number(of: Data(statement.string(2).utf8))
        try copy.run(
          "INSERT INTO claim(zone, hash, object, rule) VALUES($1, $2, $3, $4)",
          .integer(id), .blob(statement.data(0)), .integer(statement.int64(1)),
          .integer(Int64(clamping: rule)))
      }
    }

    private func writeNames() throws {
      try copy.run(
        """
        INSERT INTO name(zone, name, id)
        SELECT $1::bigint, * FROM unnest($2::bytea[], $3::bigint[])
        """, .integer(id), .blobs(Array(names.keys)),
        .integers(names.values.map { Int64(clamping: $0) }))
      try copy.run(
        "UPDATE zone SET next_replica = $2, next_name = $3 WHERE id = $1", .integer(id),
        .integer(Int64(replicas.count)), .integer(Int64(names.count + 1)))
    }
  }
#endif
