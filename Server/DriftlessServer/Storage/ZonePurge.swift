import DriftlessProtocol
import Foundation

/// What a purge did, or would do.
public struct PurgeReport: Sendable {
  /// The name of the zone.
  public let zone: String
  /// The last entry whose change set goes; 0 for none.
  public let floor: UInt64
  /// The floor before.
  public let formerFloor: UInt64
  /// The last sequence number of the zone's log.
  public let head: UInt64
  /// What keeps the floor from being higher: `age`, `replica`, `staged`, `through` or `head`.
  public let bound: String
  /// Change sets that go, and their bytes.
  public let entries: Int
  /// Bytes of the change sets that go.
  public let bytes: Int64
  /// Where the snapshot stands that replicas below the floor take; nil where none was made.
  public let snapshotPlace: UInt64?
  /// Bytes of that snapshot.
  public let snapshotBytes: Int?
  /// Replicas that stand below the floor, those furthest behind first.
  public let below: [ReplicaReport]
  /// Whether nothing is changed, and what would be is told.
  public let isDryRun: Bool

  /// All that there is to say of one.
  public init(
    zone: String, floor: UInt64, formerFloor: UInt64, head: UInt64, bound: String, entries: Int,
    bytes: Int64, snapshotPlace: UInt64?, snapshotBytes: Int?, below: [ReplicaReport],
    isDryRun: Bool
  ) {
    self.zone = zone
    self.floor = floor
    self.formerFloor = formerFloor
    self.head = head
    self.bound = bound
    self.entries = entries
    self.bytes = bytes
    self.snapshotPlace = snapshotPlace
    self.snapshotBytes = snapshotBytes
    self.below = below
    self.isDryRun = isDryRun
  }
}

/// The database whose log is purged, while servers serve it or not.
protocol PurgePlace {
  associatedtype Tables: PurgeTables

  /// What is read there, outside a transaction.
  func tables(of zone: ZoneRecord) -> Tables

  /// - Throws: `ServerError` (`.locked`) where a program of before serves: it knows no floor, so to it the log would be another one
  ///   than the replicas' own.
  func checkServers() throws

  /// The last time that the server gave; 0 for none.
  func givenMilliseconds() throws -> Int64

  /// Whether a server runs, and keeps the time that it gives.
  func isServed() throws -> Bool

  /// Whether a purge has room.
  ///
  /// - Parameter bytes: as many as the log comes to at most; it is written twice, once beside the database.
  /// - Throws: `ServerError` (`.diskFull`).
  func requireRoom(for bytes: Int, of zone: ZoneRecord, _ options: PurgeOptions) throws

  /// Runs while nobody else folds or purges the zone.
  ///
  /// - Throws: `ServerError` (`.locked`).
  func withLock<Result>(of zone: ZoneRecord, _ body: () throws -> Result) throws -> Result

  /// Adds the log up by itself, whatever snapshot there is, while nobody else folds or purges the zone.
  ///
  /// - Parameters:
  ///   - last: the last entry that is taken in; nil for all. The end of a push.
  ///   - body: gets what the log comes to, and the bytes of its files, which are gone afterwards.
  /// - Throws: `ServerError` (`.locked`).
  func withFoldAnew<Result>(
    of zone: ZoneRecord, _ kept: KeptLog?, through last: UInt64?,
    _ body: (Snapshot, @escaping (Snapshot.File) throws -> Data) throws -> Result
  ) throws -> Result

  /// Lets go of what was folded before. Who calls has the lock of folds.
  func discardFolded(of zone: ZoneRecord) throws

  /// Runs a transaction in which nobody else writes to the zone, with the zone as it is by then.
  ///
  /// - Throws: `ServerError`: `.noZone`, `.generationChanged`.
  func write<Result>(to zone: ZoneRecord, _ body: (Tables) throws -> Result) throws -> Result

  /// Between two transactions pushes that wait have their turn.
  func giveWay()

  /// Between two portions what was written finds its place, so that the next one has the room.
  func makeRoom()
}

extension PurgePlace {
  /// What a purge reads next of a log; nil at its end.
  func request(after place: LogMark, through last: UInt64?) -> PageRequest? {
    let count = last.map { $0 - min($0, place.sequence) } ?? 1_000
    guard count > 0 else { return nil }
    return PageRequest(after: place, bytesMax: 4 << 20, entriesMax: Int(min(count, 1_000)))
  }
}

