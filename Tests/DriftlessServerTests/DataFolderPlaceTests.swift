import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// A file where a server's folder is meant.
struct DataFolderPlaceTests {
  @Test("A file in the place of the data folder, or on the way to it, is named, with what would do")
  func file() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("data")
    try Data("x".utf8).write(to: file)
    for (url, text) in [
      (file, "\(file.path) is a file"),
      (file.appendingPathComponent("below"), "is a file, and no folder"),
    ] {
      for open in [
        { _ = try DataFolder(url) }, { _ = try DataFolder.toServe(url) },
        { _ = try DataFolder.look(at: url) },
      ] as [() throws -> Void] {
        let error = #expect(throws: ServerError.self) { try open() }
        #expect(error?.message.contains(text) == true, "\(error as Any)")
        #expect(error?.suggestion.hasPrefix("Name a folder") == true)
      }
    }
  }

  #if PostgreSQL
    @Test("What libpq says in several lines is one line")
    func lines() {
      #expect(
        "connection failed: refused\n\tIs the server running?\n".inOneLine
          == "connection failed: refused Is the server running?")
    }
  #endif

  @Test("F70 A folder on a network's file system is told from one of this host's")
  func network() {
    let mounts = #"""
      22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
      30 22 0:40 / /srv rw - nfs4 nas:/srv rw
      31 30 0:41 / /srv/local rw shared:9 master:2 - xfs /dev/sdb1 rw
      32 22 0:42 / /mnt/my\040disk rw - cifs //nas/disk rw
      33 22 0:43 / /home/a/far rw - fuse.sshfs a@b:/ rw
      34 22 0:44 / /twice rw - nfs nas:/twice rw
      35 22 0:45 / /twice rw - tmpfs none rw
      damaged
      """#
    for (path, type) in [
      ("/srv", "nfs4"), ("/srv/data", "nfs4"), ("/srv/local/data", nil), ("/srvx", nil),
      ("/var/lib", nil), ("/mnt/my disk/data", "cifs"), ("/home/a/far/x", "fuse.sshfs"),
      ("/twice/data", nil),
    ] as [(String, String?)] {
      #expect(NetworkFileSystem.type(of: path, mounts: mounts) == type, "\(path)")
    }
    #expect(NetworkFileSystem.type(of: "/srv", mounts: "") == nil)
    #expect(DataFolder.networkNote("/srv/x", "nfs").contains("on a disk of this host"))
  }
}
