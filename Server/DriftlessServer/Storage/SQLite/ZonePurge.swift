import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What a purge did, or would do.
package struct PurgeReport: Sendable {
  package let zone: String
  /// The last entry whose change set goes; 0 for none.
  package let floor: UInt64
  package let formerFloor: UInt64
  package let head: UInt64
  /// What keeps the floor from being higher: `age`, `replica`, `staged`, `through` or `head`.
  package let bound: String
  /// Change sets that go, and their bytes.
  package let entries: Int
  package let bytes: Int64
  /// Where the snapshot stands that replicas below the floor take; nil where none was made.
  package let snapshotPlace: UInt64?
  package let snapshotBytes: Int?
  /// Replicas that stand below the floor, those furthest behind first.
  package let below: [ReplicaReport]
  package let isDryRun: Bool
}

extension Administration {
  /// Entries and bytes of one transaction: so long pushes wait.
  private static let stripEntriesMax: Int64 = 250
  private static let stripBytesMax: Int64 = 4 << 20
  private static let stripValuesMax: Int64 = 2_000
  /// SQLite looks every 100 ms at the latest whether a database that it waits for is free.
  private static let stripPauseSeconds = 0.11

  /// Shortens a zone's log up to a floor, while a server serves it or not. Replicas above the floor notice nothing; those
  /// below it go on by what the log came to, which is kept in the database from then on.
  ///
  /// First the log is added up anew, read again and looked at; then its files go into the database, one a transaction, and are
  /// read back; then one transaction sets the floor; then the change sets go, some a transaction. Killed before the floor is
  /// set, nothing has changed; killed after it, the next purge goes on.
  ///
  /// - Parameter host: the host's clock. Milliseconds since 1970.
  /// - Throws: `ServerError`: `.noZone`, `.locked` while the zone is folded or purged or an older program serves,
  ///   `.notPurgeable` where the snapshot alone may not tell all, `.diskFull`.
  package func purgeZone(_ name: String, _ options: PurgeOptions) throws -> PurgeReport {
    try purgeZone(name, options, at: Self.hostMilliseconds)
  }

  package func purgeZone(
    _ name: String, _ options: PurgeOptions, at host: Int64
  ) throws -> PurgeReport {
    // From its beginning: until it sets the floor it has changed nothing, and from then on it goes on where it was.
    try folder.reserve.withRoom { try purge(name, options, at: host) }
  }

  private func purge(
    _ name: String, _ options: PurgeOptions, at host: Int64
  ) throws -> PurgeReport {
    let zone = try existingZone(name)
    try checkServer()
    let now = try purgeTime(host)
    let floor = try PurgeFloor(of: zone, options, at: now, on: connection)
    let former = try PurgedLog.floor(of: zone, on: connection)
    guard floor.sequence > former else {
      if !options.isDryRun, try isUnfinished(zone) {
        try ZoneSnapshots(folder).withLock(of: zone) {
          isThere(zone)
        } body: {
          try strip(zone, at: now)
        }
      }
      return try report(zone, former, former: former, floor, nil, options)
    }
    guard options.isTried || options.isDryRun else { throw ServerError.untried(zone) }
    let snapshots = ZoneSnapshots(folder)
    let kept = try keptSnapshot(of: zone)
    if !options.isDryRun, !options.isForced {
      try requireRoom(forPurgeOf: zone, after: former, kept, options, snapshots)
    }
    return try snapshots.withFoldAnew(of: zone, keptSnapshot(of: zone)) {
      isThere(zone)
    } page: { place in
      let request = PageRequest(after: place, bytesMax: 4 << 20, entriesMax: 1_000)
      return try connection.page(of: zone, request).entries
    } body: { snapshot, bytes in
      try PurgeCheck.run(snapshot, bytes, zone: name, isTried: options.isTried)
      guard !options.isDryRun else {
        return try self.report(zone, floor.sequence, former: former, floor, snapshot, options)
      }
      for file in snapshot.files {
        try keep(bytes(file), file, of: zone)
      }
      let values = try PurgeCheck.values(of: snapshot, bytes)
      let set = try setFloor(
        floor, snapshot, naming: values, of: zone, former: former, options, at: now)
      let report = try self.report(zone, set.sequence, former: former, set, snapshot, options)
      try snapshots.discardFolded(of: zone)
      try strip(zone, at: now)
      return report
    }
  }

