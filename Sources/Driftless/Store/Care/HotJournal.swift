import DriftlessSQLite
import Foundation

/// A rollback journal whose program was killed in the middle of a transaction: SQLite plays it back into the file before it
/// reads anything, and a connection that only reads may not do that.
enum HotJournal {
  /// Brings the file back to before the transaction that was not finished, where this process may write it. Somebody else's
  /// transaction that goes on is left alone.
  static func playBack(_ url: URL, busyTimeoutMilliseconds: Int32) {
    guard FileNumber.size(of: url.path + "-journal") ?? 0 > 0, access(url.path, W_OK) == 0,
      let connection = try? SQLiteConnection(
        path: url.path, mode: .readWrite, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
    else { return }
    // What is wrong beyond that is said to whoever reads.
    _ = try? connection.scalar("SELECT count(*) FROM sqlite_master")
    connection.close()
  }
}
