import CSQLite
import Foundation
import Synchronization

/// Makes the n-th write fail, or the process end in it. For SQLite's writes its own door for system calls is used; for the
/// files beside the store, and for waiting for the disk, see `FileCalls.swift`.
enum WriteFault {
  enum Kind: String {
    /// The process ends before the write.
    case kill
    /// Half of the bytes are written, and the process ends.
    case torn
    /// The disk is full for this write and all that follow.
    case full
    /// This write and all that follow fail.
    case broken
    /// The process stops before the write, until it is told to go on.
    case stop
    /// From the n-th wait for the disk on, the disk says that it lost what it was given.
    case unsynced
  }

  private struct State {
    var kind = Kind.kill
    var left = Int.max
  }

  private static let state = Mutex(State())

  /// The status of a process that ended here.
  static let status: Int32 = 99

  /// - Parameter number: which write fails, 1 being the next.
  static func arm(_ kind: Kind, at number: Int) {
    state.withLock { $0 = State(kind: kind, left: number) }
    guard let system = sqlite3_vfs_find(nil), let set = system.pointee.xSetSystemCall else {
      return
    }
    let write: @convention(c) (Int32, UnsafeRawPointer?, Int, Int64) -> Int = {
      file, bytes, count, place in
      if let kind = WriteFault.next() {
        switch kind {
        case .kill: quick_exit(WriteFault.status)
        case .torn:
          pwrite(file, bytes, count / 2, off_t(place))
          quick_exit(WriteFault.status)
        case .full:
          errno = ENOSPC
          return -1
        case .broken:
          errno = EIO
          return -1
        case .stop: raise(SIGSTOP)
        case .unsynced: break
        }
      }
      return pwrite(file, bytes, count, off_t(place))
    }
    let truncate: @convention(c) (Int32, Int64) -> Int32 = { file, size in
      if WriteFault.next(isKilling: true) != nil { quick_exit(WriteFault.status) }
      return ftruncate(file, off_t(size))
    }
    let remove: @convention(c) (UnsafePointer<CChar>?) -> Int32 = { path in
      if WriteFault.next(isKilling: true) != nil { quick_exit(WriteFault.status) }
      return path.map { unlink($0) } ?? -1
    }
    for name in ["pwrite", "pwrite64"] {
      _ = set(system, name, unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
    }
    _ = set(system, "ftruncate", unsafeBitCast(truncate, to: sqlite3_syscall_ptr.self))
    _ = set(system, "unlink", unsafeBitCast(remove, to: sqlite3_syscall_ptr.self))
  }

  static func disarm() { state.withLock { $0.left = .max } }

  /// What a wait for the disk says when the fault is due.
  static func sync() -> Int32? {
    guard next(isSync: true) != nil else { return nil }
    errno = EIO
    return -1
  }

  /// The fault, when it is due. Faults that end the process also come at other steps that change files.
  static func next(isKilling: Bool = false, isSync: Bool = false) -> Kind? {
    state.withLock { state in
      if (state.kind == .unsynced) != isSync { return nil }
      if isKilling, state.kind != .kill, state.kind != .torn { return nil }
      guard state.left != .max else { return nil }
      state.left -= 1
      guard state.left <= 0 else { return nil }
      // Gone on, it is left alone.
      if state.kind == .stop { state.left = .max }
      return state.kind
    }
  }
}
