import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The logs of a data folder, and the files of what they come to.
struct FolderLogs: FoldedLogs {
  private let database: Database
  private let snapshots: ZoneSnapshots
  private let reserve: DiskReserve

  init(_ folder: DataFolder) throws {
    reserve = folder.reserve
    database = try Database(reading: folder.database.path, label: "folding")
    snapshots = ZoneSnapshots(folder)
  }

  func zones() throws -> [ZoneRecord] { try database.run { try $0.zones() } }

  func zone(named name: String) throws -> ZoneRecord? {
    try database.run { try $0.zone(named: name) }
  }

  func logBytes(
    of zone: ZoneRecord, after sequence: UInt64, pause: () throws -> Void
  ) throws -> Int {
    try database.run { try $0.logBytes(of: zone, after: sequence) }
  }

  func entries(of zone: ZoneRecord, _ request: PageRequest) throws -> [LogEntry] {
    try database.run { try $0.page(of: zone, request).entries }
  }

  func isOwn(_ place: LogMark, _ zone: ZoneRecord) throws -> Bool {
    try database.run { connection in
      guard let zone = try connection.zone(named: zone.name) else { return false }
      return try connection.place(at: place.sequence, of: zone) == place
    }
  }

  func snapshot(of zone: ZoneRecord) throws -> Snapshot? { try snapshots.snapshot(of: zone) }

  func bytes(of file: Snapshot.File, of zone: ZoneRecord) throws -> Data {
    try snapshots.bytes(of: file, of: zone)
  }

  func fold(
    _ zone: ZoneRecord, options: FoldOptions, page: (LogMark) throws -> [LogEntry]
  ) throws -> Snapshot {
    try snapshots.fold(
      zone, options: options, kept: { try kept(zone) },
      isThere: { try database.run { try $0.generations().contains(zone.generation) } },
      isOwn: { try isOwn($0, zone) }, page: page)
  }

  private func kept(_ zone: ZoneRecord) throws -> KeptLog? {
    try database.keptSnapshot(of: zone)
  }

  func forget(_ zone: ZoneRecord) { snapshots.forget(zone) }

  func sweep() throws { try snapshots.sweep { try zones() } }

  var freeBytes: Int? { reserve.freeBytes }

  func close() { database.close() }
}

extension Database {
  /// What stands for the entries of a zone's log that were purged; nil where none was.
  func keptSnapshot(of zone: ZoneRecord) throws -> KeptLog? {
    let row = try run { try PurgedLog.row(of: zone, on: $0) }
    return row.map { row in
      KeptLog(row, of: zone) { name in
        try self.run { try PurgedLog.bytes(of: name, of: zone, on: $0) }
      }
    }
  }
}

extension SQLiteConnection {
  /// Bytes of a zone's log after an entry.
  func logBytes(of zone: ZoneRecord, after sequence: UInt64) throws -> Int {
    let statement = try prepare(
      "SELECT coalesce(sum(size), 0) FROM log WHERE position > ? AND position < ?")
    defer { statement.reset() }
    statement.bind(LogPosition.of(zone: zone.id, number: sequence), at: 1)
    statement.bind(LogPosition.of(zone: zone.id &+ 1, number: 0), at: 2)
    return try statement.step() ? Int(clamping: statement.int64(0)) : 0
  }
}
