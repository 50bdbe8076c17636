import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Writes of the table `zone`, and of all that belongs to a zone. Who calls them has a transaction.
extension SQLiteConnection {
  func insert(_ zone: ZoneRecord, createdMilliseconds: Int64) throws {
    try run(
      "INSERT INTO zone VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      .integer(zone.id), .text(zone.name), .blob(zone.zoneID.bytes), .blob(zone.generation.bytes),
      zone.parent.map { .blob($0.generation.bytes) } ?? .null,
      zone.parent.map { .integer(Int64(clamping: $0.sequence)) } ?? .null,
      zone.parent.map { .blob($0.chain.bytes) } ?? .null, .text(zone.intent.rawValue),
      .integer(Int64(zone.formatLevel)), .integer(Int64(clamping: zone.head)),
      .blob(zone.chain.bytes), .integer(Int64(clamping: zone.nextObject)),
      .integer(Int64(clamping: zone.newestMilliseconds)), .integer(createdMilliseconds),
      .blob(zone.replacements.bytes))
    try ZoneBounds.set(of: zone, on: self)
  }

  /// Begins a new generation of a zone, with an empty log.
  ///
  /// - Parameter isServed: whether a server runs.
  func renew(_ zone: ZoneRecord, intent: ZoneIntent, isServed: Bool) throws {
    let next = zone.renewed(intent: intent)
    // What tells it is about to go.
    let leased = LeaseTime.of(
      host: Administration.hostMilliseconds, given: try GivenTimes.last(self), isServed: isServed)
    try run(
      """
      UPDATE zone SET generation = ?, parent_generation = ?, parent_sequence = ?,
        parent_chain = ?, intent = ?, head = 0, chain = ?, next_object = 1, replacements = ?
      WHERE id = ?
      """,
      .blob(next.generation.bytes), .blob(zone.generation.bytes),
      .integer(Int64(clamping: zone.head)), .blob(zone.chain.bytes), .text(intent.rawValue),
      .blob(next.chain.bytes), .blob(next.replacements.bytes), .integer(zone.id))
    try empty(zone)
    // The log begins anew: what was lost of the one before fits nowhere in it.
    try ZoneBounds.forgetPutBack(of: zone, on: self)
    try TokenBindings.begin(anewIn: zone.id, on: self)
    try LargeValues.letGo(of: zone.id, at: leased, on: self)
  }

  /// Deletes a zone with its log and its tokens, all at once: for a database that nobody serves.
  func delete(_ zone: ZoneRecord) throws {
    try LeavingZones.leave(zone, on: self)
    while try LeavingZones.takeAway(on: self) {}
  }

  /// Deletes a zone's log with all that is kept of it.
  private func empty(_ zone: ZoneRecord) throws {
    let first = LogPosition.of(zone: zone.id, number: 0)
    let end = LogPosition.of(zone: zone.id &+ 1, number: 0)
    for table in ["log", "object", "purged"] {
      try run(
        "DELETE FROM \(table) WHERE position >= ? AND position < ?", .integer(first),
        .integer(end))
    }
    // Each replica takes another ID for the new log: those of the old one would fill the zone in time.
    for table in [
      "identity", "claim", "tombstone", "replica", "sighting", "staged", "staging", "purge",
      "purge_file", "zone_property", "forgotten_replica",
    ] {
      try run("DELETE FROM \(table) WHERE zone = ?", .integer(zone.id))
    }
  }
}

extension ZoneRecord {
  /// A zone that there was not yet.
  static func new(id: Int64, name: String) -> ZoneRecord {
    ZoneRecord(
      id: id, name: name, zoneID: UUID(), generation: UUID(), parent: nil, intent: .offer,
      replacements: [], formatLevel: ChangeSetHeader.formatLevel, newestMilliseconds: 0)
  }

  /// The zone of a generation whose log is empty.
  init(
    id: Int64, name: String, zoneID: UUID, generation: UUID, parent: ZoneParent?,
    intent: ZoneIntent, replacements: [UUID], formatLevel: UInt16, newestMilliseconds: UInt64,
    limits: ZoneLimits = ZoneLimits()
  ) {
    self.init(
      id: id, name: name, zoneID: zoneID, generation: generation, parent: parent, intent: intent,
      replacements: replacements, formatLevel: formatLevel, head: 0,
      chain: .start(generation: generation), nextObject: 1,
      newestMilliseconds: newestMilliseconds, limits: limits)
  }

  /// The same zone with nothing in its log, as another row.
  func emptied(id: Int64) -> ZoneRecord {
    ZoneRecord(
      id: id, name: name, zoneID: zoneID, generation: generation, parent: parent, intent: intent,
      replacements: replacements, formatLevel: formatLevel,
      newestMilliseconds: newestMilliseconds, limits: limits)
  }
}
