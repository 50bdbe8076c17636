import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What happens to one push inside the database transaction: is it a repeat, is it stale, and if
/// neither, its place in the log and in the index.
struct LogAppend {
  let connection: SQLiteConnection
  let properties: PropertyNames
  let limits: ServerLimits
  let nowMilliseconds: Int64

  /// - Throws: `ServerError`, `ProtocolError`; the caller rolls back to before the push.
  func append(_ push: Push, to record: ZoneRecord) throws -> Appended {
    let zone = try current(record, push.cursor.generation)
    let replica = try replica(of: push.replica, zone: zone)
    if let answer = try repeated(push, replica) { return answer }
    try connection.check(push.cursor.mark, in: zone)
    if let mark = push.mark { try connection.check(mark, in: zone) }
    try checkClock(push.contents, zone)
    return try enter(push, zone, replica)
  }

  /// Takes back an entry that the log lost; nil when it has it.
  ///
  /// - Throws: `ServerError` (`.diverged` when the log does not go on with it).
  func refill(_ entry: PullPage.Entry, _ push: Push, of record: ZoneRecord) throws -> Appended? {
    let zone = try current(record, push.cursor.generation)
    guard entry.sequence > zone.head else {
      try connection.check(entry.mark, in: zone)
      return nil
    }
    guard entry.follows(LogMark(sequence: zone.head, chain: zone.chain)),
      entry.firstObjectNumber == zone.nextObject
    else { throw ServerError.diverged(at: entry.sequence, zone) }
    let replica = try replica(of: push.replica, zone: zone)
    guard push.number > replica.lastPush else {
      throw ServerError.diverged(at: entry.sequence, zone)
    }
    return try enter(push, zone, replica, isRefill: true)
  }

  private func enter(
    _ push: Push, _ zone: ZoneRecord, _ replica: Replica, isRefill: Bool = false
  ) throws -> Appended {
    guard push.formatLevel <= zone.formatLevel else {
      throw ProtocolError(
        .unsupported,
        "the change set is of format level \(push.formatLevel), the zone of \(zone.formatLevel)",
        suggestion: "Write it at the zone's level, or raise that.")
    }
    let sequence = zone.head + 1
    let isLast = sequence >= LogPosition.numberMax
    guard !isLast, zone.nextObject + push.contents.newCount < LogPosition.numberMax else {
      throw ServerError(
        .tooLarge, "the log of zone \(zone.name) is full", suggestion: "Create a new zone.")
    }
    var hasNews = true
    do {
      try index(
        push, zone, replica, sequence: sequence, isRefill: isRefill, hasNews: &hasNews)
    } catch let refusal as ProtocolError {
      guard !isRefill else {
        throw ServerError(
          .malformed, "entry \(sequence) contradicts the log: \(refusal.message)",
          suggestion: "Sync without it: what the store holds is offered.", head: zone.head)
      }
      var error = ServerError(refusal, head: zone.head)
      error.hasNews = hasNews
      throw error
    }
    let chain = zone.chain.next(
      digest: push.digest, sequence: sequence, firstObjectNumber: zone.nextObject)
    try store(push, sequence: sequence, chain: chain, replica: replica.id, zone: zone)
    return Appended(
      sequence: sequence, firstObjectNumber: zone.nextObject, chain: chain, isRepeat: false)
  }

