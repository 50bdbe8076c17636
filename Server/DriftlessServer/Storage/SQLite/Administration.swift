package import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What an operator does to a data folder, while the server runs or not: zones and tokens.
///
/// It writes the server's database from a process of its own; the server sees it at the next
/// request.
package struct Administration: ZoneAdministration {
  let connection: SQLiteConnection
  let folder: DataFolder

  /// - Throws: `ServerError` or `SQLiteError` when the folder cannot be opened.
  package init(folder: DataFolder) throws {
    self.folder = folder
    let lock = try FileLock(folder.writeLock, .shared, waits: true)
    defer { lock?.release() }
    // What shares the log with other processes wants room, however little is to be written.
    connection = try folder.reserve.withRoom { try Self.open(folder) }
    folder.noteDatabaseIsMade()
  }

  private static func open(_ folder: DataFolder) throws -> SQLiteConnection {
    try ServerError.opening(folder.database.path) {
      let connection = try folder.writingConnection()
      try ServerSchema.apply(to: connection)
      return connection
    }
  }

  /// Takes back what was lent, once what was written is where it stays.
  package func close() {
    guard let room = folder.reserve.room, room.missing > 0 else { return connection.close() }
    try? folder.reserve.lend { connection.close() }
  }

  package func zones() throws -> [ZoneRecord] { try connection.zones() }

  /// Creates a zone with an empty log and a new generation.
  ///
  /// - Throws: `ServerError`: `.badName`, `.exists`, `.tooLarge`.
  package func createZone(_ name: String) throws -> ZoneRecord {
    try write {
      try checkFree(name)
      let zone = ZoneRecord.new(id: try ZoneNumbers.take(on: connection), name: name)
      try connection.insert(zone, createdMilliseconds: Self.hostMilliseconds)
      try note(.zoneCreated, zone: name)
      return try existingZone(name)
    }
  }

  /// Begins a new generation of a zone, with an empty log. The zone's UUID and its tokens stay, and what times it takes:
  /// what replicas offer has the times of the log before.
  ///
  /// - Parameter intent: whether replicas offer what they hold of the generation before, or take
  ///   the zone's state.
  /// - Throws: `ServerError`: `.noZone`, `.locked`.
  package func renewZone(_ name: String, intent: ZoneIntent) throws -> ZoneRecord {
    try renew(name, intent: intent).zone
  }

  package func namedValues(of name: String) throws -> NamedValues {
    try LargeValues.named(of: existingZone(name).id, on: connection)
  }

  /// Adds up a zone's log to a snapshot; pushes go on meanwhile.
  ///
  /// - Throws: `ServerError` (`.noZone`, `.locked` while another process folds the zone).
  package func foldZone(_ name: String) throws -> Snapshot {
    try foldZone(name, options: FoldOptions())
  }

  package func foldZone(_ name: String, options: FoldOptions) throws -> Snapshot {
    let zone = try existingZone(name)
    return try ZoneSnapshots(folder).fold(
      zone, options: options, kept: { try keptSnapshot(of: zone) }
    ) {
      try connection.generations().contains(zone.generation)
    } isOwn: { place in
      try connection.place(at: place.sequence, of: existingZone(name)) == place
    } page: { place in
      let request = PageRequest(after: place, bytesMax: 4 << 20, entriesMax: 1_000)
      return try connection.page(of: zone, request).entries
    }
  }

  /// A zone's snapshot; nil when there is none.
  package func snapshot(of zone: ZoneRecord) throws -> Snapshot? {
    let found = try ZoneSnapshots(folder).snapshot(of: zone)
    let kept = try PurgedLog.row(of: zone, on: connection)?.snapshot
    return [found, kept].compactMap(\.self).max { $0.place.sequence < $1.place.sequence }
  }

  package func floor(of zone: ZoneRecord) throws -> UInt64 {
    try PurgedLog.floor(of: zone, on: connection)
  }

  /// - Throws: `ServerError`: `.badName`, `.exists`.
  func checkFree(_ name: String) throws {
    try ZoneName.check(name)
    guard try connection.zone(named: name) == nil else { throw ServerError.zoneExists(name) }
  }

  func existingZone(
    _ name: String, orThrow missing: (String) -> ServerError = ServerError.noSuchZone
  ) throws -> ZoneRecord {
    guard let zone = try connection.zone(named: name) else { throw missing(name) }
    return zone
  }

  /// The lock of those who write, once this is sure to be the folder's database.
  ///
  /// - Throws: `ServerError` (`.locked`) where another was put in its place while the lock was waited for: what is written
  ///   into the one that was moved aside nobody would find.
  func lockInPlace() throws -> FileLock? {
    let lock = try FileLock(folder.writeLock, .shared, waits: true)
    guard !connection.isMoved else {
      lock?.release()
      throw ServerError(
        .locked,
        "another database was put in the place of \(folder.database.path) while this command waited; nothing was changed",
        suggestion: "Say the command again: it is about the database that is there now.")
    }
    return lock
  }

  /// What this is about to do a server has to know of.
  ///
  /// - Throws: `ServerError` (`.locked`) where one of before serves.
  func checkServers() throws {
    guard let process = folder.servingProcess, !folder.isServedByThisVersion else { return }
    throw ServerError(
      .locked, "an older program (process \(process)) serves \(folder.url.path)",
      suggestion: "Start the server again with this program, then say the command again.")
  }

  func write<Result>(_ body: () throws -> Result) throws -> Result {
    let lock = try lockInPlace()
    defer { lock?.release() }
    return try connection.transaction(.immediate, body)
  }

  /// Writes what makes room or shuts somebody out: on a full disk too.
  func writeAtNeed<Result>(_ body: () throws -> Result) throws -> Result {
    try folder.reserve.withRoom { try write(body) }
  }
}

/// What may be the name of a zone: it stands in URLs and logs as it is.
public enum ZoneName {
  /// Whether a text may be one: 1 to 100 letters and digits of ASCII, `-`, `.` and `_`, first a letter or digit.
  public static func isValid(_ name: some StringProtocol) -> Bool {
    func isAlphanumeric(_ byte: UInt8) -> Bool {
      (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }
    guard let first = name.utf8.first, name.utf8.count <= 100, isAlphanumeric(first) else {
      return false
    }
    return name.utf8.allSatisfy { isAlphanumeric($0) || $0 == 45 || $0 == 46 || $0 == 95 }
  }
}
