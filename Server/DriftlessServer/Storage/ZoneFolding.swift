import Dispatch
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Adds up the logs of the zones that are served, one zone at a time, on a thread that gives way to all others.
///
/// It reads the log as a pull does, a page at a time, and the writer does not wait for it. Nothing is lost with it: a fold
/// that was stopped goes on when it is due again, and the log has everything.
final class ZoneFolding: Sendable {
  private struct State {
    /// Names of zones to look at.
    var waiting: [String] = []
    /// Bytes that came to a zone's log since it was looked at.
    var appended: [String: Int] = [:]
    var isRunning = false
    var isStopped = false
  }

  private struct Stopped: Error {}

  private let state = Mutex(State())
  private let ended = DispatchSemaphore(value: 0)
  private let database: Database
  private let snapshots: ZoneSnapshots
  private let freeBytes: @Sendable () -> Int?
  private let limits: ServerLimits
  private let metrics: ServerMetrics
  private let logger: Logger

  /// - Parameter freeBytes: what there is room for; nil for what the file system says.
  init(
    folder: DataFolder, limits: ServerLimits, metrics: ServerMetrics, logger: Logger,
    freeBytes: (@Sendable () -> Int?)? = nil
  ) throws {
    database = try Database(path: folder.database.path, label: "folding") { _ in }
    let snapshots = ZoneSnapshots(folder)
    self.snapshots = snapshots
    self.freeBytes = freeBytes ?? { snapshots.freeBytes }
    self.limits = limits
    self.metrics = metrics
    self.logger = logger
  }

  /// Looks at every zone: one may be due, or left half folded.
  func begin() {
    do {
      try snapshots.sweep { try database.run { try $0.zones() } }
      look(at: try database.run { try $0.zones().map(\.name) })
    } catch {
      logger.warning("the zones cannot be listed for folding", metadata: ["error": "\(error)"])
    }
  }

  /// Ends a fold that is under way, and waits for that.
  func stop() {
    let isRunning = state.withLock { state in
      defer { state.isStopped = true }
      return state.isRunning && !state.isStopped
    }
    if isRunning { ended.wait() }
    database.close()
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

  private func look(at zones: [String]) {
    let begins = state.withLock { state in
      state.waiting += zones.filter { !state.waiting.contains($0) }
      guard !state.isRunning, !state.isStopped, !state.waiting.isEmpty else { return false }
      state.isRunning = true
      return true
    }
    guard begins else { return }
    Thread.detachNewThread {
      #if os(Linux)
        // Of this thread alone.
        setpriority(__priority_which_t(0), 0, 10)
      #endif
      self.run()
    }
  }

  private func run() {
    while let zone = next() {
      do {
        try fold(zone)
      } catch is Stopped {
        continue
      } catch let error as ServerError where error.code == .locked {
        // An operator's command is at it.
        continue
      } catch {
        // Not with the next push: what is wrong may last.
        state.withLock { $0.appended[zone, default: 0] += limits.foldLogBytesMin / 2 }
        metrics.countFold(failed: true)
        logger.warning(
          "a zone's log was not added up; new replicas read all of it",
          metadata: ["zone": "\(zone)", "error": "\(error)"])
      }
    }
  }

  private func next() -> String? {
    let (zone, isStopped) = state.withLock { state -> (String?, Bool) in
      guard !state.isStopped, !state.waiting.isEmpty else {
        state.isRunning = false
        return (nil, state.isStopped)
      }
      return (state.waiting.removeFirst(), false)
    }
    if zone == nil, isStopped { ended.signal() }
    return zone
  }

  private func check() throws {
    if state.withLock({ $0.isStopped }) { throw Stopped() }
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

  private func fold(_ name: String) throws {
    guard let zone = try database.run({ try $0.zone(named: name) }) else { return }
    func isOwn(_ place: LogMark) throws -> Bool {
      try database.run { connection in
        guard let zone = try connection.zone(named: name) else { return false }
        return try connection.place(at: place.sequence, of: zone) == place
      }
    }
    var former = try snapshots.snapshot(of: zone)
    // The database was put back to before it.
    if let place = former?.place, try !isOwn(place) { former = nil }
    let after = former?.place.sequence ?? 0
    let since = try database.run { try $0.logBytes(of: zone, after: after) }
    // A snapshot is worth its making when the log since the last one costs a new replica as much as a part of it.
    guard since >= max(limits.foldLogBytesMin, (former?.bytes ?? 0) / 4) else { return }
    var options = FoldOptions()
    options.pause = { [self] in try check() }
    try checkRoom(for: since + (former?.bytes ?? 0))
    func isThere() throws -> Bool {
      try database.run { try $0.generations().contains(zone.generation) }
    }
    let folded = try snapshots.fold(zone, options: options, isThere: isThere, isOwn: isOwn) {
      place in
      try check()
      let request = PageRequest(
        after: place, bytesMax: limits.pageBytesMax, entriesMax: limits.pageEntriesMax)
      return try database.run { try $0.page(of: zone, request).entries }
    }
    metrics.countFold(failed: false)
    logger.info(
      "folded",
      metadata: [
        "zone": "\(name)", "sequence": "\(folded.place.sequence)", "bytes": "\(folded.bytes)",
        "log": "\(since)",
      ])
  }
}

extension SQLiteConnection {
  /// Bytes of a zone's log after an entry.
  fileprivate func logBytes(of zone: ZoneRecord, after sequence: UInt64) throws -> Int {
    let statement = try prepare(
      "SELECT coalesce(sum(size), 0) FROM log WHERE position > ? AND position < ?")
    defer { statement.reset() }
    statement.bind(LogPosition.of(zone: zone.id, number: sequence), at: 1)
    statement.bind(LogPosition.of(zone: zone.id &+ 1, number: 0), at: 2)
    return try statement.step() ? Int(clamping: statement.int64(0)) : 0
  }
}
