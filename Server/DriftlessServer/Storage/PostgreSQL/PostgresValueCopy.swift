#if PostgreSQL
  import DriftlessProtocol
  import DriftlessSQLite
  import Foundation

  /// Large values of a zone on their way from one kind of database to the other, a piece in memory at a time. What replicas have
  /// sent of values that are not whole is left out: they send it again.
  enum PostgresValueCopy {
    /// - Parameters:
    ///   - zone: its number in PostgreSQL.
    ///   - id: its number in the file.
    static func out(
      of source: PostgresConnection, zone: Int64, into copy: SQLiteConnection, as id: Int64
    ) throws {
      var last = Data()
      while true {
        let rows = try source.run(
          """
          SELECT digest, id, token, length, lease_ms FROM value
          WHERE zone = $1 AND digest > $2 AND replica = ''::bytea
          ORDER BY digest LIMIT \(PostgresCopy.pageRows)
          """, .integer(zone), .blob(last))
        guard rows.count > 0 else { break }
        for row in 0..<rows.count {
          last = rows.data(row, 0)
          guard let value = rows.uuid(row, 1) else { continue }
          let number = try LargeValues.insertWhole(
            digest: last, zone: id, token: rows.text(row, 2), length: rows.int64(row, 3),
            leaseMilliseconds: rows.int64(row, 4), on: copy)
          var first = 0
          while true {
            let bytes = try PostgresLargeValues.piece(
              of: value, first: first, zone: zone, on: source)
            guard !bytes.isEmpty else { break }
            try LargeValues.add(bytes, at: first, of: number, on: copy)
            first += bytes.count
          }
        }
      }
      try usesOut(of: source, zone: zone, into: copy, as: id)
      let lost = try source.run(
        "SELECT digest, length FROM value_lost WHERE zone = $1", .integer(zone))
      for row in 0..<lost.count {
        guard let value = LargeValue(digest: lost.data(row, 0), length: lost.uint64(row, 1))
        else { continue }
        try LargeValues.noteLost(value, zone: id, on: copy)
      }
    }

    private static func usesOut(
      of source: PostgresConnection, zone: Int64, into copy: SQLiteConnection, as id: Int64
    ) throws {
      var last = (digest: Data(), sequence: Int64(-1))
      while true {
        let rows = try source.run(
          """
          SELECT digest, sequence FROM value_use WHERE zone = $1 AND (digest, sequence) > ($2, $3)
          ORDER BY digest, sequence LIMIT \(PostgresCopy.pageRows)
          """, .integer(zone), .blob(last.digest), .integer(last.sequence))
        guard rows.count > 0 else { return }
        for row in 0..<rows.count {
          last = (rows.data(row, 0), rows.int64(row, 1))
          try LargeValues.noteUse(last.digest, at: last.sequence, zone: id, on: copy)
        }
      }
    }

    /// - Parameters:
    ///   - id: its number in PostgreSQL.
    ///   - zone: its number in the file.
    static func into(
      _ copy: PostgresConnection, as id: Int64, zone: Int64, of source: SQLiteConnection
    ) throws {
      let values = try source.prepareUncached(
        """
        SELECT id, digest, token, length, lease_ms FROM value WHERE zone = ? AND replica = x''
        """)
      values.bind(zone, at: 1)
      while try values.step() {
        let number = values.int64(0)
        let value = UUID()
        var held = 0
        while true {
          let bytes = try LargeValues.piece(of: number, first: held, on: source)
          guard !bytes.isEmpty else { break }
          try PostgresLargeValues.add(bytes, at: held, of: value, zone: id, on: copy)
          held += bytes.count
        }
        try copy.run(
          """
          INSERT INTO value(zone, id, digest, replica, token, length, held, lease_ms)
          VALUES($1, $2, $3, ''::bytea, $4, $5, $6, $7)
          """, .integer(id), .uuid(value), .blob(values.data(1)), .text(values.string(2)),
          .integer(values.int64(3)), .integer(Int64(held)), .integer(values.int64(4)))
      }
      let uses = try source.prepareUncached("SELECT digest, sequence FROM value_use WHERE zone = ?")
      uses.bind(zone, at: 1)
      var page: [(digest: Data, sequence: Int64)] = []
      while try uses.step() {
        page.append((uses.data(0), uses.int64(1)))
        guard page.count == PostgresCopy.pageRows else { continue }
        try PostgresLargeValues.insert(page, zone: id, on: copy)
        page = []
      }
      try PostgresLargeValues.insert(page, zone: id, on: copy)
      try lostInto(copy, as: id, zone: zone, of: source)
    }

    private static func lostInto(
      _ copy: PostgresConnection, as id: Int64, zone: Int64, of source: SQLiteConnection
    ) throws {
      var last = Data()
      while true {
        let lost = try LargeValues.lost(
          of: zone, after: last, countMax: PostgresCopy.pageRows, on: source)
        guard let end = lost.last else { return }
        try PostgresLargeValues.noteLost(lost, zone: id, on: copy)
        last = end.digest
      }
    }
  }
#endif
