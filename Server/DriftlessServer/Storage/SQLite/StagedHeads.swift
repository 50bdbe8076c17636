import Crypto
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Owns the table `staged_head`: of parts that wait what is asked of them without their bytes. SQLite reads a frame as a whole, however
/// little of it is wanted.
///
/// A part that a program of before has kept has no row here. Its header is read of its frame, and it is no candidate for another one's
/// header.
enum StagedHeads {
  /// The trigger: whoever takes a part away, a program of before too, takes this row as well.
  static let statement = """
    CREATE TABLE IF NOT EXISTS staged_head(
      replica BLOB NOT NULL, number INTEGER NOT NULL, part INTEGER NOT NULL,
      size INTEGER NOT NULL, body_hash BLOB NOT NULL, header BLOB NOT NULL,
      PRIMARY KEY(replica, number, part)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS staged_head_body ON staged_head(replica, size, body_hash);
    CREATE TRIGGER IF NOT EXISTS staged_gone AFTER DELETE ON staged BEGIN
      DELETE FROM staged_head
      WHERE replica = OLD.replica AND number = OLD.number AND part = OLD.part;
    END
    """

  /// What is told of a frame's body.
  static func hash(of part: Push) -> Data {
    Data(SHA256.hash(data: part.frame.dropFirst(ChangeSetHeader.size)))
  }

  /// In a statement over `staged`: the header of the row's frame. The frame is read where it is not here alone.
  static let header = """
    coalesce((SELECT header FROM staged_head AS head WHERE head.replica = staged.replica
      AND head.number = staged.number AND head.part = staged.part),
      substr(staged.frame, 1, \(ChangeSetHeader.size)))
    """

  static func keep(
    _ part: Push, _ header: ChangeSetHeader, hash: Data, on connection: SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT OR REPLACE INTO staged_head VALUES(?, ?, ?, ?, ?, ?)", .blob(part.replica.bytes),
      .integer(Int64(clamping: part.number)), .integer(Int64(header.part)),
      .integer(Int64(part.frame.count)), .blob(hash),
      .blob(Data(part.frame.prefix(ChangeSetHeader.size))))
  }

  /// Numbers and parts of those that may have the body of a header: of the same size, the same part of the newest pushes first.
  static func candidates(
    for header: ChangeSetHeader, on connection: SQLiteConnection
  ) throws -> [(Int64, Int64)] {
    let statement = try connection.prepare(
      """
      SELECT number, part FROM staged_head WHERE replica = ? AND size = ?
      ORDER BY part = ? DESC, number DESC LIMIT \(StagedCandidates.countMax)
      """)
    defer { statement.reset() }
    statement.bind([
      .blob(header.replica.bytes), .integer(Int64(header.frameSize)), .integer(Int64(header.part)),
    ])
    var found: [(Int64, Int64)] = []
    while try statement.step() { found.append((statement.int64(0), statement.int64(1))) }
    return found
  }

  /// Lets go of the same bytes under former numbers.
  ///
  /// - Returns: how many parts went.
  static func dropFormer(
    of part: Push, hash: Data, on connection: SQLiteConnection
  ) throws -> Int {
    try connection.leavingPages {
      try connection.run(
        """
        DELETE FROM staged WHERE rowid IN (
          SELECT staged.rowid FROM staged_head AS head JOIN staged ON staged.replica = head.replica
            AND staged.number = head.number AND staged.part = head.part
          WHERE head.replica = ?1 AND head.size = ?2 AND head.body_hash = ?3 AND head.number < ?4)
        """, .blob(part.replica.bytes), .integer(Int64(part.frame.count)), .blob(hash),
        .integer(Int64(clamping: part.number)))
      return connection.changes
    }
  }
}
