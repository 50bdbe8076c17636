import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What the database that was there knows better than the backup, written into the copy that takes its place: which zones there
/// are and their names, tokens, and the server's time.
struct CarryOver {
  let former: Backup.Former
  let choices: Backup.RestoreChoices
  private let connection: SQLiteConnection
  private let formerZones: [UUID: ZoneRecord]
  private var outcome = Outcome()
  /// Zones whose logs begin anew with the restore.
  private var renewed: Set<UUID> = []

  struct Outcome {
    var zonesMade: [String] = []
    var zonesRenamed: [Backup.Restored.Renaming] = []
    var zonesLeftOut: [String] = []
    var zonesBroughtBack: [String] = []
    var renewedSince: [String] = []
    var tokensKept = 0
    var tokensRevoked = 0
  }

  private init(
    _ former: Backup.Former, _ choices: Backup.RestoreChoices, _ connection: SQLiteConnection
  ) {
    self.former = former
    self.choices = choices
    self.connection = connection
    formerZones = Dictionary(former.zones.map { ($0.zoneID, $0) }) { first, _ in first }
  }

  /// All of it in one transaction.
  ///
  /// - Throws: `ServerError`: `.renewedSince` and `.deletedSince` where nothing says what becomes of such zones.
  static func run(
    _ former: Backup.Former, _ choices: Backup.RestoreChoices, of backup: URL, into file: URL
  ) throws -> Outcome {
    let connection = try SQLiteConnection(path: file.path, mode: .readWrite)
    defer { connection.close() }
    try connection.execute("PRAGMA synchronous=FULL")
    return try connection.transaction(.immediate) {
      var carryOver = CarryOver(former, choices, connection)
      let restored = try connection.zones()
      if former.given > 0 { try GivenTimes.replace(by: former.given, on: connection) }
      try ZoneNumbers.note(former.highestNumber, on: connection)
      try carryOver.leaveOut(restored)
      try carryOver.renew(restored)
      try carryOver.name()
      try carryOver.make(restored)
      try ZoneBounds.notePutBack(but: carryOver.renewed, on: connection)
      try carryOver.carryForgotten()
      try carryOver.carryTokens()
      try carryOver.carryOperators()
      try EnrolmentCodes.dropAll(on: connection)
      try carryOver.carryAudit(backup)
      return carryOver.outcome
    }
  }

  private func known(_ zone: ZoneRecord) -> ZoneRecord? { formerZones[zone.zoneID] }

  /// Zones that were deleted since the backup stay away; the backup has them still.
  private mutating func leaveOut(_ restored: [ZoneRecord]) throws {
    guard former.knowsZones else { return }
    let deleted = restored.filter { known($0) == nil }
    guard !deleted.isEmpty else { return }
    let names = deleted.map(\.name)
    switch choices.deletedZones {
    case .restore: outcome.zonesBroughtBack = names
    case nil where deleted.count == restored.count:
      // It may as well be a database that was begun anew after the other one was lost.
      throw ServerError(
        .deletedSince,
        "the database that is there has none of the backup's zones: \(names.joined(separator: ", "))",
        suggestion: "Say what becomes of them: --deleted-zones restore brings them back with their "
          + "tokens; --deleted-zones leave leaves them out.")
    case .leave, nil:
      for zone in deleted { try connection.delete(zone) }
      outcome.zonesLeftOut = names
    }
  }

  private mutating func renew(_ restored: [ZoneRecord]) throws {
    let renewed = restored.filter { zone in
      known(zone).map { $0.generation != zone.generation } ?? false
    }
    outcome.renewedSince = renewed.map(\.name)
    guard !renewed.isEmpty else { return }
    switch choices.renewedZones {
    case .keep: break
    case .renew:
      for zone in renewed { try connection.renew(zone, intent: .offer, isServed: false) }
      while try LeavingZones.takeAway(on: connection) {}
      self.renewed = Set(renewed.map(\.zoneID))
    case nil:
      throw ServerError(
        .renewedSince,
        "zones began anew after the backup was made: \(outcome.renewedSince.joined(separator: ", "))",
        suggestion: "Say what becomes of them: --renewed-zones renew has replicas offer what they "
          + "hold; --renewed-zones keep puts back the backup's log, and replicas that left it within "
          + "a day wait for a person.")
    }
  }

  /// Zones have the names by which replicas know them now. What came by the lost part of a log may have later times.
  private mutating func name() throws {
    var taken = Set(former.zones.map(\.name))
    var names: [(zone: ZoneRecord, name: String)] = []
    for var zone in try connection.zones() {
      if let known = known(zone) {
        names.append((zone, known.name))
        try connection.run(
          """
          UPDATE zone SET newest_ms = max(newest_ms, ?), format_level = max(format_level, ?)
          WHERE id = ?
          """, .integer(Int64(clamping: known.newestMilliseconds)),
          .integer(Int64(known.formatLevel)), .integer(zone.id))
        zone.limits = known.limits
        try ZoneBounds.set(of: zone, on: connection)
      } else {
        let name = Self.free(zone.name, taken)
        taken.insert(name)
        names.append((zone, name))
      }
    }
    let others = names.filter { $0.zone.name != $0.name }
    // Two may have each other's.
    for (zone, _) in others {
      try connection.run(
        "UPDATE zone SET name = ? WHERE id = ?", .text("/\(zone.zoneID)"), .integer(zone.id))
    }
    for (zone, name) in others {
      try connection.run("UPDATE zone SET name = ? WHERE id = ?", .text(name), .integer(zone.id))
      outcome.zonesRenamed.append(.init(backup: zone.name, now: name))
    }
  }

