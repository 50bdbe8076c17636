package import Foundation

/// Where a store lies, and what lies beside it under its name.
enum StorePath {
  /// What Driftless puts beside a store.
  static let suffixes = ["-driftless-lock", "-driftless-sync", FileIdentity.anchorSuffix]

  /// The file that a path leads to, by however many symbolic links, also where no file is yet.
  ///
  /// The write-ahead log and the locks lie beside the file, under its name: whoever comes by a link has to find the same ones.
  /// A ring of links stays as it is, and cannot be opened.
  static func resolved(_ url: URL) -> URL {
    var present = url
    // As many as the system follows.
    for _ in 0..<40 {
      guard FileStatus(present.path)?.isSymbolicLink == true,
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: present.path)
      else { return present }
      let folder = (present.path as NSString).deletingLastPathComponent
      present = URL(
        fileURLWithPath: target.hasPrefix("/")
          ? target : (folder as NSString).appendingPathComponent(target))
    }
    return url
  }
}

extension PersistentStore {
  /// The file that a path leads to: what lies beside a store lies beside this one.
  package static func resolvedURL(_ url: URL) -> URL { StorePath.resolved(url) }
}
