import Foundation

/// The calls by which large values get beside the store, and by which anything waits for the disk: a definition in the
/// program comes before the C library's, for SQLite's calls as well.
private enum Real {
  typealias OfFile = @convention(c) (Int32) -> Int32
  typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int
  typealias Unlink = @convention(c) (UnsafePointer<CChar>?) -> Int32

  static let fsync = function("fsync", as: OfFile.self)
  static let fdatasync = function("fdatasync", as: OfFile.self)
  static let write = function("write", as: Write.self)
  static let unlink = function("unlink", as: Unlink.self)

  private static func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    // RTLD_NEXT: the one that this program's own stands before.
    dlsym(UnsafeMutableRawPointer(bitPattern: -1), name).map { unsafeBitCast($0, to: type) }
  }
}

@_cdecl("fsync")
public func probeFsync(_ file: Int32) -> Int32 { WriteFault.sync() ?? Real.fsync?(file) ?? -1 }

@_cdecl("fdatasync")
public func probeFdatasync(_ file: Int32) -> Int32 {
  WriteFault.sync() ?? Real.fdatasync?(file) ?? -1
}

@_cdecl("write")
public func probeWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  // What the process prints is no write of the store.
  guard file > 2, let kind = WriteFault.next() else { return Real.write?(file, bytes, count) ?? -1 }
  switch kind {
  case .kill: quick_exit(WriteFault.status)
  case .torn:
    _ = Real.write?(file, bytes, count / 2)
    quick_exit(WriteFault.status)
  case .full: errno = ENOSPC
  case .broken: errno = EIO
  case .stop:
    raise(SIGSTOP)
    return Real.write?(file, bytes, count) ?? -1
  case .unsynced: return Real.write?(file, bytes, count) ?? -1
  }
  return -1
}

@_cdecl("unlink")
public func probeUnlink(_ path: UnsafePointer<CChar>?) -> Int32 {
  if WriteFault.next(isKilling: true) != nil { quick_exit(WriteFault.status) }
  return Real.unlink?(path) ?? -1
}
