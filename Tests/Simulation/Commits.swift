import CSQLite
import Driftless
import Foundation

@testable import DriftlessSQLite
@testable import DriftlessSync

/// The end of a process between two commits: the files as they were after one of them are what is opened again.
extension Host {
  /// Counts commits of the store's writer down, and copies the files once.
  final class CommitCount {
    var left: Int
    let file: URL
    let take: ([String: Data]) -> Void

    init(left: Int, file: URL, take: @escaping ([String: Data]) -> Void) {
      self.left = left
      self.file = file
      self.take = take
    }

    func commit() {
      defer { left -= 1 }
      guard left == 0, let image = try? FileImage.take(file) else { return }
      take(image)
    }
  }

  /// - Parameter take: gets the files as they are after so many commits.
  func endAfterCommits(_ count: Int, take: @escaping ([String: Data]) -> Void) throws {
    let commits = CommitCount(left: count, file: file, take: take)
    self.commits = commits
    // The commit of the note that this write leaves is counted too.
    commits.left += 1
    _ = try store.write(TransactionInfo(author: "end", kind: .imported)) {
      sqlite3_wal_hook(
        $0.connection.handle,
        { context, _, _, _ in
          guard let context else { return SQLITE_OK }
          Unmanaged<CommitCount>.fromOpaque(context).takeUnretainedValue().commit()
          return SQLITE_OK
        }, Unmanaged.passUnretained(commits).toOpaque())
    }
  }

  func endsAfterNone() {
    guard commits != nil else { return }
    _ = try? store.write(TransactionInfo(author: "end", kind: .imported)) {
      sqlite3_wal_hook($0.connection.handle, nil, nil)
    }
    commits = nil
  }
}
