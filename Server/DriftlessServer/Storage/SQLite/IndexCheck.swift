import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What follows from a log, and what belongs to no log.
extension DatabaseCheck {
  mutating func checkIndex(of zone: ZoneRecord) throws {
    try checkObjects(of: zone)
    try checkIdentities(of: zone)
    // Each gives the rows that are wrong: their place in words, and what is wrong.
    let checks: [(table: String, sql: String)] = [
      (
        "claim",
        """
        SELECT 'object ' || claim.object, CASE
          WHEN key_rule.id IS NULL THEN 'its constraint is not known'
          WHEN claim.object >= ?2 THEN 'the object was never made'
          WHEN object.deleted > 0 THEN 'the object is deleted' ELSE 'its hash is none' END
        FROM claim LEFT JOIN key_rule ON key_rule.id = claim.rule
        LEFT JOIN object ON object.position = ?1 << 40 | claim.object
        WHERE claim.zone = ?1 AND (key_rule.id IS NULL OR claim.object NOT BETWEEN 1 AND ?2 - 1
          OR object.deleted > 0 OR length(claim.hash) <> 16 OR ?3 < 0)
        """
      ),
      (
        "tombstone",
        """
        SELECT hex(identity), 'it names no entry, or is no identity' FROM tombstone
        WHERE zone = ?1 AND (sequence NOT BETWEEN 1 AND ?3 OR length(identity) <> 16 OR ?2 < 0)
        """
      ),
      (
        "replica",
        """
        SELECT lower(hex(replica.uuid)), 'its last push is ' || last_push || ', and the log has '
          || coalesce(max(entry.number), 0)
        FROM replica LEFT JOIN entry ON entry.replica = replica.id
        WHERE replica.zone = ?1 AND ?2 >= 0 AND ?3 >= 0 GROUP BY replica.id
        HAVING last_push < coalesce(max(entry.number), 0) OR length(replica.uuid) <> 16
        """
      ),
    ]
    for check in checks {
      let rows = try connection.rows(
        check.sql + Self.limit, .integer(zone.id), .integer(Int64(clamping: zone.nextObject)),
        .integer(Int64(clamping: zone.head)))
      for row in rows { noteRow(check.table, zone.name, row, Self.byRenewal(zone.name)) }
    }
  }

  /// More rows of one table are not listed anyway.
  private static let limit = "\nLIMIT \(damageMax + 1)"

  private mutating func noteRow(
    _ table: String, _ zone: String?, _ row: [SQLiteValue], _ suggestion: String = Self.byBackup
  ) {
    guard row.count == 2, case .text(let place) = row[0], case .text(let message) = row[1] else {
      return
    }
    note(table, zone, place, message, suggestion)
  }

  private mutating func checkObjects(of zone: ZoneRecord) throws {
    let properties = try connection.integer("SELECT coalesce(max(id), 0) FROM property") ?? 0
    let statement = try connection.prepareUncached(
      """
      SELECT position, base, deleted, properties, named, named_before, named_by = 0
        OR EXISTS (SELECT 1 FROM replica WHERE id = named_by AND zone = ?1)
      FROM object WHERE position >= ?2 AND position < ?3
      """)
    statement.bind([
      .integer(zone.id), .integer(LogPosition.of(zone: zone.id, number: 0)),
      .integer(LogPosition.of(zone: zone.id &+ 1, number: 0)),
    ])
    while try statement.step() {
      let number = LogPosition.number(statement.int64(0))
      var damages: [String] = []
      if number == 0 || number >= zone.nextObject { damages.append("it was never made") }
      let sequences = [1, 2, 4, 5].map { UInt64(clamping: statement.int64($0)) }
      if sequences.contains(where: { $0 > zone.head }) {
        damages.append("it names an entry that the log does not have")
      }
      if statement.int64(6) == 0 { damages.append("it was named by a replica that is not known") }
      if let list = try? PropertySequences(encoded: statement.data(3)) {
        if list.pairs.contains(where: {
          $0.sequence > zone.head || $0.property > UInt64(clamping: properties)
        }) {
          damages.append("its properties name what there is not")
        }
      } else {
        damages.append("its list of properties cannot be read")
      }
      for damage in damages {
        note("object", zone.name, "object \(number)", damage, Self.byRenewal(zone.name))
      }
    }
  }

