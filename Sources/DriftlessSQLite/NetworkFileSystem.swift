package import Foundation

/// A file system on another host's disk: SQLite's locks, its write-ahead log and what is written for good are that host's word.
package enum NetworkFileSystem {
  private static let types: Set<String> = [
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "lustre", "gpfs", "glusterfs",
    "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.s3fs",
  ]

  /// The type of the one that a path is on; nil where it is on this host's own.
  package static func type(of url: URL) -> String? {
    type(
      of: url.resolvingSymlinksInPath().path,
      mounts: SystemFile.text("/proc/self/mountinfo") ?? "")
  }

  /// - Parameters:
  ///   - path: without links.
  ///   - mounts: what `/proc/self/mountinfo` says.
  package static func type(of path: String, mounts: String) -> String? {
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
    return best.flatMap { types.contains($0.type) ? $0.type : nil }
  }
}
