import Dispatch
import DriftlessProtocol
import Foundation
import Logging
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Adds up the logs of the zones that are served, one zone at a time, on a thread that gives way to all others. What somebody
/// waits for is done on one that does not, and before the rest, which stops for it.
///
/// It reads the log as a pull does, a page at a time, and the writer does not wait for it. Nothing is lost with it: a fold
/// that was stopped goes on when it is due again, and the log has everything.
final class ZoneFolding: Sendable {
  fileprivate struct State {
    /// Names of zones to look at.
    var waiting = NameLine()
    /// Places up to which logs are to be added up for their digests, by the names of zones. They come first: somebody waits.
    var asked: [(zone: String, place: LogMark)] = []
    /// Bytes that came to a zone's log since it was looked at.
    var appended: [String: Int] = [:]
    /// The threads that there are. One of them works at a time.
    var lanes: Set<Lane> = []
    var isStopped = false
  }

  fileprivate enum Lane {
    /// Digests that somebody waits for.
    case awaited
    /// Folds that are due, by which nobody is kept waiting.
    case background
  }

  fileprivate enum Work {
    case fold(String)
    case digests(String, LogMark)
  }

  private struct Stopped: Error {}
  /// Somebody waits for other work.
  private struct GivesWay: Error {}

  /// When a zone that another was folding is looked at again: its lease has ended by then, if it is dead.
  private static let lockedSeconds = 40.0

  private let state = Mutex(State())
  private let ended = DispatchSemaphore(value: 0)
  private let turn = DispatchSemaphore(value: 1)
  private let logs: any FoldedLogs
  /// What replicas compare themselves with.
  let digests = DigestShelf()
  private let freeBytes: @Sendable () -> Int?
  private let limits: LiveLimits
  private let metrics: ServerMetrics
  private let logger: Logger
  private let trimsMemory: @Sendable () -> Void

  /// - Parameters:
  ///   - freeBytes: what there is room for; nil for what the file system says.
  ///   - trimsMemory: called between the steps of a fold, and at its end.
  init(
    _ logs: any FoldedLogs, limits: LiveLimits, metrics: ServerMetrics, logger: Logger,
    freeBytes: (@Sendable () -> Int?)? = nil, trimsMemory: @escaping @Sendable () -> Void = {}
  ) {
    self.trimsMemory = trimsMemory
    self.logs = logs
    self.freeBytes = freeBytes ?? { logs.freeBytes }
    self.limits = limits
    self.metrics = metrics
    self.logger = logger
  }

  /// Looks at every zone: one may be due, or left half folded.
  func begin() {
    do {
      try logs.sweep()
      look(at: try logs.zones().map(\.name))
    } catch {
      logger.warning("the zones cannot be listed for folding", metadata: ["error": "\(error)"])
    }
  }

  /// Ends a fold that is under way, and waits for that.
  func stop() {
    let isRunning = state.withLock { state in
      defer { state.isStopped = true }
      return !state.lanes.isEmpty && !state.isStopped
    }
    if isRunning { ended.wait() }
    logs.close()
  }

  /// Notes what came to a zone's log.
  func note(_ push: Push, of zone: ZoneRecord) {
    // The parts before the last were large.
    note(zone.name, bytes: push.part == nil ? push.frame.count : limits.foldLogBytesMin)
  }

  func note(_ pushes: some Sequence<Push>, of zone: ZoneRecord) {
    note(zone.name, bytes: pushes.reduce(0) { $0 + $1.frame.count })
  }

  /// Notes that a zone's log grew.
  func note(_ zone: String, bytes: Int) {
    let isDue = state.withLock { state in
      state.appended[zone, default: 0] += bytes
      guard state.appended[zone, default: 0] >= limits.foldLogBytesMin else { return false }
      state.appended[zone] = nil
      return true
    }
    if isDue { look(at: [zone]) }
  }

  /// Makes the digests of what a zone's log comes to, up to a place of it at least. How it ended, the shelf tells.
  func makeDigests(of zone: String, at place: LogMark) {
    look(at: [], for: (zone, place))
  }

  private func look(at zones: [String], for asked: (zone: String, place: LogMark)? = nil) {
    let lane: Lane? = state.withLock { state in
      for zone in zones { state.waiting.append(zone) }
      if let asked {
        // One that asks for less has what is made for the other.
        let others = state.asked.filter { $0.zone == asked.zone }.map(\.place.sequence)
        if others.allSatisfy({ $0 < asked.place.sequence }) {
          state.asked.removeAll { $0.zone == asked.zone }
          state.asked.append(asked)
        }
      }
      guard !state.isStopped else { return nil }
      if !state.asked.isEmpty { return state.begin(.awaited) }
      return state.waiting.isEmpty || state.lanes.contains(.awaited)
        ? nil : state.begin(.background)
    }
    if let lane { begin(lane) }
  }

