import Foundation
import Synchronization

/// The right to sync a store: one process, one engine. It ends when this goes.
///
/// It is a lock on a file beside the store, which says whose it is, and a claim that lies in no folder (``StoreClaim``): who
/// tidies the folder takes the file away, and the lock of a file without a name keeps nobody out.
package final class SyncLock: Sendable {
  private static let suffix = "-driftless-sync"

  private let lock: Mutex<FileLock>
  private let claim: StoreClaim?
  /// The store's file, as it was when the lock was taken.
  private let file: FileNumber?
  private let storePath: String

  /// - Parameters:
  ///   - path: That of the lock's file.
  ///   - milliseconds: How long it waits for who has it.
  init(path: String, milliseconds: Int32 = 0) throws {
    storePath = path.hasSuffix(Self.suffix) ? String(path.dropLast(Self.suffix.count)) : path
    file = FileNumber(of: storePath)
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    while true {
      switch try Self.attempt(path, file, storePath) {
      case .held(let lock, let claim):
        self.claim = claim
        self.lock = Mutex(lock)
        return
      case .taken(let holder):
        guard ContinuousClock.now < end else { throw Self.taken(by: holder) }
        usleep(10_000)
      case .removed: continue
      }
    }
  }

  private enum Attempt {
    case held(FileLock, StoreClaim?)
    case taken(by: String)
    /// Somebody removed the file between its opening and the lock.
    case removed
  }

  private static func attempt(
    _ path: String, _ file: FileNumber?, _ storePath: String
  ) throws -> Attempt {
    // Kept only once it is held: what it says is the holder's.
    let candidate = try FileLock(path: path)
    guard candidate.tryLock() else {
      return .taken(by: candidate.content.trimmingCharacters(in: .whitespacesAndNewlines))
    }
    guard candidate.isInPlace else { return .removed }
    var claim: StoreClaim?
    if let file {
      switch StoreClaim.take(file, at: storePath, owner: owner(of: storePath)) {
      case .held(let held): claim = held
      case .taken(let process):
        candidate.unlock()
        return .taken(by: process.map { "\($0)" } ?? "")
      case .unavailable: break
      }
    }
    candidate.write("\(getpid())\n")
    return .held(candidate, claim)
  }

  private static func owner(of path: String) -> UInt32? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_uid : nil
  }

  private static func taken(by holder: String) -> StoreError {
    guard holder != "\(getpid())" else {
      return StoreError(
        .syncLocked,
        "This process, \(holder), syncs the store, or one whose files lay at its place before.",
        suggestion: "It lets go of what was moved within seconds: try again.")
    }
    let who = holder.isEmpty ? "Another process" : "Process \(holder)"
    let signal = holder.isEmpty ? "SIGHUP" : "kill -HUP \(holder)"
    return StoreError(
      .syncLocked, "\(who) syncs this store.",
      suggestion: """
        Try again when it has ended. Where it is syncd, take the store out of its configuration and have that read again (\(signal)), \
        then put the store back in the same way; where it keeps no other store, stop it meanwhile.
        """)
  }

  /// Whether nobody else can sync the store. Where the lock's file was removed it is made anew, so that others see whose the
  /// store is.
  package func keep() -> Bool {
    lock.withLock { lock in
      // Of a store that was moved away nothing is made at its former place.
      guard !lock.isInPlace, let file, FileNumber(of: storePath) == file,
        let fresh = try? FileLock(path: lock.path)
      else { return true }
      guard fresh.tryLock() else { return claim != nil }
      fresh.write("\(getpid())\n")
      lock = fresh
      return true
    }
  }

  deinit {
    lock.withLock { lock in
      lock.write("")
      lock.unlock()
    }
  }
}

extension PersistentStore {
  /// The file of the right to sync this store: the same for all paths that lead to its folder.
  package var syncLockPath: String {
    guard let url else {
      return FileManager.default.temporaryDirectory.path + "/driftless-\(identifier)-sync"
    }
    let folder = url.deletingLastPathComponent().resolvingSymlinksInPath()
    return folder.appending(path: url.lastPathComponent).path + "-driftless-sync"
  }

  /// Takes the right to sync this store.
  ///
  /// - Throws: `StoreError` with code `syncLocked`, which names the process that has it.
  package func acquireSyncLock() throws -> SyncLock { try SyncLock(path: syncLockPath) }
}