  /// What the log comes to is written twice: as files, and into the database, whose free pages are used first.
  private func requireRoom(
    forPurgeOf zone: ZoneRecord, after former: UInt64, _ kept: PurgedLog.Kept?,
    _ options: PurgeOptions, _ snapshots: ZoneSnapshots
  ) throws {
    let bytes = try connection.logBytes(of: zone, after: former) + (kept?.snapshot.bytes ?? 0)
    let free = Int(
      clamping: try (connection.integer("PRAGMA freelist_count") ?? 0)
        * (connection.integer("PRAGMA page_size") ?? 0))
    try DiskSpace.require(
      bytes + max(0, bytes - free), of: options.freeBytes?() ?? snapshots.freeBytes,
      at: folder.url, for: "a purge of zone \(zone.name)",
      otherwise: "It is the most that it may take: --force begins all the same.")
  }

  /// Whether a purge was killed that has something to take away yet.
  private func isUnfinished(_ zone: ZoneRecord) throws -> Bool {
    let floor = try PurgedLog.floor(of: zone, on: connection)
    return try PurgedLog.isUnfinished(zone, on: connection)
      || LargeValues.areUsed(through: floor, zone: zone.id, on: connection)
  }

  /// What stands for the purged entries of a zone's log.
  func keptSnapshot(of zone: ZoneRecord) throws -> PurgedLog.Kept? {
    try PurgedLog.row(of: zone, on: connection).map { row in
      PurgedLog.kept(row, of: zone) { [connection] name in
        try PurgedLog.bytes(of: name, of: zone, on: connection)
      }
    }
  }

  private func isThere(_ zone: ZoneRecord) -> Bool {
    (try? connection.generations().contains(zone.generation)) ?? true
  }

  /// A program of before knows no floor: to it the log would be another one than the replicas' own.
  private func checkServer() throws {
    guard let process = folder.servingProcess, !folder.isServedByThisVersion else { return }
    throw ServerError(
      .locked, "an older program (process \(process)) serves \(folder.url.path)",
      suggestion: "Start the server again with this program, then say the command again.")
  }

  /// The time by which ages are reckoned. Where the host's clock is far ahead of what the server last gave, it may have leapt,
  /// and the server not have heard of it: then it is a day after that.
  func purgeTime(_ host: Int64) throws -> Int64 {
    let given = try GivenTimes.last(connection)
    return given > 0 ? min(host, given + 86_400_000) : host
  }

  private func keep(_ bytes: Data, _ file: Snapshot.File, of zone: ZoneRecord) throws {
    try write {
      guard try connection.current(zone).generation == zone.generation else {
        throw ServerError.generationChanged(zone: zone.name)
      }
      try PurgedLog.keep(bytes, as: file.name, of: zone, on: connection)
    }
    let written = try PurgedLog.bytes(of: file.name, of: zone, on: connection)
    guard written.map({ Snapshot.name(of: $0) }) == file.name else {
      throw ServerError(
        .damagedDatabase, "what was written into \(folder.database.path) is not what is read there",
        suggestion:
          "Nothing was purged. Look at the disk, then at the database: driftless-server verify")
    }
  }

