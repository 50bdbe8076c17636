import DriftlessProtocol
import Foundation

/// What a file system has free, asked before something large is begun there: pushes need the room as well.
enum DiskSpace {
  /// Bytes; nil where the file system does not say.
  static func free(at folder: URL) -> Int? {
    var status = statvfs()
    guard statvfs(folder.path, &status) == 0 else { return nil }
    return Int(
      clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        .partialValue)
  }

  /// - Parameters:
  ///   - bytes: what is written at most, about.
  ///   - free: what there is room for; nil where that is not known.
  ///   - what: as the beginning of a sentence.
  /// - Throws: `ServerError` (`.diskFull`), before anything was written.
  static func require(_ bytes: Int, of free: Int?, at folder: URL, for what: String) throws {
    guard let free, free < bytes else { return }
    throw ServerError(
      .diskFull,
      "\(what) may take \(bytes) bytes, and there is room for \(free) on the file system of \(folder.path); nothing was begun",
      suggestion: "Make room there, then say the command again.")
  }
}
