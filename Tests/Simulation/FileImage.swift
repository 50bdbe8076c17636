import Foundation

/// A database's files as they are at one moment, with nobody writing.
enum FileImage {
  static let suffixes = ["", "-wal", "-driftless-lock", "-driftless-sync"]

  static func take(_ file: URL) throws -> [String: Data] {
    var image: [String: Data] = [:]
    for suffix in suffixes {
      let path = file.path + suffix
      guard FileManager.default.fileExists(atPath: path) else { continue }
      image[suffix] = try Data(contentsOf: URL(fileURLWithPath: path))
    }
    return image
  }

  /// How a copy is put back.
  enum Manner: Sendable {
    /// Into the files that are there, which keep their inodes; locks and marks as in the copy.
    case whole
    /// The same, but what lies beside the database stays as it is.
    case databaseAlone
    /// In the place of files that were removed.
    case newFiles
  }

  static func put(_ image: [String: Data], at file: URL, _ manner: Manner = .whole) throws {
    for suffix in suffixes + ["-shm"] {
      if manner == .databaseAlone, suffix.hasPrefix("-driftless") { continue }
      let path = file.path + suffix
      if manner == .newFiles || image[suffix] == nil, FileManager.default.fileExists(atPath: path) {
        try FileManager.default.removeItem(atPath: path)
      }
      if let data = image[suffix] { try data.write(to: URL(fileURLWithPath: path)) }
    }
  }
}
