import Driftless
import DriftlessSQLite
import Foundation

extension PersistentStore {
  /// What people call the store: its path, or its identifier when it is in memory.
  var label: String { url?.path ?? identifier }

  /// Whether some process holds the store's sync lock. It is asked of the system, so that asking
  /// never takes the lock and a process that was killed does not count.
  var isSyncLocked: Bool {
    if StoreQueue.isLocked(self) { return true }
    // The system hands its list out in pieces, and what changes meanwhile can hide a line.
    return (0..<3).contains { _ in isInSystemLocks }
  }

  private var isInSystemLocks: Bool {
    guard let path = url.map({ $0.path + "-driftless-sync" }),
      let attributes = try? FileManager.default.attributesOfItem(atPath: path),
      let inode = attributes[.systemFileNumber] as? NSNumber,
      let locks = SystemFile.text("/proc/locks")
    else { return false }
    return locks.split(separator: "\n").contains { line in
      line.contains(" FLOCK ") && line.contains(":\(inode.uint64Value) ")
    }
  }
}
