import DriftlessSQLite
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

extension Backup {
  /// The database that a backup takes the place of, as far as it can be read.
  struct Former {
    private let folder: DataFolder
    private(set) var zones: [ZoneRecord] = []
    private var tokens: [TokenRecord] = []
    private var given: Int64 = 0
    private let isThere: Bool

    init(_ folder: DataFolder) throws {
      self.folder = folder
      isThere = access(folder.database.path, F_OK) == 0
      guard isThere else { return }
      // One that cannot be read is why there is a backup.
      guard
        let connection = try? SQLiteConnection(path: folder.database.path, mode: .readWrite)
      else { return }
      defer { connection.close() }
      // Nothing of it is to be in its log alone. Nobody else has the file, so this harms nobody.
      try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      guard (try? ServerSchema.apply(to: connection)) != nil else { return }
      zones = (try? connection.zones()) ?? []
      tokens = (try? connection.tokens()) ?? []
      given = (try? GivenTimes.last(connection)) ?? 0
    }

    /// Writes tokens and the server's time into the copy that takes the place.
    ///
    /// - Returns: how many tokens the copy did not have so.
    func carryOver(to file: URL) throws -> Int {
      let connection = try SQLiteConnection(path: file.path, mode: .readWrite)
      defer { connection.close() }
      try connection.execute("PRAGMA synchronous=FULL")
      return try connection.transaction(.immediate) {
        for statement in [GivenTimes.statement, TokenNotes.statement, Sightings.statement] {
          try connection.execute(statement)
        }
        if given > 0 { try GivenTimes.keep(given, on: connection) }
        let restored = try connection.zones()
        var kept = 0
        for token in tokens {
          guard let id = zones.first(where: { $0.id == token.zoneID })?.zoneID,
            let zone = restored.first(where: { $0.zoneID == id })
          else { continue }
          let same = try connection.token(id: token.id)
          if let same, same.revokedMilliseconds == token.revokedMilliseconds,
            same.expiresMilliseconds == token.expiresMilliseconds, same.name == token.name
          {
            continue
          }
          kept += 1
          try connection.run(
            "INSERT OR REPLACE INTO token VALUES(?, ?, ?, ?, ?, ?)", .text(token.id),
            .blob(token.hash), .integer(zone.id), .integer(token.verbs.rawValue),
            .integer(token.createdMilliseconds),
            token.revokedMilliseconds.map { .integer($0) } ?? .null)
          try TokenNotes.set(
            token.id, name: token.name, expiresMilliseconds: token.expiresMilliseconds,
            on: connection)
        }
        return kept
      }
    }

    /// Gives the database and its log another name, beside the one that takes its place.
    func moveAside(at now: Date) throws -> URL? {
      guard isThere else { return nil }
      var aside = folder.database
      var number = Int(now.timeIntervalSince1970)
      repeat {
        aside = folder.url.appendingPathComponent("driftless.sqlite.before-restore-\(number)")
        number += 1
      } while access(aside.path, F_OK) == 0
      // A log that stayed would be taken for that of the database that comes.
      for suffix in ["", "-wal"] {
        let from = folder.database.path + suffix
        guard access(from, F_OK) == 0 else { continue }
        guard link(from, aside.path + suffix) == 0 else {
          throw ServerError(
            .folder, "cannot keep \(from): \(String(cString: strerror(errno)))",
            suggestion: "Nothing was changed. Check that this user may write the folder.")
        }
      }
      for suffix in ["-wal", "-shm"] { unlink(folder.database.path + suffix) }
      return aside
    }
  }
}
