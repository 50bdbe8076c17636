import Foundation

extension DataFolder {
  /// File systems of other hosts: locks and syncs there are another host's word.
  private static let networks: Set<String> = [
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "lustre", "gpfs", "glusterfs",
    "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.s3fs",
  ]

  /// The type of the network's file system that a path is on; nil where it is on this host's own.
  ///
  /// - Parameters:
  ///   - path: without links.
  ///   - mounts: what `/proc/self/mountinfo` says.
  package static func network(of path: String, mounts: String) -> String? {
    var best: (point: String, type: String)?
    for line in mounts.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 6, let end = fields.firstIndex(of: "-"), end + 1 < fields.count else {
        continue
      }
      let point = fields[4].replacing("\\040", with: " ")
      let isAbove = point == "/" || path == point || path.hasPrefix(point + "/")
      // What was mounted last over one point is what is seen.
      guard isAbove, point.count >= best?.point.count ?? 0 else { continue }
      best = (String(point), String(fields[end + 1]))
    }
    return best.flatMap { networks.contains($0.type) ? $0.type : nil }
  }

  /// What is said of a folder on another host's disk; nil for one on this host's own.
  var networkNote: String? {
    let mounts = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
    let path = url.resolvingSymlinksInPath().path
    return Self.network(of: path, mounts: mounts).map { Self.networkNote(url.path, $0) }
  }

  package static func networkNote(_ path: String, _ type: String) -> String {
    "\(path) is on a network's file system (\(type)): SQLite's locks and write-ahead log are not safe "
      + "there. Put the data folder on a disk of this host, or serve PostgreSQL"
  }
}
