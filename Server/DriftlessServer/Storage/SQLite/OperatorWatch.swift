import DriftlessSQLite
import Foundation

/// Notices what operators' commands, in processes of their own, change of zones and tokens while the server runs.
struct OperatorWatch {
  private var version: Int64?
  private var mark: Int?

  /// Whether zones or tokens have changed since the last look. The first look says that nothing has.
  mutating func sees(_ connection: SQLiteConnection) throws -> Bool {
    // Changes with each commit of another connection: of the server's own too.
    let version = try connection.integer("PRAGMA data_version")
    guard version != self.version else { return false }
    self.version = version
    let mark = try Self.mark(connection)
    defer { self.mark = mark }
    return self.mark.map { $0 != mark } ?? false
  }

  private static func mark(_ connection: SQLiteConnection) throws -> Int {
    var hasher = Hasher()
    // What is left of a deleted zone is nobody's news when it goes; nor are its tokens.
    let zones = try connection.prepare(
      "SELECT id, name, generation FROM zone WHERE \(LeavingZones.isThere) ORDER BY id")
    defer { zones.reset() }
    while try zones.step() {
      hasher.combine(zones.int64(0))
      hasher.combine(zones.string(1))
      hasher.combine(zones.data(2))
    }
    let tokens = try connection.prepare(
      """
      SELECT token.id, coalesce(revoked_ms, -1), coalesce(expires_ms, -1)
      FROM token LEFT JOIN token_note ON token_note.id = token.id
      WHERE \(LeavingZones.hasZone("token")) ORDER BY token.id
      """)
    defer { tokens.reset() }
    while try tokens.step() {
      hasher.combine(tokens.string(0))
      hasher.combine(tokens.int64(1))
      hasher.combine(tokens.int64(2))
    }
    return hasher.finalize()
  }
}
