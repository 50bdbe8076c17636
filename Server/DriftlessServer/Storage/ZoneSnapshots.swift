package import DriftlessProtocol
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The snapshots of a data folder: one folder a zone, named by the zone's UUID. The only one that reads and writes them.
///
/// `snapshot.json` says which files make up the snapshot, `NAME.segment` are those files and the ones of the snapshot before,
/// `fold/` has what a fold that is under way has done, `fold.lock` is held by who folds.
package struct ZoneSnapshots: Sendable {
  private let folder: URL

  package init(_ data: DataFolder) { folder = data.snapshots }

  private func folder(of zone: ZoneRecord) -> URL {
    folder.appendingPathComponent(zone.zoneID.uuidString.lowercased(), isDirectory: true)
  }

  /// The zone's snapshot; nil when there is none of its present generation, or one that cannot be read: the next fold makes
  /// another.
  ///
  /// - Throws: `ServerError`.
  package func snapshot(of zone: ZoneRecord) throws -> Snapshot? {
    do {
      let snapshot = try Snapshot.read(in: folder(of: zone))
      return snapshot?.generation == zone.generation ? snapshot : nil
    } catch {
      guard error.code == .damaged else { throw ServerError(error) }
      return nil
    }
  }

  /// A piece of a file that the zone's snapshot names, or the one before it; nil for any other.
  ///
  /// - Throws: `ServerError`.
  func piece(of name: String, of zone: ZoneRecord, first: Int, count: Int) throws -> Data? {
    guard let snapshot = try snapshot(of: zone),
      snapshot.files.contains(where: { $0.name == name }) || snapshot.former.contains(name)
    else { return nil }
    let file = Snapshot.url(of: name, in: folder(of: zone))
    // One that a newer fold has removed meanwhile.
    guard let handle = try? FileHandle(forReadingFrom: file) else { return nil }
    defer { try? handle.close() }
    do {
      // A file system has offsets that it does not take.
      guard try first < handle.seekToEnd() else { return Data() }
      try handle.seek(toOffset: UInt64(first))
      return try handle.read(upToCount: count) ?? Data()
    } catch {
      throw ServerError(
        .storage, "a file of the zone's snapshot cannot be read",
        suggestion: "Ask the operator to look at the server's disk.")
    }
  }

  /// The bytes of a file of a snapshot.
  ///
  /// - Throws: `ProtocolError`: `.noSnapshot` for one that a newer fold has removed meanwhile.
  func bytes(of file: Snapshot.File, of zone: ZoneRecord) throws -> Data {
    let folder = folder(of: zone)
    let path = Snapshot.url(of: file.name, in: folder).path
    guard FileManager.default.fileExists(atPath: path) else { throw ProtocolError.noSnapshot }
    return try Snapshot.bytes(of: file, in: folder)
  }

  /// Adds up a zone's log to a snapshot. What an earlier one has done, also one that was killed, is not done again.
  ///
  /// - Parameters:
  ///   - options: What the fold may take.
  ///   - kept: What stands for the entries that were purged.
  ///   - isThere: Whether there still is such a zone.
  ///   - isOwn: Whether a place is one of the zone's log: the log may have been put back since the snapshot was made.
  ///   - page: The entries after a place; none at the head.
  /// - Throws: `ServerError`: `.locked` while another process folds the zone, `.diskFull`, what `page` throws.
  func fold(
    _ zone: ZoneRecord, options: FoldOptions = FoldOptions(),
    kept: () throws -> KeptLog? = { nil },
    isThere: () throws -> Bool, isOwn: (LogMark) throws -> Bool,
    page: (LogMark) throws -> [LogEntry]
  ) throws -> Snapshot {
    let (folder, lock) = try locked(zone)
    func run() throws -> Snapshot {
      try begin(in: folder, of: zone, from: kept())
      var fold = try SnapshotFold(
        zone: zone.zoneID, generation: zone.generation, in: folder, options: options)
      if try !isOwn(fold.through) {
        // The log was put back to an older copy and has gone on from there: what was added up is another log's.
        try discard(folder)
        try begin(in: folder, of: zone, from: kept())
        fold = try SnapshotFold(
          zone: zone.zoneID, generation: zone.generation, in: folder, options: options)
      }
      if fold.isWriting {
        // It was stopped while it wrote its files, and the log has gone on since.
        _ = try fold.finish()
        fold = try SnapshotFold(
          zone: zone.zoneID, generation: zone.generation, in: folder, options: options)
      }
      while true {
        let entries = try page(fold.through)
        guard !entries.isEmpty else { return try fold.finish() }
        for entry in entries { try fold.append(PullPage.Entry(entry)) }
      }
    }
    defer {
      lock.release()
      // Who deleted the zone meanwhile found the fold at it, and left what there is to it.
      if (try? isThere()) == false { forget(zone) }
    }
    do {
      do { return try run() } catch let error as ProtocolError where error.code == .damaged {
        // A file is not as it was written. The log has all of it.
        try discard(folder)
        return try run()
      }
    } catch let refusal as ProtocolError {
      if refusal.code == .diskFull { giveBackRoom(folder) }
      throw ServerError(refusal)
    }
  }

  /// The folder of a zone, with nobody else at it.
  ///
  /// - Throws: `ServerError`: `.locked`, `.folder`.
  private func locked(_ zone: ZoneRecord) throws -> (folder: URL, lock: FileLock) {
    let folder = folder(of: zone)
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw ServerError(
        .folder, "cannot create the folder \(folder.path): \(error.localizedDescription)",
        suggestion: "Check that the data folder belongs to the user of the server.")
    }
    let file = folder.appendingPathComponent("fold.lock")
    guard let lock = try FileLock(file, .exclusive, waits: false) else {
      throw ServerError(
        .locked, "another process folds or purges the zone \(zone.name)",
        suggestion: "Let it end, then say the command again.")
    }
    // Of a purge that was killed.
    try? FileManager.default.removeItem(at: folder.appendingPathComponent(Self.purgeName))
    return (folder, lock)
  }

  /// What a purge adds up lies beside the snapshot, which it does not rely on.
  private static let purgeName = "purge"

  /// A fold goes on from what stands for the entries that were purged, where it has less.
  private func begin(in folder: URL, of zone: ZoneRecord, from kept: KeptLog?) throws {
    guard let kept else { return }
    let found = (try? Snapshot.read(in: folder)) ?? nil
    if let found, found.generation == zone.generation,
      found.place.sequence >= kept.snapshot.place.sequence
    {
      return
    }
    try discard(folder)
    try kept.snapshot.place(in: folder, bytes: kept.bytes)
  }

  /// - Parameter body: runs while nobody folds or purges the zone.
  /// - Throws: `ServerError`: `.locked`; what `body` throws.
  func withLock<Result>(
    of zone: ZoneRecord, isThere: () -> Bool, body: () throws -> Result
  ) throws -> Result {
    let (_, lock) = try locked(zone)
    defer {
      lock.release()
      if !isThere() { forget(zone) }
    }
    return try body()
  }

  /// What a purge has kept in the database stands for the log from then on, and is given in place of what was folded before. Who
  /// calls has the lock of folds.
  func discardFolded(of zone: ZoneRecord) throws {
    let folder = folder(of: zone)
    try discard(folder)
    removeSegments(of: folder, but: [])
  }

  /// Whether all files of a snapshot lie there in their lengths.
  func hasFiles(of snapshot: Snapshot, _ zone: ZoneRecord) -> Bool {
    let folder = folder(of: zone)
    return snapshot.files.allSatisfy { file in
      var status = stat()
      return stat(Snapshot.url(of: file.name, in: folder).path, &status) == 0
        && Int(status.st_size) == file.bytes
    }
  }

  /// Adds up a zone's log by itself, whatever snapshot there is, for a purge: nobody else folds or purges the zone meanwhile.
  ///
  /// - Parameter body: gets what the log comes to, and the bytes of its files, which are gone afterwards.
  /// - Throws: `ServerError`, and what `body` throws.
  func withFoldAnew<Result>(
    of zone: ZoneRecord, _ kept: KeptLog?, isThere: () -> Bool,
    page: (LogMark) throws -> [LogEntry],
    body: (Snapshot, @escaping (Snapshot.File) throws -> Data) throws -> Result
  ) throws -> Result {
    let (folder, lock) = try locked(zone)
    let work = folder.appendingPathComponent(Self.purgeName, isDirectory: true)
    defer {
      try? FileManager.default.removeItem(at: work)
      lock.release()
      if !isThere() { forget(zone) }
    }
    do {
      try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
      try begin(in: work, of: zone, from: kept)
      let fold = try SnapshotFold(zone: zone.zoneID, generation: zone.generation, in: work)
      while true {
        let entries = try page(fold.through)
        if entries.isEmpty { break }
        for entry in entries { try fold.append(PullPage.Entry(entry)) }
      }
      return try body(fold.finish()) { try Snapshot.bytes(of: $0, in: work) }
    } catch let refusal as ProtocolError {
      throw ServerError(refusal)
    }
  }

  /// A fold for which there is no room leaves none of what it took: the log needs the room more. A fold can be made anew.
  private func giveBackRoom(_ folder: URL) {
    try? FileManager.default.removeItem(at: folder.appendingPathComponent("fold"))
    guard let named = try? Snapshot.read(in: folder) else {
      removeSegments(of: folder, but: [])
      return
    }
    removeSegments(of: folder, but: Set(named.files.map(\.name) + named.former))
  }

  private func removeSegments(of folder: URL, but names: Set<String>) {
    let kept = Set(names.map { Snapshot.url(of: $0, in: folder).lastPathComponent })
    for file in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    where file.hasSuffix(".partial") || file.hasSuffix(".segment") && !kept.contains(file) {
      unlink(folder.appendingPathComponent(file).path)
    }
  }

  /// How many bytes there is room for where snapshots lie; nil where that cannot be told.
  var freeBytes: Int? {
    DiskSpace.free(at: folder.deletingLastPathComponent())
  }

  /// Removes what was added up of zones that are no more: of one that was deleted the server is to keep nothing.
  ///
  /// - Parameter zones: asked once it is known what lies there, so that none that was made meanwhile is taken for one.
  func sweep(_ zones: () throws -> [ZoneRecord]) throws {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let zones = try zones()
    let known = Set(zones.map(\.zoneID))
    for zone in zones
    where FileManager.default.fileExists(
      atPath: folder(of: zone).appendingPathComponent(Self.purgeName).path)
    {
      // Of a purge that was killed. Where one is at it, it has the lock.
      try? locked(zone).lock.release()
    }
    for name in names {
      guard let id = UUID(uuidString: name), !known.contains(id) else { continue }
      forget(folder.appendingPathComponent(name, isDirectory: true))
    }
  }

  /// Removes what was added up of a log that is no more. Where that fails, or a fold is at it, it lies there until the next fold of
  /// the zone: nobody is given it.
  func forget(_ zone: ZoneRecord) { forget(folder(of: zone)) }

  private func forget(_ folder: URL) {
    guard FileManager.default.fileExists(atPath: folder.path) else { return }
    guard
      let lock = try? FileLock(folder.appendingPathComponent("fold.lock"), .exclusive, waits: false)
    else { return }
    defer { lock.release() }
    try? discard(folder)
    try? FileManager.default.removeItem(at: folder)
  }

  private func discard(_ folder: URL) throws {
    for name in [Snapshot.fileName, "fold"] {
      let file = folder.appendingPathComponent(name)
      guard FileManager.default.fileExists(atPath: file.path) else { continue }
      do {
        try FileManager.default.removeItem(at: file)
      } catch {
        throw ServerError(
          .folder, "cannot remove \(file.path): \(error.localizedDescription)",
          suggestion: "Check that the data folder belongs to the user of the server.")
      }
    }
  }
}

extension PullPage.Entry {
  /// An entry of the log, whole.
  init(_ entry: LogEntry) {
    self.init(
      sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber, chain: entry.chain,
      isOwnHeaderOnly: entry.isHeaderOnly, frame: entry.bytes)
  }
}
