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

  /// Begins a new generation of a zone, with an empty log: under a number of its own, so that nothing of its former log is in the way.
  /// That leaves with the number that it had.
  ///
  /// - Parameter isServed: whether a server runs.
  func renew(_ zone: ZoneRecord, intent: ZoneIntent, isServed: Bool) throws {
    let next = zone.renewed(intent: intent, as: try ZoneNumbers.take(on: self))
    let created = try integer("SELECT created_ms FROM zone WHERE id = \(zone.id)") ?? 0
    // What tells it is about to go.
    let leased = LeaseTime.of(
      host: Administration.hostMilliseconds, given: try GivenTimes.last(self), isServed: isServed)
    try EnrolmentCodes.move(from: zone.id, to: next.id, on: self)
    try LeavingZones.leave(zone, on: self)
    try insert(next, createdMilliseconds: created)
    try run("UPDATE token SET zone = ? WHERE zone = ?", .integer(next.id), .integer(zone.id))
    try TokenBindings.begin(anewIn: next.id, on: self)
    try LargeValues.move(from: zone.id, to: next.id, intent, at: leased, on: self)
  }

  /// Deletes a zone with its log and its tokens, all at once: for a database that nobody serves.
  func delete(_ zone: ZoneRecord) throws {
    try LeavingZones.leave(zone, on: self)
    while try LeavingZones.takeAway(on: self) {}
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