  /// What may have become otherwise is looked at once more in the transaction that sets the floor. Ages have not.
  ///
  /// - Parameter values: the large values that the snapshot names, which stay for as long as it stands.
  private func setFloor(
    _ planned: PurgeFloor, _ snapshot: Snapshot, naming values: [LargeValue], of zone: ZoneRecord,
    former: UInt64, _ options: PurgeOptions, at now: Int64
  ) throws -> PurgeFloor {
    try write {
      let current = try connection.current(zone)
      guard current.generation == zone.generation else {
        throw ServerError.generationChanged(zone: zone.name)
      }
      guard try connection.place(at: snapshot.place.sequence, of: current) == snapshot.place,
        try PurgedLog.floor(of: current, on: connection) == former
      else {
        throw ServerError(
          .locked, "the log of zone \(zone.name) was put back or purged meanwhile",
          suggestion: "Nothing was purged. Say the command again.")
      }
      var floor = planned
      try floor.lookAgain(at: current, options, now, connection)
      try floor.bringDown(toPushesAfter: snapshot.place, of: current, connection)
      guard floor.sequence > former, floor.sequence <= snapshot.place.sequence else {
        throw ServerError(
          .locked, "replicas that are far behind pushed to zone \(zone.name) meanwhile",
          suggestion: "Nothing was purged. Say the command again.")
      }
      for file in snapshot.files {
        let count = try connection.scalar(
          "SELECT length(bytes) FROM purge_file WHERE zone = ? AND name = ?",
          .integer(current.id), .text(file.name))
        guard count == .integer(Int64(file.bytes)) else {
          throw ServerError(
            .locked, "another command was at the purge of zone \(zone.name)",
            suggestion: "Nothing was purged. Say the command again.")
        }
      }
      var kept = snapshot
      kept.former = []
      try PurgedLog.setFloor(floor.sequence, kept, of: current, at: now, on: connection)
      try LargeValues.use(values, bySnapshotOf: current.id, at: now, on: connection)
      try note(.zonePurged, zone: current.name, nil, "up to \(floor.sequence)")
      return floor
    }
  }

  /// What is below the floor goes, some of it a transaction, what it named, and files of an earlier snapshot. Who calls has the lock of folds:
  /// files that a purge has written are unnamed until it sets its floor.
  ///
  /// Between two transactions it waits for longer than SQLite lets pass until it looks again whether a database is free, so that each
  /// push that waits has its turn.
  private func strip(_ zone: ZoneRecord, at now: Int64) throws {
    func inSteps(_ step: () throws -> Bool) throws {
      while try write({
        guard let current = try? connection.current(zone), current.generation == zone.generation
        else { return false }
        return try step()
      }) {
        // The thread is the command's: while it sleeps the server has the writer.
        Thread.sleep(forTimeInterval: Self.stripPauseSeconds)
      }
    }
    try inSteps {
      try PurgedLog.strip(
        zone, entriesMax: Self.stripEntriesMax, bytesMax: Self.stripBytesMax, on: connection)
    }
    let floor = try PurgedLog.floor(of: zone, on: connection)
    try inSteps {
      try LargeValues.forgetUses(
        through: floor, zone: zone.id, countMax: Self.stripValuesMax, at: now, on: connection)
    }
    // Where the server takes no values any more, no other brings this about.
    try inSteps { try LargeValues.collectWithin(at: now, first: zone.id, on: connection) }
    try inSteps { try PurgedLog.dropUnnamedFile(of: zone, on: connection) }
  }

  private func report(
    _ zone: ZoneRecord, _ floor: UInt64, former: UInt64, _ bound: PurgeFloor,
    _ snapshot: Snapshot?, _ options: PurgeOptions
  ) throws -> PurgeReport {
    let log = try connection.prepare(
      "SELECT count(*), cast(total(size) AS INTEGER) FROM log WHERE position > ? AND position <= ?")
    defer { log.reset() }
    log.bind([
      .integer(LogPosition.of(zone: zone.id, number: former)),
      .integer(LogPosition.of(zone: zone.id, number: floor)),
    ])
    _ = try log.step()
    return PurgeReport(
      zone: zone.name, floor: floor, formerFloor: former, head: zone.head,
      bound: bound.bound.rawValue, entries: Int(log.int64(0)), bytes: log.int64(1),
      snapshotPlace: snapshot?.place.sequence, snapshotBytes: snapshot?.bytes,
      below: try replicaReports(of: zone).filter { ($0.cursor ?? 0) < floor },
      isDryRun: options.isDryRun)
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
