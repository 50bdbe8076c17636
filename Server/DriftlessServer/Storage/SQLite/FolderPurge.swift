import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// A purge in a data folder.
struct FolderPurge: PurgePlace {
  let administration: Administration

  private var connection: SQLiteConnection { administration.connection }
  private var folder: DataFolder { administration.folder }
  private var snapshots: ZoneSnapshots { ZoneSnapshots(folder) }

  func tables(of zone: ZoneRecord) -> SQLitePurgeTables {
    SQLitePurgeTables(administration: administration, zone: zone)
  }

  func checkServers() throws { try administration.checkServers() }

  func givenMilliseconds() throws -> Int64 { try GivenTimes.last(connection) }

  func isServed() -> Bool { folder.servingProcess != nil }

  /// What the log comes to is written twice: as files, and into the database, whose free pages are used first.
  func requireRoom(for bytes: Int, of zone: ZoneRecord, _ options: PurgeOptions) throws {
    let free = Int(
      clamping: try (connection.integer("PRAGMA freelist_count") ?? 0)
        * (connection.integer("PRAGMA page_size") ?? 0))
    try DiskSpace.require(
      bytes + max(0, bytes - free), of: options.freeBytes?() ?? snapshots.freeBytes,
      at: folder.url, for: "a purge of zone \(zone.name)",
      otherwise: "It is the most that it may take: --force begins all the same.")
  }

  private func isThere(_ zone: ZoneRecord) -> Bool {
    (try? connection.generations().contains(zone.generation)) ?? true
  }

  func withLock<Result>(of zone: ZoneRecord, _ body: () throws -> Result) throws -> Result {
    try snapshots.withLock(of: zone) {
      isThere(zone)
    } body: {
      try body()
    }
  }

  func withFoldAnew<Result>(
    of zone: ZoneRecord, _ kept: KeptLog?, through last: UInt64?,
    _ body: (Snapshot, @escaping (Snapshot.File) throws -> Data) throws -> Result
  ) throws -> Result {
    try snapshots.withFoldAnew(of: zone, kept) {
      isThere(zone)
    } page: { place in
      guard let request = request(after: place, through: last) else { return [] }
      return try connection.page(of: zone, request).entries
    } body: {
      try body($0, $1)
    }
  }

  func discardFolded(of zone: ZoneRecord) throws { try snapshots.discardFolded(of: zone) }

  func write<Result>(
    to zone: ZoneRecord, _ body: (SQLitePurgeTables) throws -> Result
  ) throws -> Result {
    try administration.write {
      let current = try connection.current(zone)
      guard current.generation == zone.generation else {
        throw ServerError.generationChanged(zone: zone.name)
      }
      return try body(tables(of: current))
    }
  }

  func giveWay() { WriterWait(folder).giveWay() }

  /// The write-ahead log is copied into the database, where it takes free pages. A server that has the folder does so itself, and
  /// is waited for; else none starts, and no other command writes, while this does.
  func makeRoom() {
    guard let serving = try? FileLock(folder.serveLock, .shared, waits: false) else {
      for _ in 0..<Self.looks where !isLogEmpty {
        Thread.sleep(forTimeInterval: Self.lookSeconds)
      }
      return
    }
    defer { serving.release() }
    guard let writing = try? FileLock(folder.writeLock, .exclusive, waits: false) else { return }
    defer { writing.release() }
    // Where it cannot, the log stays as it is.
    try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// A server looks every `watchSeconds` whether there is something to copy: two seconds, where nobody set it otherwise.
  private static let looks = 50
  private static let lookSeconds = 0.1

  private var isLogEmpty: Bool {
    var status = stat()
    return stat(folder.database.path + "-wal", &status) != 0 || status.st_size == 0
  }
}

extension Administration {
  package func purgeZone(_ name: String, _ options: PurgeOptions) throws -> PurgeReport {
    try purgeZone(name, options, at: Self.hostMilliseconds)
  }

  package func purgeZone(
    _ name: String, _ options: PurgeOptions, at host: Int64
  ) throws -> PurgeReport {
    let purge = try ZonePurge(
      place: FolderPurge(administration: self), zone: existingZone(name), options: options)
    do {
      return try purge.run(at: host)
    } catch  where !options.isDryRun && ServerError(ofFullDisk: error) != nil {
      // Until it sets the floor it has changed nothing, and from then on it goes on where it was.
      return try folder.reserve.lend { try purge.runInPortions(at: host) }
    }
  }

  /// The time by which ages are reckoned.
  func purgeTime(_ host: Int64) throws -> Int64 {
    PurgeTime.of(host: host, given: try GivenTimes.last(connection))
  }

  /// What stands for the purged entries of a zone's log.
  func keptSnapshot(of zone: ZoneRecord) throws -> KeptLog? {
    try PurgedLog.row(of: zone, on: connection).map { row in
      KeptLog(row, of: zone) { [connection] name in
        try PurgedLog.bytes(of: name, of: zone, on: connection)
      }
    }
  }
}
