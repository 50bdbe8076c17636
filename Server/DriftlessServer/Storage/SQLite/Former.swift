import DriftlessSQLite
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

extension Backup {
  /// The database that a backup takes the place of, row by row as far as it can be read.
  struct Former {
    /// What of it the restored database takes over.
    enum Part: String, CaseIterable {
      case zones, tokens
      case clock = "the server's time"
    }

    private let folder: DataFolder
    private let isThere: Bool
    private(set) var zones: [ZoneRecord] = []
    private(set) var created: [UUID: Int64] = [:]
    private(set) var tokens: [TokenRecord] = []
    /// Nil where they cannot be read, or where there are none to read.
    private(set) var operators: [OperatorRecord]?
    /// Replicas that were forgotten, by their zone's `zoneID`; none for a zone of which that cannot be read.
    private(set) var forgotten: [UUID: Set<UUID>] = [:]
    /// Who did what; nil where it cannot be read, or where there is none to read.
    private(set) var audit: [AuditEvent]?
    /// The last time that the server gave; 0 for none.
    private(set) var given: Int64 = 0
    /// The highest number that a zone has had there, as far as that can be read; 0 for none.
    private(set) var highestNumber: Int64 = 0
    /// What can be read in part, or not at all.
    private(set) var unread: Set<Part> = []
    /// Whether there is one that ever had zones: only then what it does not have was deleted.
    private(set) var knowsZones = false

    /// - Throws: `SQLiteError` for a disk that is full, and where somebody is at the file: that passes.
    init(_ folder: DataFolder) throws {
      self.folder = folder
      isThere = access(folder.database.path, F_OK) == 0
      // One that was begun and not made has nothing yet. SQLite would take one that was emptied for a new one.
      guard isThere, !folder.isDatabaseBegun else { return }
      guard !folder.isDatabaseEmpty else {
        unread = Set(Part.allCases)
        return
      }
      do {
        let connection = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
        defer { connection.close() }
        // Nothing of it is to be in its log alone. Nobody else has the file, so this harms nobody.
        try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        guard try connection.integer("PRAGMA user_version") ?? 0 > 0 else {
          unread = Set(Part.allCases)
          return
        }
        try ServerSchema.apply(to: connection)
        try read(connection)
      } catch let error as SQLiteError where error.isFull || error.isBusy {
        throw error
      } catch {
        // One that cannot be read is why there is a backup.
        unread = Set(Part.allCases)
      }
      knowsZones = !unread.contains(.zones)
    }

    private mutating func read(_ connection: SQLiteConnection) throws {
      for id in try keys("SELECT id FROM zone ORDER BY id", .zones, connection) {
        guard case .integer(let id) = id else { continue }
        if let zone = try row(.zones, { try connection.zone(id: id) }) {
          zones.append(zone)
          // What cannot be read of them stands in nobody's way.
          forgotten[zone.zoneID] = try? ForgottenReplicas.all(of: zone.id, on: connection)
          created[zone.zoneID] = try row(.zones) {
            try connection.integer("SELECT created_ms FROM zone WHERE id = \(id)")
          }
        }
      }
      for id in try keys("SELECT id FROM token ORDER BY id", .tokens, connection) {
        guard case .text(let id) = id else { continue }
        if let token = try row(.tokens, { try connection.token(id: id) }) {
          tokens.append(token)
        } else if unread.contains(.zones) {
          unread.insert(.tokens)
        }
      }
      operators = try row(.tokens) { try OperatorTokens.all(connection) }
      // What cannot be read of it stands in nobody's way: the backup has its beginning.
      audit = try? AuditLog.events(since: 0, on: connection)
      highestNumber = (try? ZoneNumbers.highest(connection)) ?? 0
      given = try row(.clock) { try GivenTimes.last(connection) } ?? 0
    }

    private mutating func keys(
      _ sql: String, _ part: Part, _ connection: SQLiteConnection
    ) throws -> [SQLiteValue] {
      var keys: [SQLiteValue] = []
      _ = try row(part) {
        let statement = try connection.prepareUncached(sql)
        while try statement.step() { keys.append(statement.value(0)) }
        return true
      }
      return keys
    }

    /// What `body` reads; nil, and noted, where it cannot.
    private mutating func row<Value>(_ part: Part, _ body: () throws -> Value?) throws -> Value? {
      do {
        return try body()
      } catch let error as SQLiteError where error.isFull || error.isBusy {
        throw error
      } catch {
        unread.insert(part)
        return nil
      }
    }

    /// Gives the database and its log another name, beside the one that takes its place.
    func moveAside(at now: Date) throws -> URL? {
      var aside = folder.database
      var number = Int(now.timeIntervalSince1970)
      repeat {
        aside = folder.url.appendingPathComponent("driftless.sqlite.before-restore-\(number)")
        number += 1
      } while access(aside.path, F_OK) == 0
      // A log that stayed, also of a database that is gone, would be taken for that of the database that comes.
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
      return isThere ? aside : nil
    }
  }
}
