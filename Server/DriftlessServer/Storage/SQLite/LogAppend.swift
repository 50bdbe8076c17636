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

  /// - Throws: `ServerError`; the caller rolls back to before the push.
  func append(_ push: Push, to record: ZoneRecord) throws -> Appended {
    let zone = try current(record, push)
    let replica = try replica(of: push, zone: zone)
    if let answer = try repeated(push, replica) { return answer }
    try connection.check(push.cursor.mark, in: zone.record)
    if let mark = push.mark { try connection.check(mark, in: zone.record) }
    let sequence = zone.head + 1
    let isLast = sequence >= LogPosition.numberMax
    guard !isLast, zone.nextObject + push.contents.newCount < LogPosition.numberMax else {
      throw ServerError(
        .tooLarge, "the log of zone \(record.name) is full", suggestion: "Create a new zone.")
    }
    var index = ObjectIndex(
      connection: connection, properties: properties, zone: record.id,
      nextObject: zone.nextObject, cursor: push.cursor.sequence, head: zone.head,
      sequence: sequence,
      own: try ownFrames(replica.id, after: push.cursor.sequence, zone: record.id))
    try index.prepare()
    try IdentityIndex(connection: connection, zone: record.id, head: zone.head)
      .insert(push.contents.identities, firstNumber: zone.nextObject)
    for touch in push.contents.touches { try index.apply(touch) }
    let chain = zone.record.chain.next(
      digest: push.digest, sequence: sequence, firstObjectNumber: zone.nextObject)
    try store(push, sequence: sequence, chain: chain, replica: replica.id, zone: zone)
    return Appended(
      sequence: sequence, firstObjectNumber: zone.nextObject, chain: chain, isRepeat: false)
  }

  // MARK: - Zone

  private struct Zone {
    let record: ZoneRecord
    let nextObject: UInt64

    var id: Int64 { record.id }
    var head: UInt64 { record.head }
  }

  private func current(_ record: ZoneRecord, _ push: Push) throws -> Zone {
    let statement = try connection.prepare("SELECT next_object FROM zone WHERE id = ?")
    defer { statement.reset() }
    statement.bind(record.id, at: 1)
    guard let current = try connection.zone(named: record.name), try statement.step() else {
      throw ServerError(
        .noZone, "there is no zone \(record.name)", suggestion: "Ask the operator for its name.")
    }
    guard current.generation == push.cursor.generation else {
      throw ServerError.generationChanged(zone: record.name)
    }
    return Zone(record: current, nextObject: UInt64(clamping: statement.int64(0)))
  }

  // MARK: - Replica and repeats

  private struct Replica {
    let id: Int64
    let lastPush: UInt64
  }

  private func replica(of push: Push, zone: Zone) throws -> Replica {
    try checkOwnership(of: push.replica, zone: zone.id)
    if let row = try connection.replicaRow(push.replica) {
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
    insert.bind(push.replica.bytes, at: 2)
    try insert.run()
    return Replica(id: connection.lastInsertRowID, lastPush: 0)
  }

  /// A replica lives in one zone: a token of another zone cannot speak in its name.
  private func checkOwnership(of replica: UUID, zone: Int64) throws {
    let statement = try connection.prepare(
      "SELECT 1 FROM replica WHERE uuid = ? AND zone <> ? LIMIT 1")
    defer { statement.reset() }
    statement.bind(replica.bytes, at: 1)
    statement.bind(zone, at: 2)
    guard try !statement.step() else {
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
    _ push: Push, sequence: UInt64, chain: LogChain, replica: Int64, zone: Zone
  ) throws {
    let insert = try connection.prepare("INSERT INTO log VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    defer { insert.reset() }
    insert.bind(LogPosition.of(zone: zone.id, number: sequence), at: 1)
    insert.bind(replica, at: 2)
    insert.bind(Int64(clamping: push.number), at: 3)
    insert.bind(Int64(clamping: zone.nextObject), at: 4)
    insert.bind(Int64(clamping: push.contents.newCount), at: 5)
    insert.bind(nowMilliseconds, at: 6)
    insert.bind(push.digest, at: 7)
    insert.bind(chain.bytes, at: 8)
    insert.bind(Int64(push.frame.count), at: 9)
    insert.bind(push.frame.prefix(ChangeSetHeader.size), at: 10)
    insert.bind(push.frame.dropFirst(ChangeSetHeader.size), at: 11)
    try insert.run()

    let head = try connection.prepare(
      "UPDATE zone SET head = ?, next_object = ?, chain = ? WHERE id = ?")
    defer { head.reset() }
    head.bind(Int64(clamping: sequence), at: 1)
    head.bind(Int64(clamping: zone.nextObject + push.contents.newCount), at: 2)
    head.bind(chain.bytes, at: 3)
    head.bind(zone.id, at: 4)
    try head.run()

    let last = try connection.prepare("UPDATE replica SET last_push = ? WHERE id = ?")
    defer { last.reset() }
    last.bind(Int64(clamping: push.number), at: 1)
    last.bind(replica, at: 2)
    try last.run()
  }
}

extension ServerError {
  static func generationChanged(zone: String) -> ServerError {
    ServerError(
      .generationChanged, "the zone \(zone) has another generation than the replica knows",
      suggestion: "The zone was restored or created anew: enrol the store again.")
  }
}