/// Shortens a zone's log up to a floor, while servers serve it or not. Replicas above the floor notice nothing; those
/// below it go on by what the log came to, which is kept in the database from then on.
///
/// First the log is added up anew, read again and looked at; then its files go into the database, one a transaction, and are
/// read back; then one transaction sets the floor; then the change sets go, some a transaction. Killed before the floor is
/// set, nothing has changed; killed after it, the next purge goes on.
struct ZonePurge<Place: PurgePlace> {
  let place: Place
  let zone: ZoneRecord
  let options: PurgeOptions
  /// Entries and bytes of one transaction: so long pushes wait.
  private var stripEntriesMax: Int64 { 250 }
  private var stripBytesMax: Int64 { 4 << 20 }
  private var stripValuesMax: Int64 { 2_000 }

  /// - Parameters:
  ///   - host: the host's clock. Milliseconds since 1970.
  ///   - portion: of the log that may go, and that the snapshot takes in; nil for all.
  /// - Throws: `ServerError`: `.locked` while the zone is folded or purged or an older program serves,
  ///   `.notPurgeable` where the snapshot alone may not tell all, `.diskFull`.
  func run(at host: Int64, _ portion: LogPortion? = nil) throws -> PurgeReport {
    try place.checkServers()
    let given = try place.givenMilliseconds()
    let now = PurgeTime.of(host: host, given: given)
    let leased = try LeaseTime.of(host: host, given: given, isServed: place.isServed())
    let tables = place.tables(of: zone)
    var floor = try PurgeFloor(tables, options, at: now)
    if let portion { floor.bringDown(toRoom: portion.last) }
    let former = try tables.floor()
    guard floor.sequence > former else {
      if !options.isDryRun, try tables.isUnfinished() {
        try place.withLock(of: zone) { try strip(at: now, leased) }
      }
      return try report(former, former: former, floor, nil)
    }
    guard options.isTried || options.isDryRun else { throw ServerError.untried(zone) }
    let kept = try tables.row().map { row in
      KeptLog(row, of: zone) { try tables.bytes(of: $0) }
    }
    if !options.isDryRun, !options.isForced {
      let log = try tables.sum(after: former, through: portion?.last ?? zone.head).bytes
      try place.requireRoom(
        for: Int(clamping: log) + (kept?.snapshot.bytes ?? 0), of: zone, options)
    }
    return try place.withFoldAnew(of: zone, kept, through: portion?.last) { snapshot, bytes in
      try PurgeCheck.run(snapshot, bytes, zone: zone.name, isTried: options.isTried)
      guard !options.isDryRun else {
        return try report(floor.sequence, former: former, floor, snapshot)
      }
      // Of a purge, or a portion, that ended for want of room.
      while try write({ try $0.dropUnnamedFile() }) {}
      for file in snapshot.files { try keep(bytes(file), file) }
      let values = try PurgeCheck.values(of: snapshot, bytes)
      let set = try setFloor(
        floor, snapshot, portion, naming: values, former: former, at: now, leased)
      let report = try self.report(set.sequence, former: former, set, snapshot)
      try place.discardFolded(of: zone)
      try strip(at: now, leased)
      return report
    }
  }

  /// One of many transactions: whoever waits for the writer gets in before the next one.
  private func write<Result>(_ body: (Place.Tables) throws -> Result) throws -> Result {
    defer { place.giveWay() }
    return try place.write(to: zone, body)
  }

  private func keep(_ bytes: Data, _ file: Snapshot.File) throws {
    try write { try $0.keep(bytes, as: file.name) }
    let written = try place.tables(of: zone).bytes(of: file.name)
    guard written.map({ Snapshot.name(of: $0) }) == file.name else {
      throw ServerError(
        .damagedDatabase, "what was written into the database is not what is read there",
        suggestion:
          "Nothing was purged. Look at the disk, then at the database: driftless-server verify")
    }
  }

