import DriftlessProtocol
package import DriftlessSQLite
import Foundation

/// Reads all of a server's database, and names what is not as the server wrote it.
public struct DatabaseCheck {
  /// One thing that is wrong.
  public struct Damage: Sendable, Hashable {
    /// The table, or `file` for what SQLite finds.
    public let table: String
    /// Nil where it belongs to no zone.
    public let zone: String?
    /// Which row: `entry 7`, `object 12`.
    public let place: String
    /// What is wrong.
    public let message: String
    /// What to do about it.
    public let suggestion: String

    /// All that there is to say of one.
    public init(
      table: String, zone: String?, place: String, message: String, suggestion: String
    ) {
      self.table = table
      self.zone = zone
      self.place = place
      self.message = message
      self.suggestion = suggestion
    }
  }

  /// A large value that entries of a zone name and the server lacks. Replicas are told of it: it is no damage of the database.
  public struct LackedValue: Sendable, Hashable {
    /// The zone's name.
    public let zone: String
    /// The SHA-256 of its bytes, in hexadecimal digits.
    public let digest: String
    /// How many bytes it has.
    public let bytes: UInt64

    /// All that there is to say of one.
    public init(zone: String, digest: String, bytes: UInt64) {
      self.zone = zone
      self.digest = digest
      self.bytes = bytes
    }
  }

  /// What was read.
  public struct Outcome: Sendable {
    /// How many zones were read.
    public var zones = 0
    /// How many entries were read.
    public var entries = 0
    /// What is not as a server wrote it.
    public var damage: [Damage] = []
    /// More was found than is listed.
    public var isCut = false
    /// Large values that are named and not here, the first of them.
    public var lacked: [LackedValue] = []
    /// How many there are of them in all.
    public var lackedCount = 0

    /// All that there is to say of one.
    public init(
      zones: Int = 0, entries: Int = 0, damage: [Damage] = [], isCut: Bool = false
    ) {
      self.zones = zones
      self.entries = entries
      self.damage = damage
      self.isCut = isCut
    }
  }

  let connection: SQLiteConnection
  var outcome = Outcome()
  /// A database that is damaged all over is told of by its first lines.
  static let damageMax = 1000

  package init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Checks one state of the database, while a server may go on writing.
  ///
  /// - Throws: `SQLiteError` where it cannot be read on.
  ///
  /// - Parameter withValues: large values are read as well. A backup leaves them out: one that is damaged is sent again by
  ///   replicas.
  package static func run(
    on connection: SQLiteConnection, withValues: Bool = false
  ) throws -> Outcome {
    var check = DatabaseCheck(connection)
    try connection.withSnapshot {
      try check.checkFile()
      guard check.outcome.damage.isEmpty else { return }
      for zone in try check.readableZones() { try check.check(zone) }
      try check.checkOthers()
      if withValues { try check.checkValues() }
    }
    return check.outcome
  }

  mutating func note(
    _ table: String, _ zone: String?, _ place: String, _ message: String,
    _ suggestion: String = Self.byBackup
  ) {
    guard outcome.damage.count < Self.damageMax else {
      outcome.isCut = true
      return
    }
    outcome.damage.append(
      Damage(
        table: table, zone: zone, place: place, message: message, suggestion: suggestion))
  }

  static let byBackup =
    "Put a backup back (driftless-server restore): replicas bring back what it lacks."

  static let byRevoking =
    "Revoke the codes that were not used, and make new ones: driftless-server code revoke --all"

  /// What replicas hold makes a log anew, with all that follows from it.
  static func byRenewal(_ zone: String) -> String {
    "\(byBackup) Or begin the zone anew (driftless-server zone renew \(zone) --yes): replicas offer what they hold."
  }

  /// What SQLite itself finds.
  private mutating func checkFile() throws {
    for row in try connection.rows("PRAGMA integrity_check(100)") {
      guard case .text(let line)? = row.first, line != "ok" else { continue }
      note("file", nil, "page", line)
    }
    for table in try ServerSchema.missingTables(connection) {
      note("file", nil, "table \(table)", "it is missing")
    }
  }

