import DriftlessProtocol
import Foundation

/// What happens to one push inside the database transaction: is it a repeat, is it stale, and if
/// neither, its place in the log and in the index. The rules of every storage; they know of the database what ``ZoneTables`` says.
///
///     let tables = MyTables(transaction)
///     let appended = try LogAppend(tables: tables, limits: limits, nowMilliseconds: now).append(push, to: zone)
///
/// What is thrown refuses the push: who calls takes back what the tables were told since before it, and hands the refusal on
/// (``ServerError/init(refusal:)``).
public struct LogAppend<Tables: ZoneTables> {
  let tables: Tables
  let limits: ServerLimits
  let nowMilliseconds: Int64

  /// The rules, for one transaction.
  ///
  /// - Parameters:
  ///   - tables: what the transaction reads and writes.
  ///   - limits: the server's bounds.
  ///   - nowMilliseconds: the server's time. Since 1970.
  public init(tables: Tables, limits: ServerLimits, nowMilliseconds: Int64) {
    self.tables = tables
    self.limits = limits
    self.nowMilliseconds = nowMilliseconds
  }

  /// Appends a push, or finds that the log has it; of one in several parts the last brings all of them.
  ///
  /// - Throws: `ServerError`, `ProtocolError`; the caller rolls back to before the push.
  public func append(_ push: Push, to record: ZoneRecord) throws -> Appended {
    let zone = try current(record, push.cursor.generation)
    let replica = try replica(of: push.replica, zone: zone)
    if let answer = try repeated(push, replica, in: zone) { return answer }
    try check(push.cursor.mark, in: zone)
    if let mark = push.mark { try check(mark, in: zone) }
    try checkFloor(push.cursor.mark, in: zone)
    try checkClock(push.contents, zone)
    guard push.part == nil else { return try publish(push, zone, replica) }
    return try enter(push, zone, replica)
  }

  /// Takes back an entry that the log lost; nil when it has it.
  ///
  /// - Throws: `ServerError`: `.diverged` when the log does not go on with it; `.zoneFull` and `.clockAhead` for what a push could
  ///   not bring either, where the log was not put back.
  func refill(_ entry: PullPage.Entry, _ push: Push, of record: ZoneRecord) throws -> Appended? {
    let zone = try current(record, push.cursor.generation)
    guard entry.sequence > zone.head else {
      try check(entry.mark, in: zone)
      return nil
    }
    guard entry.follows(LogMark(sequence: zone.head, chain: zone.chain)),
      entry.firstObjectNumber == zone.nextObject
    else { throw ServerError.diverged(at: entry.sequence, zone) }
    let replica = try replica(of: push.replica, zone: zone, isRefill: true)
    // The parts of a push have one number.
    let isNext = push.part.map { $0.part > 1 } == true && push.number == replica.lastPush
    guard isNext || push.number > replica.lastPush else {
      throw ServerError.diverged(at: entry.sequence, zone)
    }
    try checkClock(push.contents, zone, isRefill: true)
    return try enter(push, zone, replica, isRefill: true)
  }