  /// What may have become otherwise is looked at once more in the transaction that sets the floor. Ages have not.
  ///
  /// - Parameter values: the large values that the snapshot names, which stay for as long as it stands.
  private func setFloor(
    _ planned: PurgeFloor, _ snapshot: Snapshot, _ portion: LogPortion?,
    naming values: [LargeValue], former: UInt64, at now: Int64, _ leased: Int64
  ) throws -> PurgeFloor {
    try place.write(to: zone) { tables in
      guard try tables.place(at: snapshot.place.sequence) == snapshot.place,
        try tables.floor() == former
      else { throw locked("the log of zone \(zone.name) was put back or purged meanwhile") }
      var floor = planned
      try floor.lookAgain(tables, options, at: now)
      try floor.bringDown(toPushesAfter: snapshot.place, portion, tables)
      guard floor.sequence > former, floor.sequence <= snapshot.place.sequence else {
        throw locked("replicas that are far behind pushed to zone \(zone.name) meanwhile")
      }
      for file in snapshot.files where try tables.size(of: file.name) != file.bytes {
        throw locked("another command was at the purge of zone \(zone.name)")
      }
      var kept = snapshot
      kept.former = []
      try tables.setFloor(floor.sequence, kept, at: now)
      try tables.use(values, at: leased)
      try tables.note("up to \(floor.sequence)")
      return floor
    }
  }

  private func locked(_ message: String) -> ServerError {
    ServerError(
      .locked, message, suggestion: "Nothing was purged. Say the command again.")
  }

  /// What is below the floor goes, some of it a transaction, what it named, and files of an earlier snapshot. Who calls has the lock of folds:
  /// files that a purge has written are unnamed until it sets its floor.
  ///
  /// - Parameter leased: when leases of values begin that nothing names any more: by no clock that is behind the server's.
  private func strip(at now: Int64, _ leased: Int64) throws {
    let steps: [(Place.Tables) throws -> Bool] = [
      { try $0.stripEntries(countMax: stripEntriesMax, bytesMax: stripBytesMax) },
      { try $0.forgetUses(countMax: stripValuesMax, at: leased) },
      // Where the server takes no values any more, no other brings this about.
      { try $0.collectValues(at: now) },
      { try $0.dropUnnamedFile() },
    ]
    for step in steps {
      do {
        while try write(step) {}
      } catch let error as ServerError where [.noZone, .generationChanged].contains(error.code) {
        // Deleted or renewed meanwhile: all of it is gone.
        return
      }
    }
  }

  private func report(
    _ floor: UInt64, former: UInt64, _ bound: PurgeFloor, _ snapshot: Snapshot?
  ) throws -> PurgeReport {
    let tables = place.tables(of: zone)
    let sum = try tables.sum(after: former, through: floor)
    return PurgeReport(
      zone: zone.name, floor: floor, formerFloor: former, head: zone.head,
      bound: bound.bound.rawValue, entries: sum.entries, bytes: sum.bytes,
      snapshotPlace: snapshot?.place.sequence, snapshotBytes: snapshot?.bytes,
      below: try tables.replicas().filter { ($0.cursor ?? 0) < floor },
      isDryRun: options.isDryRun)
  }
}

/// When leases of large values begin that nothing names from now on.
enum LeaseTime {
  /// No clock that is behind the server's begins them: they would end early. Where a server runs, which keeps its time, none begins
  /// them that is further ahead than what is pushed may be: they would end late, by as much as it is wrong. Where none runs, its
  /// time may be long ago, and the next one goes by the host's clock.
  static func of(host: Int64, given: Int64, isServed: Bool) -> Int64 {
    guard isServed, given > 0 else { return max(host, given) }
    return max(given, min(host, given + Int64(ServerLimits().clockAheadMillisecondsMax)))
  }
}

/// The time by which ages are reckoned.
enum PurgeTime {
  /// Where the host's clock is far ahead of what the server last gave, it may have leapt, and the server not have heard of it: then
  /// it is a day after that.
  static func of(host: Int64, given: Int64) -> Int64 {
    given > 0 ? min(host, given + 86_400_000) : host
  }
}

extension ServerError {
  static func untried(_ zone: ZoneRecord) -> ServerError {
    ServerError(
      .notPurgeable,
      "nobody has said that replicas of zone \(zone.name) can join by its snapshot: names that were changed, and what has "
        + "one partner, only a model tells",
      suggestion:
        "Fold the zone (driftless-server zone fold \(zone.name)), sync a new, empty replica of each model in use, "
        + "and look whether it says \"The log is read, not the zone's snapshot\". Where none does, say --tried."
    )
  }
}
