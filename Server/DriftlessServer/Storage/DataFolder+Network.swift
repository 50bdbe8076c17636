import DriftlessSQLite
import Foundation

extension DataFolder {
  /// What is said of a folder on another host's disk; nil for one on this host's own.
  var networkNote: String? {
    NetworkFileSystem.type(of: url).map { Self.networkNote(url.path, $0) }
  }

  package static func networkNote(_ path: String, _ type: String) -> String {
    "\(path) is on a network's file system (\(type)): SQLite's locks and write-ahead log are not safe "
      + "there. Put the data folder on a disk of this host, or serve PostgreSQL"
  }
}