  /// A thread has the priority of the one that makes it, and cannot have a higher one again: none is made by the background's.
  private func begin(_ lane: Lane) {
    Thread.detachNewThread {
      #if os(Linux)
        // Of this thread alone.
        if lane == .background { setpriority(__priority_which_t(0), 0, 10) }
      #endif
      self.run(lane)
    }
  }

  private func run(_ lane: Lane) {
    while let work = next(lane) {
      turn.wait()
      switch work {
      case .fold(let zone): runFold(zone)
      case .digests(let zone, let place): runDigests(zone, place)
      }
      trimsMemory()
      turn.signal()
    }
  }

  private func runFold(_ zone: String) {
    do {
      try fold(zone)
    } catch is Stopped {
      return
    } catch is GivesWay {
      // It goes on where it was.
      state.withLock { $0.waiting.putFirst(zone) }
    } catch let error as ServerError where error.code == .locked {
      // An operator's command is at it, or another node; which may be dead, and hold its lease for a while.
      DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.lockedSeconds) {
        [weak self] in self?.look(at: [zone])
      }
      return
    } catch {
      // Not with the next push: what is wrong may last.
      state.withLock { $0.appended[zone, default: 0] += limits.foldLogBytesMin / 2 }
      metrics.countFold(failed: true)
      logger.warning(
        "a zone's log was not added up; new replicas read all of it",
        metadata: ["zone": "\(zone)", "error": "\(error)"])
    }
  }

  private func runDigests(_ name: String, _ place: LogMark) {
    do {
      guard let zone = try logs.zone(named: name) else { return }
      do {
        digests.put(try makeDigests(of: zone, at: place), of: zone)
      } catch let error as Stopped {
        throw error
      } catch let error as ServerError where error.code == .locked {
        throw error
      } catch let error as ServerError {
        digests.fail(error, of: zone, at: place)
      } catch {
        digests.fail(ServerError(storage: error), of: zone, at: place)
      }
    } catch {
      // It ends, cannot tell which zones there are, or another process folds the zone: who waits asks again.
      logger.debug("no digests were made", metadata: ["zone": "\(name)", "error": "\(error)"])
    }
  }

  private func makeDigests(of zone: ZoneRecord, at place: LogMark) throws -> SnapshotDigests {
    func made() throws -> SnapshotDigests {
      let snapshot = try fold(zone, through: max(1, place.sequence)) { [self] in try check() }
      do {
        return try SnapshotDigests(snapshot, pause: { [self] in try check() }) {
          [logs] in try logs.bytes(of: $0, of: zone)
        }
      } catch let error as ProtocolError {
        throw ServerError(error)
      }
    }
    do {
      return try made()
    } catch let error as ServerError where error.code.name == "damaged" {
      // A file is not as it was written. The log has all of it.
      try logs.forget(zone)
      return try made()
    }
  }

  /// What a lane does next. Where there is nothing, its thread ends.
  private func next(_ lane: Lane) -> Work? {
    let (work, follows, isOver) = state.withLock { state -> (Work?, Bool, Bool) in
      if let work = state.work(for: lane) { return (work, false, false) }
      state.lanes.remove(lane)
      guard !state.isStopped else { return (nil, false, state.lanes.isEmpty) }
      // What gave way goes on.
      let follows = lane == .awaited && !state.waiting.isEmpty
      return (nil, follows && state.begin(.background) != nil, false)
    }
    if follows { begin(.background) }
    if isOver { ended.signal() }
    return work
  }

  private func check() throws {
    if state.withLock({ $0.isStopped }) { throw Stopped() }
  }

  private func checkIsNotInTheWay() throws {
    try check()
    if state.withLock({ !$0.asked.isEmpty || $0.lanes.contains(.awaited) }) { throw GivesWay() }
  }

  /// A fold that nobody asked for is not begun where it might fill the disk: pushes need the room.
  ///
  /// - Throws: `ServerError` (`.diskFull`).
  private func checkRoom(for bytes: Int) throws {
    guard let free = freeBytes(), free < bytes else { return }
    throw ServerError(
      .diskFull, "there is room for \(free) bytes, and a snapshot may take \(bytes)",
      suggestion: "Make room on the file system of the data folder.")
  }

  /// What was added up, unless the database was put back to before it.
  private func former(of zone: ZoneRecord) throws -> Snapshot? {
    guard let former = try logs.snapshot(of: zone), try logs.isOwn(former.place, zone) else {
      return nil
    }
    return former
  }

  private func fold(_ name: String) throws {
    guard let zone = try logs.zone(named: name) else { return }
    let former = try self.former(of: zone)
    let after = former?.place.sequence ?? 0
    let since = try logs.logBytes(of: zone, after: after) { try checkIsNotInTheWay() }
    // A snapshot is worth its making when the log since the last one costs a new replica as much as a part of it.
    guard since >= max(limits.foldLogBytesMin, (former?.bytes ?? 0) / 4) else { return }
    _ = try fold(zone, through: .max) { [self] in try checkIsNotInTheWay() }
  }

  /// - Parameters:
  ///   - last: the last entry that is taken in.
  ///   - check: throws where it is not to go on.
  private func fold(
    _ zone: ZoneRecord, through last: UInt64, check: @escaping @Sendable () throws -> Void
  ) throws -> Snapshot {
    let former = try self.former(of: zone)
    if let former, former.place.sequence >= last { return former }
    let after = former?.place.sequence ?? 0
    let since = try logs.logBytes(of: zone, after: after) { try check() }
    var options = FoldOptions()
    options.pause = check
    try checkRoom(for: since + (former?.bytes ?? 0))
    var last = last
    let folded = try logs.fold(zone, options: options) { place in
      try check()
      trimsMemory()
      let request = PageRequest(
        after: place, bytesMax: limits.pageBytesMax, entriesMax: limits.pageEntriesMax)
      let entries = try logs.entries(of: zone, request)
      // A log never ends within a push, nor does what it comes to, also where it was stopped within one.
      for entry in entries.prefix(1) where try entry.header.part > 1 {
        last = max(last, try entry.endOfPush)
      }
      if let end = try entries.first(where: { $0.sequence == last })?.endOfPush { last = end }
      return entries.filter { $0.sequence <= last }
    }
    metrics.countFold(failed: false)
    logger.info(
      "folded",
      metadata: [
        "zone": "\(zone.name)", "sequence": "\(folded.place.sequence)",
        "bytes": "\(folded.bytes)", "log": "\(since)",
      ])
    return folded
  }
}