  /// - Parameter hasNews: whether a pull brings something of what makes the push stale.
  /// - Throws: `ProtocolError` (`.stale`).
  private func index(
    _ push: Push, _ zone: ZoneRecord, _ replica: Replica, sequence: UInt64, isRefill: Bool,
    hasNews: inout Bool
  ) throws {
    // What another server has checked is no news to a refill.
    let cursor = isRefill ? zone.head : push.cursor.sequence
    let own = try ownFrames(replica.id, after: cursor, zone: zone.id)
    var index = ObjectIndex(
      connection: connection, properties: properties, zone: zone.id, nextObject: zone.nextObject,
      cursor: cursor, head: zone.head, sequence: sequence, replica: replica.id, own: own)
    try index.prepare()
    var stale = StaleObjects()
    for reliance in push.contents.relied { try index.check(reliance, stale: &stale) }
    let identities = IdentityIndex(connection: connection, zone: zone.id, objects: index)
    try identities.check(tombstones: push.contents.tombstones, stale: &stale)
    try identities.checkTombstones(
      of: push.contents.identities, after: cursor, own: own, stale: &stale)
    try identities.bury(push.contents.tombstones, sequence: sequence)
    try identities.insert(push.contents.identities, firstNumber: zone.nextObject, stale: &stale)
    for touch in push.contents.touches { try index.apply(touch, stale: &stale) }
    try index.name(push.contents.named, stale: &stale)
    try KeyIndex(connection: connection, zone: zone.id, objects: index)
      .apply(push.contents, firstNumber: zone.nextObject, stale: &stale)
    hasNews = stale.hasNews
    try stale.throwIfAny()
  }

  /// A clock that runs ahead would win every conflict until the others catch up. What the zone has
  /// already is no harm: a server clock that was fast for a day must not stop those that heard it.
  private func checkClock(_ contents: Push.Contents, _ zone: ZoneRecord) throws {
    let now = UInt64(clamping: nowMilliseconds)
    let limit = max(now + UInt64(limits.clockAheadMillisecondsMax), zone.newestMilliseconds)
    guard contents.newestMilliseconds > limit else { return }
    var error = ServerError(
      .clockAhead,
      "a change of the push lies \((contents.newestMilliseconds - now) / 1000) seconds ahead of the "
        + "server's clock, \(now) milliseconds since 1970",
      suggestion: "Set the clock of the host that made the change, and of the server, right.",
      head: zone.head)
    error.serverTimeMilliseconds = now
    throw error
  }

  // MARK: - Zone

  private func current(_ record: ZoneRecord, _ generation: UUID) throws -> ZoneRecord {
    guard let zone = try connection.zone(named: record.name) else {
      throw ServerError(
        .noZone, "there is no zone \(record.name)", suggestion: "Ask the operator for its name.")
    }
    guard zone.generation == generation else {
      throw ServerError.generationChanged(zone: record.name)
    }
    return zone
  }

  // MARK: - Replica and repeats

  private struct Replica {
    let id: Int64
    let lastPush: UInt64
  }

  private func replica(of replica: UUID, zone: ZoneRecord) throws -> Replica {
    if let row = try connection.replicaRow(replica) {
      try checkOwnership(row.zone, zone: zone.id)
      return Replica(id: row.id, lastPush: row.lastPush)
    }
    let count = try connection.prepare("SELECT count(*) FROM replica WHERE zone = ?")
    defer { count.reset() }
    count.bind(zone.id, at: 1)
    guard try count.step(), count.int64(0) < Int64(limits.replicasPerZoneMax) else {
      throw ServerError(
        .tooLarge, "the zone already knows \(limits.replicasPerZoneMax) replicas",
        suggestion: "Enrol into another zone, or ask the operator to raise replicasPerZoneMax.")
    }
    let insert = try connection.prepare(
      "INSERT INTO replica(zone, uuid, last_push) VALUES(?, ?, 0)")
    defer { insert.reset() }
    insert.bind(zone.id, at: 1)
    insert.bind(replica.bytes, at: 2)
    try insert.run()
    return Replica(id: connection.lastInsertRowID, lastPush: 0)
  }

  /// A replica lives in one zone: a token of another zone cannot speak in its name.
  private func checkOwnership(_ owner: Int64, zone: Int64) throws {
    guard owner == zone else {
      throw ServerError(
        .forbidden, "the replica belongs to another zone",
        suggestion: "Enrol the store again, so that it gets a replica ID of its own.")
    }
  }

