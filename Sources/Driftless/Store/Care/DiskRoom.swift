package import Foundation

/// What a file system has free. What a program writes for its own keeping leaves a part of that to saves.
package struct DiskRoom: Hashable, Sendable {
  /// Bytes that this user may still write.
  package var free: Int
  /// Bytes that are left to saves.
  package var reserve: Int

  package init(free: Int, reserve: Int) {
    self.free = free
    self.reserve = reserve
  }

  /// Bytes that are left to saves at most; of a small disk it is a twentieth.
  private static let reserveMax = 32 << 20
  private static let reserveShare = 20

  /// Nil where the file system does not say.
  package static func beside(_ file: URL) -> DiskRoom? {
    var status = statvfs()
    guard statvfs(file.deletingLastPathComponent().path, &status) == 0 else { return nil }
    func bytes(_ blocks: UInt) -> Int {
      let (bytes, overflow) = blocks.multipliedReportingOverflow(by: UInt(status.f_frsize))
      return overflow ? .max : Int(clamping: bytes)
    }
    let total = bytes(UInt(status.f_blocks))
    // Some file systems have no bounds of their own.
    guard total > 0 else { return nil }
    return DiskRoom(
      free: bytes(UInt(status.f_bavail)), reserve: min(reserveMax, total / reserveShare))
  }

  /// What the smallest transaction of a sync takes at most: it notes how the sync went.
  package static let smallest = 64 << 10

  /// What it takes at most to open a store that nobody has open, and note something in it: the memory of its log, what the opening
  /// notes, and the note.
  package static let toNote = logIndex + 2 * smallest

  /// SQLite's `-shm` is of pages of so many bytes, of which a short log has one.
  private static let logIndex = 32 << 10

  /// What is to be freed of that on the file system of a file: all of it where that does not say what is free.
  package static func lacking(beside file: URL) -> Int {
    max(smallest, toNote - (beside(file)?.free ?? 0))
  }

  /// Whether not even that has room: then a sync that fails cannot say so in the store.
  package var isFull: Bool { free < Self.smallest }

  /// What the file system of a file has free, as the rest of a sentence; nil where it does not say.
  package static func words(beside file: URL) -> String? {
    beside(file).map {
      "the file system of \(file.deletingLastPathComponent().path) has \($0.free) bytes free"
    }
  }

  /// Whether so many bytes more leave the reserve.
  package func has(_ bytes: Int) -> Bool { free - reserve >= bytes }
}
