import Foundation

/// The folder of a store's file.
enum StoreFolder {
  /// Makes the folder of a file, with those above it that are missing, for this user alone, as the file is; and waits until
  /// they are on the disk: a store that is not found after a power cut has lost what it had acknowledged.
  ///
  /// - Throws: `StoreError` that names the folder.
  static func make(for file: URL) throws {
    var missing: [URL] = []
    var folder = file.standardizedFileURL.deletingLastPathComponent()
    var status = stat()
    while folder.path != "/", stat(folder.path, &status) != 0, errno == ENOENT {
      missing.append(folder)
      folder = folder.deletingLastPathComponent()
    }
    for folder in missing.reversed() {
      // Another process may have made it meanwhile.
      guard mkdir(folder.path, 0o700) == 0 || errno == EEXIST else {
        throw failure(errno, folder, of: file)
      }
      try NewFile.synchronize(folder.deletingLastPathComponent())
    }
  }

  private static func failure(_ number: Int32, _ folder: URL, of file: URL) -> StoreError {
    let reason = String(cString: strerror(number))
    let message = "\(file.path) cannot be made: its folder \(folder.path) cannot: \(reason)."
    guard number == ENOSPC || number == EDQUOT else {
      return StoreError(
        .cannotOpen, message,
        suggestion: "Give this process the right to write the folder above it, or choose another.")
    }
    return StoreError(
      .diskFull, message, suggestion: "Make room on the file system, and open the store again.")
  }
}
