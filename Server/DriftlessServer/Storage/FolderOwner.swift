package import Foundation

#if canImport(Glibc)
  import Glibc
#endif

extension DataFolder {
  /// Gives what root made in a data folder to the user whose folder it is: the server, which is that user, could not open it.
  ///
  /// Only what has a name of a server's own, and no file that has another name elsewhere.
  package static func giveToOwner(_ url: URL) {
    var owner = stat()
    guard geteuid() == 0, stat(url.path, &owner) == 0, owner.st_uid != 0 else { return }
    func give(_ path: String) {
      var status = stat()
      guard lstat(path, &status) == 0, status.st_uid == 0 else { return }
      let kind = status.st_mode & S_IFMT
      guard kind == S_IFDIR || kind == S_IFREG && status.st_nlink == 1 else { return }
      lchown(path, owner.st_uid, owner.st_gid)
    }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
    for name in names
    where name.hasPrefix("driftless.sqlite")
      || ["serve.lock", "write.lock", DataFolder.waitLockName, DiskReserve.name].contains(name)
    {
      give(url.appendingPathComponent(name).path)
    }
    let snapshots = url.appendingPathComponent("snapshots")
    guard let inner = FileManager.default.enumerator(atPath: snapshots.path) else { return }
    give(snapshots.path)
    while let name = inner.nextObject() as? String {
      give(snapshots.appendingPathComponent(name).path)
    }
  }
}
