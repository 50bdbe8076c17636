import DriftlessSQLite
package import Foundation

extension Administration: OperatedStorage {
  /// So many bytes lie in the write-ahead log at most, about, before they are copied into the database.
  private static let bytesInLog = 64 << 20

  package func takeValues(
    from file: URL, zone name: String?, isDryRun: Bool
  ) throws -> [TakenValues] {
    try takeValues(
      from: file, zone: name, isDryRun: isDryRun, freeBytes: DiskSpace.free(at: folder.url))
  }

  /// - Parameter freeBytes: what the disk has room for; nil where that is not known.
  func takeValues(
    from file: URL, zone name: String?, isDryRun: Bool, freeBytes: Int?
  ) throws -> [TakenValues] {
    let source = try ValueFile(file, butNot: folder.database)
    defer { source.close() }
    let zones = try zones(named: name, of: source).map {
      SQLiteValueTables(connection: connection, zone: $0)
    }
    let lacked = try zones.map { try source.lacked(by: $0) }
    if isDryRun { return lacked }
    try requireRoom(
      for: Int(clamping: lacked.reduce(0) { $0 + $1.values.bytes }), of: freeBytes)
    var written = 0
    do {
      return try zones.map { tables in
        var rescue = ValueRescue(
          tables: tables, milliseconds: max(Self.hostMilliseconds, try GivenTimes.last(connection))
        ) { body in
          let lock = try lockInPlace()
          defer { lock?.release() }
          try body()
        }
        rescue.giveWay = { bytes in
          WriterWait(folder).giveWay()
          written += bytes
          guard written >= Self.bytesInLog else { return }
          written = 0
          FolderPurge(administration: self).makeRoom()
        }
        return try source.take(into: rescue)
      }
    } catch let error as SQLiteError where error.isFull {
      throw ServerError(
        .diskFull,
        "there is no space left for the database of \(folder.url.path); what was taken by then stays",
        suggestion: "Make room there, then say the command again: it goes on where it was.")
    }
  }

  /// Free pages are used first; the log is written before the database.
  private func requireRoom(for bytes: Int, of freeBytes: Int?) throws {
    guard bytes > 0 else { return }
    let free = Int(
      clamping: try (connection.integer("PRAGMA freelist_count") ?? 0)
        * (connection.integer("PRAGMA page_size") ?? 0))
    try DiskSpace.require(
      min(bytes, Self.bytesInLog) + max(0, bytes - free), of: freeBytes, at: folder.url,
      for: "what zones lack of large values",
      otherwise: "Or take those of one zone after the other, with --zone.")
  }
}
