import Driftless
import DriftlessSQLite
import Foundation
import Glibc
import SyncDaemon

extension DoctorCheck {
  /// What can be told of a store's files without opening it: place, rights, locks, room. Of what is no plain file nothing is
  /// advised: who opens it says what it is.
  static func files(of store: URL) -> [DoctorCheck] {
    var status = stat()
    guard stat(store.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return [] }
    let odd = sideFiles(of: store)
    // What is no plain file is not read.
    let lock = odd.isEmpty ? [lock(of: store)] : []
    return odd + (mayBeStore(store) ? [rights(of: store)] : []) + [place(of: store)] + lock
      + [room(for: store), log(of: store)]
  }

  /// What lies beside the store and cannot be used: one check each.
  static func sideFiles(of store: URL) -> [DoctorCheck] {
    let paths =
      StoreSideFile.suffixes.map { store.path + $0 }
      + [
        TokenFile.url, AuthorityFile.url, ClientCertificateFile.url, KeyFile.url, DaemonMark.url,
      ].map {
        $0(store).path
      }
    return paths.compactMap { path in
      StoreSideFile.failure(at: path)
        ?? StoreSideFile.rightsFailure(at: path, beside: store.path)
    }.map { DoctorCheck("beside", .bad, Failure($0)) }
  }

  private static func bytes(_ path: String) -> Int {
    let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
    return size?.intValue ?? 0
  }

  /// Whether a file is a database, or cannot be read: no rights are advised for any other.
  private static func mayBeStore(_ store: URL) -> Bool {
    PersistentStore.isDatabase(store) ?? true
  }

  static func rights(of store: URL) -> DoctorCheck {
    let folder = store.deletingLastPathComponent().path
    guard access(store.path, R_OK | W_OK) == 0 else {
      return DoctorCheck("rights", .bad, Failure(StoreSideFile.writeFailure(at: store.path, errno)))
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      return DoctorCheck(
        "rights", .bad, "this user may not make files in \(folder), where the log lies: chmod it")
    }
    var status = stat()
    guard stat(store.path, &status) == 0 else { return DoctorCheck("rights", .bad, "no file") }
    let mode = String(status.st_mode & 0o777, radix: 8)
    if status.st_mode & 0o007 != 0 {
      return DoctorCheck(
        "rights", .note, "every user of this host can open the store: chmod 600 \(store.path)")
    }
    return DoctorCheck("rights", .good, "mode \(mode)")
  }

  /// Locks of several hosts on one file are not to be relied on.
  static func place(of store: URL) -> DoctorCheck {
    if let type = NetworkFileSystem.type(of: store) {
      return DoctorCheck(
        "place", .bad, "the store lies on \(type), where locks fail: move it to a local disk")
    }
    return DoctorCheck("place", .good, "a local file system")
  }

  static func lock(of store: URL) -> DoctorCheck {
    let text = try? String(contentsOfFile: store.path + "-driftless-sync", encoding: .utf8)
    let holder = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    guard let number = Int32(holder), kill(number, 0) == 0 || errno == EPERM else {
      return DoctorCheck("lock", .good, "nobody syncs the store now")
    }
    let name = try? String(contentsOfFile: "/proc/\(number)/comm", encoding: .utf8)
    return DoctorCheck(
      "lock", .good,
      "process \(number) (\(name?.trimmingCharacters(in: .newlines) ?? "?")) syncs the store")
  }

  static func room(for store: URL) -> DoctorCheck {
    guard let room = DiskRoom.beside(store) else {
      return DoctorCheck("room", .note, "the free space cannot be told")
    }
    let (free, size) = (room.free, bytes(store.path))
    // Sync leaves the reserve to saves.
    if free <= room.reserve {
      return DoctorCheck(
        "room", .bad,
        "\(free >> 10) KiB are free: free some, or sync takes nothing in and saves will fail")
    }
    if free < 64 << 20 {
      return DoctorCheck("room", .note, "\(free >> 20) MiB are free")
    }
    if free < size {
      return DoctorCheck(
        "room", .note, "\(free >> 20) MiB are free, too few for a vacuum of \(size >> 20) MiB")
    }
    return DoctorCheck("room", .good, "\(free >> 20) MiB free")
  }

  static func log(of store: URL) -> DoctorCheck {
    let size = bytes(store.path + "-wal")
    guard size > 256 << 20 else { return DoctorCheck("log", .good, "\(size) bytes") }
    return DoctorCheck(
      "log", .note,
      "\(size >> 20) MiB: a process reads an old state for long, or ended without closing; "
        + "syncctl store vacuum \(store.path)")
  }
}