  func enter(
    _ push: Push, _ zone: ZoneRecord, _ replica: KnownReplica, isRefill: Bool = false,
    isProbe: Bool = false
  ) throws -> Appended {
    guard push.formatLevel <= zone.formatLevel else {
      throw ProtocolError.tooHighFormat(push.formatLevel, zone)
    }
    let sequence = zone.head + 1
    let isLast = sequence >= LogBounds.numberMax
    guard !isLast, zone.nextObject + push.contents.newCount < LogBounds.numberMax else {
      throw ServerError(
        .zoneFull, "the log of zone \(zone.name) is full",
        suggestion: "Ask the operator for a new zone, or to renew this one.")
    }
    if !isRefill || !zone.isPutBack { try checkLimits(push, zone, isRefill: isRefill) }
    let replica = try isRefill ? replica : remembered(replica, push, zone)
    var hasNews = true
    do {
      try index(
        push, zone, replica, sequence: sequence, isRefill: isRefill, isProbe: isProbe,
        hasNews: &hasNews)
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
    try use(push.contents.values, of: zone, sequence: sequence, isRefill: isRefill)
    let chain = zone.chain.next(
      digest: push.digest, sequence: sequence, firstObjectNumber: zone.nextObject)
    // What is only tried is taken back, and a first part has megabytes.
    if !isProbe {
      try tables.append(
        NewEntry(
          push: push, sequence: sequence, chain: chain, replica: replica,
          receivedMilliseconds: nowMilliseconds, isRefill: isRefill), to: zone)
    }
    return Appended(
      sequence: sequence, firstObjectNumber: zone.nextObject, chain: chain, isRepeat: false)
  }

  /// What was acknowledged once comes back to a log that was put back whatever the zone's bounds are by now. Where nothing but the
  /// one who sends it says that, it could be anything: a refill has little more room than a push then.
  ///
  /// - Throws: `ServerError` (`.zoneFull`) where the entry would pass a bound of its zone.
  private func checkLimits(_ push: Push, _ zone: ZoneRecord, isRefill: Bool) throws {
    if let most = zone.limits.logEntriesMax {
      let count = zone.head - min(zone.head, try tables.floor(of: zone))
      guard count < UInt64(isRefill ? ZoneLimits.refillMost(most) : most) else {
        throw ServerError.zoneIsFull(zone, "logEntriesMax", "has \(count) entries in its log")
      }
    }
    try checkBytes(push.frame.count, push, zone, isRefill: isRefill)
  }

  /// Looks whether the zone has room for a push whose parts wait beside the log: with those that wait, and as much as the push will
  /// have. What is left of other pushes of its replica goes by itself.
  func checkRoom(for part: Push, _ header: ChangeSetHeader, in zone: ZoneRecord) throws {
    guard zone.limits.logBytesMax != nil else { return }
    let own = try tables.stagedBytes(beside: part, header) + part.frame.count
    try checkBytes(max(own, Int(header.pushMebibytes) << 20), part, zone)
  }

  /// Parts that wait take the room that they will have in the log.
  private func checkBytes(
    _ count: Int, _ push: Push, _ zone: ZoneRecord, isRefill: Bool = false
  ) throws {
    guard let bound = zone.limits.logBytesMax else { return }
    let most = isRefill ? ZoneLimits.refillMost(bound) : bound
    let bytes = try tables.logBytes(of: zone)
    let staged = try tables.stagedBytes(of: zone, butOf: push.replica)
    let taken = bytes.addingReportingOverflow(staged)
    guard !taken.overflow, count <= most - min(taken.partialValue, most) else {
      let waiting = staged > 0 ? ", and \(staged) in parts of large pushes that wait" : ""
      throw ServerError.zoneIsFull(
        zone, "logBytesMax", "has \(bytes) bytes in its log\(waiting); \(count) more would come")
    }
  }

  /// What a refill brings back may name what nobody has any more: the rest of it is wanted all the same.
  private func use(
    _ values: [LargeValue], of zone: ZoneRecord, sequence: UInt64, isRefill: Bool
  ) throws {
    guard !values.isEmpty else { return }
    let missing = isRefill ? [] : try tables.missing(values, zone: zone.id)
    guard missing.isEmpty else {
      throw ServerError(ProtocolError.valuesMissing(missing, head: zone.head))
    }
    try tables.use(values, zone: zone.id, sequence: sequence)
  }

  /// - Parameters:
  ///   - isProbe: other parts of the push, which may let go of keys, are not there yet.
  ///   - hasNews: whether a pull brings something of what makes the push stale.
  /// - Throws: `ProtocolError` (`.stale`), `ServerError` (`.forked`).
  private func index(
    _ push: Push, _ zone: ZoneRecord, _ replica: KnownReplica, sequence: UInt64, isRefill: Bool,
    isProbe: Bool, hasNews: inout Bool
  ) throws {
    // What another server has checked is no news to a refill.
    let cursor = isRefill ? zone.head : push.cursor.sequence
    let own = try cursor < zone.head ? tables.ownFrames(of: replica, after: cursor) : OwnFrames()
    // What another copy of the store sent under the same ID is news to this one, and none of its own. Before a later part of
    // a push stand those of the same push.
    let isFirst = push.part.map { $0.part == 1 } ?? true
    if !isRefill, isFirst, let mark = push.mark, let newest = own.newest, newest > mark.sequence {
      throw ServerError(
        .forked, "entry \(newest) came from this replica, which does not know of it",
        suggestion: "The store is a copy or was restored: give it a new replica ID.",
        head: zone.head)
    }
    var index = ObjectIndex(
      tables: tables, zone: zone.id, nextObject: zone.nextObject, cursor: cursor, head: zone.head,
      sequence: sequence, replica: replica.id, own: own, limits: limits)
    try index.prepare()
    var stale = StaleObjects()
    for reliance in push.contents.relied { try index.check(reliance, stale: &stale) }
    let identities = IdentityIndex(tables: tables, zone: zone.id, objects: index)
    try identities.check(tombstones: push.contents.tombstones, stale: &stale)
    try identities.checkTombstones(
      of: push.contents.identities, after: cursor, own: own, stale: &stale)
    try identities.bury(push.contents.tombstones, sequence: sequence)
    try identities.insert(push.contents.identities, firstNumber: zone.nextObject, stale: &stale)
    try index.apply(push.contents.touches, stale: &stale)
    try index.name(push.contents.named, stale: &stale)
    if !isProbe {
      try KeyIndex(tables: tables, zone: zone.id, objects: index)
        .apply(push.contents, firstNumber: zone.nextObject, stale: &stale)
    }
    hasNews = stale.hasNews
    try stale.throwIfAny()
  }

  /// A clock that runs ahead would win every conflict until the others catch up. What the zone has
  /// already is no harm: a server clock that was fast for a day must not stop those that heard it.
  ///
  /// - Parameter isRefill: another server's clock may have let it in. Where the log was put back, that is so.
  func checkClock(_ contents: Push.Contents, _ zone: ZoneRecord, isRefill: Bool = false) throws {
    guard !isRefill || !zone.isPutBack else { return }
    let now = UInt64(clamping: nowMilliseconds)
    let ahead = UInt64(limits.clockAheadMillisecondsMax) * (isRefill ? 2 : 1)
    let limit = max(now + ahead, zone.newestMilliseconds)
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

  func current(_ record: ZoneRecord, _ generation: UUID) throws -> ZoneRecord {
    guard let zone = try tables.zone(named: record.name) else {
      throw ServerError.noZone(record.name)
    }
    guard zone.generation == generation else {
      throw ServerError.generationChanged(zone: record.name)
    }
    return zone
  }

  /// - Throws: `ServerError` (`.diverged`) when a place is not the log's own.
  func check(_ place: LogMark, in zone: ZoneRecord) throws {
    guard try tables.place(at: place.sequence, of: zone) == place else {
      throw ServerError.diverged(at: place.sequence, zone)
    }
  }

  /// - Throws: `ServerError` (`.purged`) where the log does not go on from the place any more.
  func checkFloor(_ place: LogMark, in zone: ZoneRecord) throws {
    let floor = try tables.floor(of: zone)
    guard place.sequence >= floor else {
      throw ServerError.purged(at: place.sequence, floor: floor, zone)
    }
  }

  // MARK: - Replica and repeats

  /// - Parameter isRefill: it was one of the zone's once: no bound keeps it out, and where there is no room among those that are
  ///   counted it is not.
  func replica(
    of replica: UUID, zone: ZoneRecord, isRefill: Bool = false
  ) throws -> KnownReplica {
    if let known = try tables.replica(replica) {
      // A replica lives in one zone: a token of another zone cannot speak in its name.
      guard known.zone == zone.id else {
        throw ServerError(
          .forbidden, "the replica belongs to another zone",
          suggestion: "Enrol the store again, so that it gets a replica ID of its own.")
      }
      return known
    }
    let hasRoom = try hasRoom(in: zone)
    guard hasRoom || isRefill else { throw noRoom(in: zone) }
    return try tables.add(replica, to: zone.id, isForgotten: !hasRoom)
  }

  /// A replica that was forgotten and goes on is one of the zone's again, as who comes for the first time.
  private func remembered(
    _ replica: KnownReplica, _ push: Push, _ zone: ZoneRecord
  ) throws -> KnownReplica {
    guard replica.isForgotten else { return replica }
    guard try hasRoom(in: zone) else { throw noRoom(in: zone) }
    try tables.remember(push.replica, of: zone.id)
    var remembered = replica
    remembered.isForgotten = false
    return remembered
  }

  private func replicasMax(of zone: ZoneRecord) -> Int {
    min(limits.replicasPerZoneMax, zone.limits.replicasMax ?? .max)
  }

  private func hasRoom(in zone: ZoneRecord) throws -> Bool {
    try tables.replicaCount(of: zone.id) < replicasMax(of: zone)
  }

  private func noRoom(in zone: ZoneRecord) -> ServerError {
    let most = replicasMax(of: zone)
    return ServerError(
      .zoneFull, "the zone \(zone.name) already knows \(most) replicas",
      suggestion: "Nothing is lost: it is sent again. Have the operator forget those that are gone "
        + "(driftless-server replica forget \(zone.name) --unseen-for DAYS), or raise "
        + (most < limits.replicasPerZoneMax
          ? "replicasMax (driftless-server zone limits \(zone.name) --set replicasMax=…)."
          : "replicasPerZoneMax (serve --limits)."),
      head: zone.head)
  }

  /// The answer that this push got before; nil when it is a new one.
  private func repeated(
    _ push: Push, _ replica: KnownReplica, in zone: ZoneRecord
  ) throws -> Appended? {
    guard push.number <= replica.lastPush else { return nil }
    guard let entry = try tables.entry(of: replica, number: push.number),
      entry.digest == push.digest
    else {
      throw ServerError(
        .forked, "push number \(push.number) of this replica was something else",
        suggestion: "The store is a copy or was restored: give it a new replica ID.")
    }
    if push.part != nil { try tables.dropStaged(of: push.replica, through: push.number) }
    let before = push.part.map { entry.sequence - min(UInt64($0.parts), entry.sequence) }
    return Appended(
      sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber, chain: entry.chain,
      chainBefore: try before.flatMap { try tables.place(at: $0, of: zone)?.chain },
      isRepeat: true)
  }
}

extension ServerError {
  static func noZone(_ name: String) -> ServerError {
    ServerError(
      .noZone, "there is no zone \(name)", suggestion: "Ask the operator for its name.")
  }

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