  private static func free(_ name: String, _ taken: Set<String>) -> String {
    var other = name
    var number = 2
    while taken.contains(other) {
      other = "\(name.prefix(90))-\(number)"
      number += 1
    }
    return other
  }

  /// Zones that were made after the backup: their replicas hear that the log lacks what they know, and bring it back.
  private mutating func make(_ restored: [ZoneRecord]) throws {
    let there = Set(restored.map(\.zoneID))
    for zone in former.zones where !there.contains(zone.zoneID) {
      try connection.insert(
        zone.emptied(id: ZoneNumbers.take(on: connection)),
        createdMilliseconds: former.created[zone.zoneID] ?? 0)
      outcome.zonesMade.append(zone.name)
    }
  }

  /// Who was forgotten since the backup stays so, and who came back since is one of the zone's.
  private func carryForgotten() throws {
    for zone in try connection.zones() {
      guard let known = known(zone), known.generation == zone.generation,
        let forgotten = former.forgotten[zone.zoneID]
      else { continue }
      for replica in try ForgottenReplicas.all(of: zone.id, on: connection).subtracting(forgotten) {
        try ForgottenReplicas.remove(replica, of: zone.id, on: connection)
      }
      for replica in forgotten {
        try ForgottenReplicas.forget(replica, of: zone.id, on: connection)
      }
    }
  }

  /// Those that were there are those that are; the backup's alone are put back where nobody knows better.
  private func carryOperators() throws {
    if let operators = former.operators {
      try OperatorTokens.replace(by: operators, on: connection)
    } else if !former.unread.isEmpty, choices.unreadable == .revoke {
      try OperatorTokens.replace(by: [], on: connection)
    }
  }

  /// What was done since the backup was done, whatever it came to.
  private func carryAudit(_ backup: URL) throws {
    if let audit = former.audit {
      // Of the server that the backup is of, or of another that was begun here.
      let known = Set(audit)
      let before = try AuditLog.events(since: 0, on: connection).filter { !known.contains($0) }
      try AuditLog.replace(by: before + audit, on: connection)
    }
    let now = max(former.given, Administration.hostMilliseconds)
    try AuditLog.add(
      AuditEvent(.restored, subject: backup.lastPathComponent, at: now), on: connection)
  }

  private mutating func carryTokens() throws {
    let zones = try connection.zones()
    let zonesByUUID = Dictionary(zones.map { ($0.zoneID, $0) }) { first, _ in first }
    let zonesByNumber = Dictionary(zones.map { ($0.id, $0) }) { first, _ in first }
    let formerByNumber = Dictionary(former.zones.map { ($0.id, $0) }) { first, _ in first }
    for token in former.tokens {
      guard let formerZone = formerByNumber[token.zoneID],
        let zone = zonesByUUID[formerZone.zoneID]
      else { continue }
      // In another generation all replicas have other IDs.
      let binding =
        formerZone.generation == zone.generation ? token.binding : token.binding.renewed
      let there = try connection.token(id: token.id)
      if let there, there.revokedMilliseconds == token.revokedMilliseconds,
        there.expiresMilliseconds == token.expiresMilliseconds, there.name == token.name,
        there.binding == binding
      {
        continue
      }
      outcome.tokensKept += 1
      try connection.run(
        "INSERT OR REPLACE INTO token VALUES(?, ?, ?, ?, ?, ?)", .text(token.id),
        .blob(token.hash), .integer(zone.id), .integer(token.verbs.rawValue),
        .integer(token.createdMilliseconds),
        token.revokedMilliseconds.map { .integer($0) } ?? .null)
      try TokenNotes.set(
        token.id, name: token.name, expiresMilliseconds: token.expiresMilliseconds,
        on: connection)
      try TokenBindings.set(binding, of: token.id, on: connection)
    }
    let known = Set(former.tokens.map(\.id))
    for token in try connection.tokens()
    where token.revokedMilliseconds == nil && !known.contains(token.id) {
      // Where all can be read, a token that there is not any more was taken away.
      let isGone =
        former.unread.isEmpty && zonesByNumber[token.zoneID].flatMap(self.known) != nil
      guard isGone || !former.unread.isEmpty && choices.unreadable == .revoke else { continue }
      outcome.tokensRevoked += 1
      try connection.run(
        "UPDATE token SET revoked_ms = ? WHERE id = ?",
        .integer(max(former.given, Administration.hostMilliseconds)), .text(token.id))
    }
  }
}
