#if PostgreSQL
  import DriftlessProtocol
  import DriftlessSQLite
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #endif

  extension Backup {
    /// Copies what a PostgreSQL database has, as it is at one moment, into a file as one of a data folder is, and reads all of
    /// the copy. Nodes go on meanwhile.
    ///
    /// Parts of pushes whose last one has not come are left out: replicas send them again.
    ///
    /// - Parameter text: a connection string of libpq.
    /// - Throws: `ServerError`: `.exists` where the file is there already, `.damagedDatabase` where the copy is, since what it
    ///   was made of is then, `.refusedStart`; `SQLiteError`.
    package func make(ofPostgres text: String) throws -> Content {
      guard access(file.path, F_OK) != 0 else { throw exists }
      let part = try BackupPart(of: file)
      defer { part.remove() }
      let administration = try PostgresAdministration(database: text)
      defer { administration.close() }
      do {
        let copy = try SQLiteConnection(path: part.file.path, mode: .readWrite)
        defer { copy.close() }
        try copy.execute("PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL")
        try ServerSchema.apply(to: copy)
        try administration.told {
          try administration.connection.patiently(idles: true) {
            try administration.connection.transaction(.read) {
              try copy.transaction(.immediate) {
                try PostgresCopy.out(of: administration.connection, into: copy)
              }
            }
          }
        }
      } catch var error as SQLiteError {
        error.file = part.file.path
        throw error
      }
      var content = try Self.checked(part.file, named: "the database")
      content.removed = part.removed
      guard try part.takesName(of: file) else { throw exists }
      Self.syncFolder(of: file)
      return content
    }

    /// What was put into a database that had nothing.
    package struct RestoredToPostgres: Sendable {
      package let content: Content
      package let tokensRevoked: Int
    }

    /// Puts the backup into a PostgreSQL database, or a schema of one, that has no zones yet.
    ///
    /// Zones keep their generations: replicas notice that the log is an older one, and bring back what it lacks.
    ///
    /// - Parameter revokesTokens: whether its tokens are revoked: which were revoked since it was made nobody knows here.
    /// - Throws: `ServerError`: `.locked` while a node serves the database, `.exists` where it has zones, `.damagedDatabase`
    ///   for a backup that is, `.refusedStart`.
    package func restore(
      toPostgres text: String, revokesTokens: Bool = false
    ) throws -> RestoredToPostgres {
      try checkIsOneFile()
      // One of an earlier program is brought up to date first; the file itself stays as it is.
      let part = FileManager.default.temporaryDirectory
        .appendingPathComponent("driftless-restore-\(UUID().uuidString)")
      let descriptor = open(part.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw ServerError(
          .folder, "cannot write \(part.path): \(String(cString: strerror(errno)))",
          suggestion: "Name a folder with room for a copy of the backup in TMPDIR.")
      }
      close(descriptor)
      defer { Self.removeDatabase(part) }
      let content = try take(into: part).content
      let administration = try PostgresAdministration(database: text)
      defer { administration.close() }
      let connection = administration.connection
      return try connection.patiently(idles: true) {
        // What is left of deleted zones may have replicas and tokens of the backup.
        while try administration.told({
          try administration.retrying { try PostgresLeavingZones.takeAway(on: connection) }
        }) {}
        return try administration.write {
          guard try PostgresNodes.areNone(connection) else {
            throw ServerError(
              .locked, "a node serves the database",
              suggestion: "Stop all of them first: they would go on from what they have in memory.")
          }
          try Self.checkIsEmpty(connection)
          let source = try SQLiteConnection(path: part.path, mode: .immutable)
          defer { source.close() }
          // Those of zones that were here before.
          for table in ["enrolment_code", "token", "token_binding", "replica_home"] {
            try connection.execute("DELETE FROM \(table)")
          }
          try PostgresCopy.into(connection, of: source)
          try PostgresBounds.notePutBack(on: connection)
          try administration.note(.restored, zone: nil, file.lastPathComponent)
          guard revokesTokens else { return RestoredToPostgres(content: content, tokensRevoked: 0) }
          let revoked = try connection.run(
            "UPDATE token SET revoked_ms = $1 WHERE revoked_ms IS NULL",
            .integer(Administration.hostMilliseconds))
          try connection.run(
            "UPDATE operator_token SET revoked_ms = $1 WHERE revoked_ms IS NULL",
            .integer(Administration.hostMilliseconds))
          return RestoredToPostgres(content: content, tokensRevoked: revoked.changes)
        }
      }
    }

    private static func checkIsEmpty(_ connection: PostgresConnection) throws {
      let names = try connection.zones().map(\.name)
      guard !names.isEmpty else { return }
      throw ServerError(
        .exists, "the database has zones: \(names.prefix(10).joined(separator: ", "))",
        suggestion:
          "Nothing was changed. A backup goes into a database, or a schema, that has none: "
          + "give the one that is there another name (ALTER SCHEMA … RENAME TO …), make a new one "
          + "(CREATE SCHEMA …), and say this again.")
    }
  }
#endif
