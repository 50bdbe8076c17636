import Driftless
import DriftlessSQLite

/// References of the zone's log whose target is deleted (`ZDL_DANGLING`).
///
/// A reference to a deleted object reads as null, and comes back when an edit that wins brings the
/// object back. So what a replica shows depends on the log alone, not on when it heard of the
/// delete.
struct DanglingReferences {
  struct Source: Hashable {
    var key: ObjectKey
    var property: String
  }

  private let connection: SQLiteConnection
  /// Whether there may be any: most stores never have one, and then nothing is asked.
  private var mayHaveAny: Bool

  init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    mayHaveAny = try connection.number("SELECT EXISTS (SELECT 1 FROM ZDL_DANGLING)") != 0
  }

  /// - Parameter root: the target's root entity.
  mutating func add(_ source: Source, root: Int32, target: Int64) throws {
    mayHaveAny = true
    try connection.perform(
      "INSERT OR IGNORE INTO ZDL_DANGLING VALUES (?, ?, ?, ?, ?)",
      [
        .integer(Int64(root)), .integer(target), .integer(Int64(source.key.entity)),
        .integer(source.key.key), .text(source.property),
      ])
  }

  /// Forgets what a property referred to: it has a new value.
  func removeAll(of source: Source) throws {
    guard mayHaveAny else { return }
    try connection.perform(
      "DELETE FROM ZDL_DANGLING WHERE entity = ? AND key = ? AND property = ?",
      [
        .integer(Int64(source.key.entity)), .integer(source.key.key), .text(source.property),
      ])
  }

  /// Forgets one element of a to-many relationship.
  func remove(_ source: Source, root: Int32, target: Int64) throws {
    guard mayHaveAny else { return }
    try connection.perform(
      """
      DELETE FROM ZDL_DANGLING
      WHERE target_root = ? AND target_key = ? AND entity = ? AND key = ? AND property = ?
      """,
      [
        .integer(Int64(root)), .integer(target), .integer(Int64(source.key.entity)),
        .integer(source.key.key), .text(source.property),
      ])
  }

  /// Everything that refers to the object, which lives again; and forgets it.
  func take(root: Int32, target: Int64) throws -> [Source] {
    guard mayHaveAny else { return [] }
    let object: [SQLiteValue] = [.integer(Int64(root)), .integer(target)]
    var sources: [Source] = []
    try connection.forEachRow(
      """
      SELECT entity, key, property FROM ZDL_DANGLING WHERE target_root = ? AND target_key = ?
      ORDER BY entity, key, property
      """, object
    ) { row in
      sources.append(
        Source(
          key: ObjectKey(entity: Int32(truncatingIfNeeded: row.int64(0)), key: row.int64(1)),
          property: row.string(2)))
    }
    try connection.perform(
      "DELETE FROM ZDL_DANGLING WHERE target_root = ? AND target_key = ?", object)
    return sources
  }
}