extension LogEntry {
  fileprivate var header: ChangeSetHeader {
    get throws { try ChangeSetDecoder().decodeHeader(bytes) }
  }

  /// The last entry of the push that this one is of.
  fileprivate var endOfPush: UInt64 {
    get throws {
      let header = try header
      return sequence + UInt64(header.parts - header.part)
    }
  }
}

extension ZoneFolding.State {
  /// Notes that a lane has a thread; nil where it has one.
  fileprivate mutating func begin(_ lane: ZoneFolding.Lane) -> ZoneFolding.Lane? {
    lanes.insert(lane).inserted ? lane : nil
  }

  fileprivate mutating func work(for lane: ZoneFolding.Lane) -> ZoneFolding.Work? {
    guard !isStopped else { return nil }
    switch lane {
    case .awaited:
      guard !asked.isEmpty else { return nil }
      let first = asked.removeFirst()
      return .digests(first.zone, first.place)
    case .background:
      guard asked.isEmpty, !lanes.contains(.awaited), let first = waiting.removeFirst()
      else { return nil }
      return .fold(first)
    }
  }
}

extension ZoneFolding {
  /// Digests of what a zone's log comes to, at a place of it or a later one; not ready while they are made.
  ///
  /// - Parameter isOwn: whether a place is one of the zone's log.
  /// - Throws: `ServerError` (`.diverged`) when the place is not.
  func digests(
    of zone: ZoneRecord, at place: LogMark, isOwn: (LogMark) async throws -> Bool
  ) async throws -> ZoneDigests {
    guard try await isOwn(place) else { throw ServerError.diverged(at: place.sequence, zone) }
    if zone.head == 0 {
      return ZoneDigests(isReady: true, place: place, nextObject: 1, columns: [])
    }
    if let made = try digests.take(of: zone, at: place) {
      if try await isOwn(made.snapshot.place) { return made.digests }
      // The database was put back to an older copy, and has gone on from there.
      digests.drop(of: zone)
    }
    makeDigests(of: zone.name, at: place)
    return .awaited(at: place)
  }
}