  /// The answer that this push got before; nil when it is a new one.
  private func repeated(_ push: Push, _ replica: Replica) throws -> Appended? {
    guard push.number <= replica.lastPush else { return nil }
    let statement = try connection.prepare(
      "SELECT position, first_object, digest, chain FROM log WHERE replica = ? AND number = ?")
    defer { statement.reset() }
    statement.bind(replica.id, at: 1)
    statement.bind(Int64(clamping: push.number), at: 2)
    guard try statement.step(), statement.data(2) == push.digest else {
      throw ServerError(
        .forked, "push number \(push.number) of this replica was something else",
        suggestion: "The store is a copy or was restored: give it a new replica ID.")
    }
    return Appended(
      sequence: LogPosition.number(statement.int64(0)),
      firstObjectNumber: UInt64(clamping: statement.int64(1)),
      chain: try connection.chain(statement.data(3)), isRepeat: true)
  }

  /// The replica's own change sets above the cursor that it pushes on: it knows what they say.
  private func ownFrames(_ replica: Int64, after cursor: UInt64, zone: Int64) throws -> OwnFrames {
    let statement = try connection.prepare(
      """
      SELECT position, first_object, new_objects FROM log
      WHERE replica = ? AND position > ? ORDER BY number DESC LIMIT 100000
      """)
    defer { statement.reset() }
    statement.bind(replica, at: 1)
    statement.bind(LogPosition.of(zone: zone, number: cursor), at: 2)
    var own = OwnFrames()
    while try statement.step() {
      own.add(
        sequence: LogPosition.number(statement.int64(0)),
        firstObject: UInt64(clamping: statement.int64(1)),
        count: UInt64(clamping: statement.int64(2)))
    }
    return own
  }

  // MARK: - Log

  private func store(
    _ push: Push, sequence: UInt64, chain: LogChain, replica: Int64, zone: ZoneRecord
  ) throws {
    let insert = try connection.prepare(
      "INSERT INTO log VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    defer { insert.reset() }
    insert.bind(LogPosition.of(zone: zone.id, number: sequence), at: 1)
    insert.bind(replica, at: 2)
    insert.bind(Int64(clamping: push.number), at: 3)
    insert.bind(Int64(clamping: zone.nextObject), at: 4)
    insert.bind(Int64(clamping: push.contents.newCount), at: 5)
    insert.bind(nowMilliseconds, at: 6)
    insert.bind(push.digest, at: 7)
    insert.bind(chain.bytes, at: 8)
    insert.bind(push.contents.names, at: 9)
    insert.bind(Int64(push.frame.count), at: 10)
    insert.bind(push.frame.prefix(ChangeSetHeader.size), at: 11)
    insert.bind(push.frame.dropFirst(ChangeSetHeader.size), at: 12)
    try insert.run()

    let head = try connection.prepare(
      "UPDATE zone SET head = ?, next_object = ?, chain = ?, newest_ms = max(newest_ms, ?) WHERE id = ?"
    )
    defer { head.reset() }
    head.bind(Int64(clamping: sequence), at: 1)
    head.bind(Int64(clamping: zone.nextObject + push.contents.newCount), at: 2)
    head.bind(chain.bytes, at: 3)
    head.bind(Int64(clamping: push.contents.newestMilliseconds), at: 4)
    head.bind(zone.id, at: 5)
    try head.run()

    let last = try connection.prepare("UPDATE replica SET last_push = ? WHERE id = ?")
    defer { last.reset() }
    last.bind(Int64(clamping: push.number), at: 1)
    last.bind(replica, at: 2)
    try last.run()
  }
}

extension ServerError {
  static func diverged(at sequence: UInt64, _ zone: ZoneRecord) -> ServerError {
    ServerError(
      .diverged,
      "what the replica knows of entry \(sequence) is not the log of zone \(zone.name)",
      suggestion: "The server was put back to an older copy: sync brings back what it lost.",
      head: zone.head)
  }

  static func generationChanged(zone: String) -> ServerError {
    ServerError(
      .generationChanged, "the zone \(zone) has another generation than the replica knows",
      suggestion: "The zone was restored or created anew: enrol the store again.")
  }
}