  /// Each object that was made has one identity.
  private mutating func checkIdentities(of zone: ZoneRecord) throws {
    let statement = try connection.prepareUncached(
      "SELECT first, count, number FROM identity WHERE zone = ? ORDER BY number")
    statement.bind(zone.id, at: 1)
    var next: UInt64 = 1
    while try statement.step() {
      let first = UInt64(clamping: statement.int64(2))
      if statement.data(0).count != 16 {
        note(
          "identity", zone.name, "object \(first)", "it is no identity",
          Self.byRenewal(zone.name))
      }
      if first != next {
        note(
          "identity", zone.name, "object \(min(first, next))",
          first > next ? "it has no identity" : "it has two identities",
          Self.byRenewal(zone.name))
      }
      next = first + UInt64(clamping: statement.int64(1))
    }
    if next != zone.nextObject {
      note(
        "identity", zone.name, "object \(min(next, zone.nextObject))",
        next < zone.nextObject ? "it has no identity" : "it was never made",
        Self.byRenewal(zone.name))
    }
  }

  /// Parts of pushes that wait for the last one: replicas send again what is not whole.
  private mutating func checkStaged() throws {
    let suggestion =
      "Where nothing else is wrong, leave it: the replica sends it again, or it goes after a week."
    for row in try connection.rows(
      """
      SELECT 'replica ' || lower(hex(replica)), CASE WHEN length(replica) <> 16 THEN 'it is none'
        WHEN zone NOT IN (SELECT id FROM zone) THEN 'its zone is not there'
        ELSE 'it has no time' END
      FROM staging WHERE length(replica) <> 16 OR zone NOT IN (SELECT id FROM zone)
        OR typeof(touched_ms) <> 'integer' OR touched_ms < 0\(Self.limit)
      """)
    { noteRow("staging", nil, row, suggestion) }
    let statement = try connection.prepareUncached(
      """
      SELECT staged.replica, number, part, size, frame, zone.name, staging.replica IS NULL
      FROM staged LEFT JOIN zone ON zone.id = staged.zone
        LEFT JOIN staging ON staging.replica = staged.replica
      """)
    while try statement.step() {
      let frame = statement.data(4)
      let header = try? ChangeSetDecoder().decodeHeader(frame)
      let zone: String? = statement.isNull(5) ? nil : statement.string(5)
      var message: String?
      if zone == nil {
        message = "its zone is not there"
      } else if statement.int64(6) != 0 {
        message = "nothing says since when it waits"
      } else if !ChangeSetHeader.isWhole(frame) || Int64(frame.count) != statement.int64(3) {
        message = "its bytes are damaged"
      } else if header?.replica.bytes != statement.data(0)
        || header?.pushNumber != UInt64(clamping: statement.int64(1))
        || Int64(header?.part ?? 0) != statement.int64(2) || header?.isFollowedByParts != true
      {
        message = "its header says another place"
      }
      guard let message else { continue }
      note(
        "staged", zone, "part \(statement.int64(2)) of push \(statement.int64(1))", message,
        suggestion)
    }
  }

  /// What belongs to no zone, or to one that there is not.
  mutating func checkOthers() throws {
    let checks: [(table: String, sql: String)] = [
      (
        "token_note",
        "SELECT id, 'its token is not there' FROM token_note WHERE id NOT IN (SELECT id FROM token)"
      ),
      (
        "token_binding",
        """
        SELECT id, 'its replica is none' FROM token_binding
        WHERE replica IS NOT NULL AND length(replica) <> 16
        """
      ),
      (
        "property",
        "SELECT 'property ' || id, 'it has no name' FROM property WHERE length(name) = 0"
      ),
      (
        "key_rule",
        "SELECT 'constraint ' || id, 'it is no list' FROM key_rule WHERE NOT json_valid(name)"
      ),
      (
        "clock",
        "SELECT 'row ' || id, 'its time is none' FROM clock WHERE typeof(given_ms) <> 'integer' OR given_ms NOT BETWEEN 0 AND \(GivenTimes.latest) OR id <> 1"
      ),
    ]
    let there = try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    if there.contains([.text("staged")]) { try checkStaged() }
    for check in RowChecks.ofAccess + checks where there.contains([.text(check.table)]) {
      let suggestion = check.table == "enrolment_code" ? Self.byRevoking : Self.byBackup
      for row in try connection.rows(check.sql + Self.limit) {
        noteRow(check.table, nil, row, suggestion)
      }
    }
    for table in ["log", "object"] {
      for row in try connection.rows(
        """
        SELECT 'position ' || position, 'its zone is not there' FROM \(table)
        WHERE position >> 40 NOT IN (SELECT id FROM zone)\(Self.limit)
        """)
      { noteRow(table, nil, row) }
    }
    for table in [
      "identity", "claim", "tombstone", "replica", "sighting", "zone_property", "forgotten_replica",
    ]
    where there.contains([.text(table)]) {
      for row in try connection.rows(
        """
        SELECT 'zone ' || zone, 'it is not there' FROM \(table)
        WHERE zone NOT IN (SELECT id FROM zone) GROUP BY zone\(Self.limit)
        """)
      { noteRow(table, nil, row) }
    }
  }
}
