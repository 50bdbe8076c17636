package import DriftlessProtocol
import DriftlessSQLite
package import Foundation
package import Logging
import Synchronization

/// Zones in one SQLite file: the server's embedded default.
///
/// A push goes through `GroupCommit`, which gathers what arrives while the disk syncs the one
/// before;
/// `LogAppend` says what happens to it inside the transaction. Reads have connections of their own.
package final class SQLiteZoneStorage: ZoneStorage {
  package let folder: DataFolder
  let limits: LiveLimits
  package let metrics: ServerMetrics
  let writer: Database
  private let readers: [Database]
  let commits: GroupCommit
  let staging = StagingLine()
  let clock: ServerClock
  private let news: ZoneNews
  private let turn = Turn()
  let snapshots: ZoneSnapshots
  let sizes = LogSizes()
  let seenValues = SeenValues<Int64>()
  /// Nil where nobody serves.
  private let folding = Mutex<ZoneFolding?>(nil)
  let logger: Logger
  private let sightings: Sightings
  package let entryCheck: EntryCheck

  /// Opens the database of a data folder, creating it when it is new.
  ///
  /// - Parameters:
  ///   - now: the host's time of day, in milliseconds since 1970.
  ///   - sinceBoot: milliseconds by a clock that nobody sets.
  /// - Throws: `ServerError` or `SQLiteError`.
  package init(
    folder: DataFolder, limits: ServerLimits = .init(), metrics: ServerMetrics = .init(),
    news: ZoneNews? = nil, logger: Logger = Logger(label: "storage"),
    now: @escaping ServerClock.Wall = { Int64(Date().timeIntervalSince1970 * 1000) },
    sinceBoot: @escaping @Sendable () -> Int64 = ServerClock.hostSinceBoot
  ) throws {
    self.folder = folder
    snapshots = ZoneSnapshots(folder)
    let limits = LiveLimits(limits)
    self.limits = limits
    self.metrics = metrics
    self.logger = logger
    sightings = Sightings(limits: limits)
    entryCheck = EntryCheck(logger: logger)
    let path = folder.database.path
    (writer, readers) = try ServerError.opening(path) {
      try ServerSchema.checkIsOwn(path)
      let writer = try Database(path: path, label: "writer") {
        let connection = try folder.writingConnection()
        try ServerSchema.apply(to: connection)
        try ServerSchema.look(at: connection)
        try Self.bound(connection, by: limits.databaseBytesMax)
        return connection
      }
      let readers = try (0..<max(1, limits.current.readers)).map {
        try Database(reading: path, label: "reader\($0)")
      }
      return (writer, readers)
    }
    clock = ServerClock(
      last: try writer.run(GivenTimes.last), limits: limits.current, wall: now, sinceBoot: sinceBoot
    ) { $0.tell(logger) }
    self.news = news ?? ZoneNews(waitersMax: limits.waitersMax)
    commits = GroupCommit(
      database: writer,
      checkpointer: Checkpointer(folder: folder, limits: limits, metrics: metrics),
      limits: limits, metrics: metrics, news: self.news, logger: logger, clock: clock,
      reserve: folder.reserve)
  }

  /// - Parameter bytes: the most that the file may have; 0 where nothing but the disk bounds it.
  private static func bound(_ connection: SQLiteConnection, by bytes: Int) throws {
    let pages = bytes > 0 ? bytes / 4096 : 4_294_967_294
    try connection.execute("PRAGMA max_page_count=\(pages)")
  }

  /// Keeps room for the operator from now on.
  package func keepReserve() { folder.reserve.keep(limits.current.reserveBytes) }

  package func take(_ limits: ServerLimits) {
    self.limits.take(limits)
    keepReserve()
    writer.later { [writer, logger] in
      do {
        try writer.run { try Self.bound($0, by: limits.databaseBytesMax) }
      } catch {
        logger.warning("databaseBytesMax was not taken", metadata: ["error": "\(error)"])
      }
    }
  }

  package func time() async -> UInt64 {
    let time = clock.now()
    // A read does not wait for the writer. Where the time cannot be kept, it is given all the same, and due again.
    if let due = clock.dueToKeep() {
      writer.later { [writer, clock] in
        guard clock.isToKeep(due) else { return }
        do {
          try Self.keepTime(due, by: writer)
          clock.didKeep(due)
        } catch {
          clock.didNotKeep()
        }
      }
    }
    return UInt64(max(0, time))
  }

  private static func keepTime(_ time: Int64, by writer: Database) throws {
    try writer.run { try keepTime(time, on: $0) }
  }

  /// In a transaction, as all that is written: who waits for another writer says so.
  static func keepTime(_ time: Int64, on connection: SQLiteConnection) throws {
    try connection.transaction(.immediate) { try GivenTimes.keep(time, on: connection) }
  }

  /// Closes every connection. What was acknowledged is on disk already.
  package func close() {
    folding.withLock { $0.take() }?.stop()
    if let last = clock.lastToKeep() { try? Self.keepTime(last, by: writer) }
    writeSightings()
    writer.close()
    for reader in readers { reader.close() }
  }

  package func append(_ push: Push, to zone: ZoneRecord) async throws -> Appended {
    let appended = try await metrics.pending { try await commits.append(push, to: zone) }
    if !appended.isRepeat { folding.withLock { $0 }?.note(push, of: zone) }
    return appended
  }

  package func refill(_ entries: [Refill], of zone: ZoneRecord) async throws -> LogMark {
    try await RefillPortion.each(of: entries) { try await take($0, of: zone) }
  }

  /// After a restore all replicas of a zone come at once, with the same, and other zones have parts that wait: each portion has a turn
  /// of its own.
  private func take(
    _ entries: [Refill], of zone: ZoneRecord
  ) async throws -> RefillPortion.Written {
    let cost = entries.reduce(0) { $0 + $1.push.cost }
    return try await staging.run(of: zone.id, cost: cost, most: limits.current.queuedPushesMax) {
      let (lacking, head) = try await self.lacking(entries, of: zone)
      guard !lacking.isEmpty else { return RefillPortion.Written(place: head, left: []) }
      let written = try await commits.write(
        bytes: lacking.reduce(0) { $0 + $1.push.frame.count }
      ) { [limits, clock] connection in
        try Self.refill(
          lacking, of: zone, limits: limits.current, at: clock.now(), on: connection)
      }
      news.publish(zone.generation, head: written.place.sequence)
      let taken = lacking.dropLast(written.left.count)
      folding.withLock { $0 }?.note(taken.map(\.push), of: zone)
      return written
    }
  }

  /// Those that the log does not have yet, and its end.
  private func lacking(
    _ entries: [Refill], of zone: ZoneRecord
  ) async throws -> (entries: [Refill], head: LogMark) {
    do {
      return try await reader.perform { [limits, clock] connection in
        try connection.transaction(.deferred) {
          try LogAppend(
            tables: SQLiteZoneTables(connection), limits: limits.current,
            nowMilliseconds: clock.now()
          ).lacking(entries, of: zone)
        }
      }
    } catch {
      throw ServerError(refusal: error) ?? ServerError(storage: error)
    }
  }

  /// As many entries in one transaction as it has time for.
  private static func refill(
    _ entries: [Refill], of zone: ZoneRecord, limits: ServerLimits, at nowMilliseconds: Int64,
    on connection: SQLiteConnection
  ) throws -> RefillPortion.Written {
    try connection.transaction(.immediate) {
      let append = LogAppend(
        tables: SQLiteZoneTables(connection), limits: limits, nowMilliseconds: nowMilliseconds)
      let left = try RefillPortion.take(entries, milliseconds: limits.groupMillisecondsMax) {
        try append.refillInParts($0.entry, $0.push, of: zone)
      }
      guard let filled = try connection.zone(named: zone.name) else {
        throw ServerError.generationChanged(zone: zone.name)
      }
      return RefillPortion.Written(
        place: LogMark(sequence: filled.head, chain: filled.chain), left: left)
    }
  }

  package func commonPlace(of marks: [LogMark], in zone: ZoneRecord) async throws -> LogMark? {
    try await reader.perform { try $0.commonPlace(of: marks, in: zone) }
  }

  package func zone(named name: String) async throws -> ZoneRecord? {
    try await reader.perform { connection in
      // Whatever is asked of a zone asks for it first: what a file without a name has is nobody's.
      guard !connection.isMoved else { throw ServerError.databaseIsGone }
      return try connection.zone(named: name)
    }
  }

  package func token(id: String) async throws -> TokenRecord? {
    try await reader.perform { try $0.token(id: id) }
  }

  package func page(of zone: ZoneRecord, _ request: PageRequest) async throws -> LogPage {
    try await reader.perform { [entryCheck] connection in
      var page = try connection.page(of: zone, request)
      page.lostValues = try LargeValues.lostMark(of: zone.id, on: connection)
      entryCheck.look(at: page, of: zone, after: request.after)
      return page
    }
  }

  package func generations() async throws -> Set<UUID> {
    try await reader.perform { connection in
      guard !connection.isMoved else { throw ServerError.databaseIsGone }
      return try connection.generations()
    }
  }

  /// Writes, since only that tells whether a push could be written.
  package func checkReady(bytes: Int) async throws {
    if let free = folder.reserve.freeBytes, free < bytes { throw ServerError.noRoom(free) }
    do {
      try await writer.perform { [clock] connection in
        guard !connection.isMoved else { throw ServerError.databaseIsGone }
        let most = try connection.integer("PRAGMA max_page_count") ?? .max
        let used = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        let room = (most - used + free).multipliedReportingOverflow(by: 4096)
        guard room.overflow || room.partialValue >= bytes else {
          throw ServerError.noRoom(Int(room.partialValue))
        }
        try Self.keepTime(clock.now(), on: connection)
      }
    } catch {
      throw ServerError(storage: error)
    }
  }

  package func noteSeen(_ visit: Visit, in zone: ZoneRecord) async {
    let due = sightings.note(visit, in: zone, milliseconds: clock.now())
    guard let due else { return }
    writer.later(seconds: due) { [weak self] in self?.writeSightings() }
  }

  /// What was seen since the last time.
  func writeSightings() { sightings.write(writer, logger: logger) }

  /// Ends what waits when an operator's command has changed zones or tokens, until the task is cancelled.
  package func watch() async {
    let watch = Mutex(OperatorWatch())
    var kept: ContinuousClock.Instant?
    // Beside all else: of a large zone it takes its time.
    async let search: Void = noteGoneValues()
    while !Task.isCancelled {
      if kept.map({ .now - $0 > .seconds(Self.careSeconds) }) ?? true {
        kept = .now
        await letGoOfForgotten()
      }
      do {
        let hasChanged = try await readers[0].perform { connection in
          try watch.withLock { try $0.sees(connection) }
        }
        if hasChanged { news.wakeAll() }
        commits.takeBackRoom()
        commits.copyLog()
      } catch {
        logger.debug("zones and tokens could not be read", metadata: ["error": "\(error)"])
      }
      try? await Task.sleep(for: .seconds(limits.watchSeconds))
    }
    await search
  }

  private static let careSeconds = 3600

  /// Lets go of parts whose push nobody goes on with, and of values that no entry names and nobody waits for: they go by
  /// themselves, also where no other comes that wants their room. Some at a time: pushes wait for no more.
  /// One that fails keeps none of the others from its part.
  func letGoOfForgotten() async {
    let lettingGo = LettingGo(logger: logger)
    await lettingGo.run("parts") {
      try await self.dropForgottenParts(after: self.limits.current.stagedSeconds)
      return false
    }
    await lettingGo.run("what is left of deleted zones") {
      try await self.commits.letGo { try LeavingZones.takeSomeAway(on: $0) }
    }
    await lettingGo.run("large values") {
      try await self.commits.letGo { [clock = self.clock] in
        try LargeValues.collect(at: clock.now(), first: 0, on: $0).mayHaveMore
      }
    }
  }

  package func floor(of zone: ZoneRecord) async throws -> UInt64 {
    try await reader.perform { try PurgedLog.floor(of: zone, on: $0) }
  }

  package func snapshot(of zone: ZoneRecord) async throws -> Snapshot? {
    try await reader.perform { [snapshots] connection in
      guard let current = try connection.zone(named: zone.name),
        current.generation == zone.generation
      else { return nil }
      let kept = try PurgedLog.row(of: current, on: connection)?.snapshot
      guard let snapshot = try snapshots.snapshot(of: zone),
        // A database that was put back to an older copy has another log.
        try connection.place(at: snapshot.place.sequence, of: current) == snapshot.place,
        // Who is below a floor has nothing else: the newer one has to be there.
        kept.map({
          snapshot.place.sequence > $0.place.sequence && snapshots.hasFiles(of: snapshot, zone)
        }) ?? true
      else { return kept }
      return snapshot
    }
  }

  package func keptSnapshot(of zone: ZoneRecord) async throws -> Snapshot? {
    try await reader.perform { try PurgedLog.row(of: zone, on: $0)?.snapshot }
  }

  package func segment(
    _ name: String, of zone: ZoneRecord, first: Int, count: Int
  ) async throws -> Data? {
    try await reader.perform { [snapshots] connection in
      let kept = try PurgedLog.piece(
        of: name, of: zone, first: first, count: count, on: connection)
      if let kept { return kept }
      return try snapshots.piece(of: name, of: zone, first: first, count: count)
    }
  }

  package func digests(of zone: ZoneRecord, at place: LogMark) async throws -> ZoneDigests {
    guard let folding = folding.withLock({ $0 }) else { throw ServerError(ProtocolError.noDigests) }
    return try await folding.digests(of: zone, at: place) { try await isOwn($0, zone) }
  }

  package func digests(
    _ part: DigestPart, of zone: ZoneRecord, at place: LogMark
  ) async throws -> Data {
    guard let shelf = folding.withLock({ $0 })?.digests else {
      throw ServerError(ProtocolError.noDigests)
    }
    return try await shelf.answer(part, of: zone, at: place)
  }

  private func isOwn(_ place: LogMark, _ zone: ZoneRecord) async throws -> Bool {
    try await reader.perform { connection in
      guard let current = try connection.zone(named: zone.name),
        current.generation == zone.generation
      else { return false }
      return try connection.place(at: place.sequence, of: current) == place
    }
  }

  /// Begins to add up the logs of zones, now and as they grow.
  package func beginFolding(
    logger: Logger, trimsMemory: @escaping @Sendable () -> Void
  ) throws {
    let folding = ZoneFolding(
      try FolderLogs(folder), limits: limits, metrics: metrics, logger: logger,
      trimsMemory: trimsMemory)
    self.folding.withLock { $0 = folding }
    folding.begin()
  }

  /// One of the readers, in turn.
  var reader: Database { readers[turn.next(readers.count)] }
}