  mutating func readableZones() throws -> [ZoneRecord] {
    var zones: [ZoneRecord] = []
    for row in try connection.rows(
      "SELECT name FROM zone WHERE \(LeavingZones.isThere) ORDER BY name")
    {
      guard case .text(let name)? = row.first else { continue }
      do {
        if let zone = try connection.zone(named: name) { zones.append(zone) }
      } catch let error as ServerError {
        note("zone", name, "row", error.message)
      }
    }
    return zones
  }

  private mutating func check(_ zone: ZoneRecord) throws {
    outcome.zones += 1
    if !ZoneName.isValid(zone.name) { note("zone", zone.name, "row", "its name is none") }
    try checkLog(of: zone)
    try checkIndex(of: zone)
  }

  // MARK: - Log

  private mutating func checkLog(of zone: ZoneRecord) throws {
    let statement = try connection.prepareUncached(
      """
      SELECT position, log.replica, number, first_object, new_objects, digest, chain,
        length(names), size, header, body, replica.uuid
      FROM log LEFT JOIN replica ON replica.id = log.replica AND replica.zone = ?1
      WHERE position >= ?2 AND position < ?3 ORDER BY position
      """)
    statement.bind([
      .integer(zone.id), .integer(LogPosition.of(zone: zone.id, number: 0)),
      .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)),
    ])
    var (place, nextObject) = try checkPurged(of: zone)
    while try statement.step() {
      outcome.entries += 1
      let entry = try entry(statement)
      let row = LogRow(
        digest: statement.data(5), size: statement.int64(8), namesSize: statement.int64(7),
        replica: statement.data(11), number: UInt64(clamping: statement.int64(2)))
      let damages = EntryCheck.damages(
        of: entry, beside: row, after: place, nextObject: nextObject)
      for message in damages {
        note(
          "log", zone.name, "entry \(entry.sequence)", message, Self.byRenewal(zone.name))
      }
      place = LogMark(sequence: entry.sequence, chain: entry.chain)
      nextObject = UInt64(clamping: statement.int64(3)) + UInt64(clamping: statement.int64(4))
    }
    if place.sequence != zone.head {
      note(
        "log", zone.name, "end", "it ends at \(place.sequence), and the zone says \(zone.head)",
        Self.byRenewal(zone.name))
    } else if place.chain != zone.chain {
      note("zone", zone.name, "chain", "it is not that of the log", Self.byRenewal(zone.name))
    }
    if nextObject != zone.nextObject {
      note(
        "zone", zone.name, "next object",
        "the log gave numbers up to \(nextObject &- 1), the zone goes on with \(zone.nextObject)",
        Self.byRenewal(zone.name))
    }
  }

  private func entry(_ row: SQLiteStatement) throws -> LogEntry {
    LogEntry(
      sequence: LogPosition.number(row.int64(0)), firstObjectNumber: UInt64(clamping: row.int64(3)),
      chain: LogChain(bytes: row.data(6)) ?? .start(generation: UUID()),
      bytes: row.frame(header: 9, body: 10), isHeaderOnly: false)
  }
}

extension DatabaseCheck.Outcome {
  /// Of a database that was put back they may be very many: the first are named, and all are counted.
  mutating func note(lacked values: [LargeValue], of zone: String, count: Int64) {
    lackedCount += Int(clamping: count)
    let room = max(0, DatabaseCheck.damageMax - lacked.count)
    lacked += values.prefix(room).map {
      DatabaseCheck.LackedValue(
        zone: zone, digest: Hexadecimal.text($0.digest), bytes: $0.length)
    }
  }
}

extension Administration {
  /// Reads all of the database, while a server may go on writing.
  package func verify() throws -> DatabaseCheck.Outcome {
    // As a backup does: the server goes on without copying its log meanwhile.
    let lock = try lockInPlace()
    defer { lock?.release() }
    return try ServerError.opening(folder.database.path) {
      try DatabaseCheck.run(on: connection, withValues: true)
    }
  }
}
