import DriftlessProtocol
import Foundation

/// What a file system has free, asked before something large is begun there: pushes need the room as well.
enum DiskSpace {
  /// Bytes; nil where the file system does not say.
  static func free(at folder: URL) -> Int? {
    var status = statvfs()
    guard statvfs(folder.path, &status) == 0 else { return nil }
    return free(
      UInt64(status.f_bavail), of: UInt64(status.f_blocks), bytesPerBlock: UInt64(status.f_frsize))
  }

  /// Bytes of a file; nil where there is none. Asked with each push: what Foundation tells of a file takes it as long as a small
  /// push, since it looks up the names of the file's owners.
  static func bytes(ofFile path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  /// Nil where there are no blocks: such a file system has no bounds of its own, or does not say them, and is not full.
  static func free(_ free: UInt64, of blocks: UInt64, bytesPerBlock: UInt64) -> Int? {
    guard blocks > 0 else { return nil }
    let (bytes, overflow) = free.multipliedReportingOverflow(by: bytesPerBlock)
    return overflow ? .max : Int(clamping: bytes)
  }

  /// - Parameters:
  ///   - bytes: what is written at most, about.
  ///   - free: what there is room for; nil where that is not known.
  ///   - what: as the beginning of a sentence.
  ///   - otherwise: what can be done where there is no room to be had, as a sentence.
  /// - Throws: `ServerError` (`.diskFull`), before anything was written.
  static func require(
    _ bytes: Int, of free: Int?, at folder: URL, for what: String, otherwise: String? = nil
  ) throws {
    guard let free, free < bytes else { return }
    throw ServerError(
      .diskFull,
      "\(what) may take \(bytes) bytes, and there is room for \(free) on the file system of \(folder.path); nothing was begun",
      suggestion: ["Make room there, then say the command again.", otherwise].compactMap(\.self)
        .joined(separator: " "))
  }
}
