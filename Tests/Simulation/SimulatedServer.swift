import DriftlessProtocol
import DriftlessServer
import DriftlessTesting
import Foundation
import Logging
import Synchronization

/// The server: its rules in memory, or its real storage in files, without HTTP in between.
// Sendable by use: it changes between requests alone.
final class SimulatedServer: SyncTransport, @unchecked Sendable {
  enum Storage {
    case memory(MemoryZone)
    case files(SQLiteZoneStorage, PushReader)
  }

  /// The zone's name, which its operator changes.
  private(set) var zoneName = "zone"
  let clock: ManualClock
  /// By how much the clock of the server's host is ahead.
  let step = Step()
  final class Step: Sendable { let milliseconds = Mutex<Int64>(0) }
  /// The newest time that an answer had, and what came before a later one.
  private var given: UInt64 = 0
  private(set) var wentBack: String?
  let folder: URL
  private(set) var storage: Storage
  private enum Backup {
    case memory(ZoneLog)
    case files([String: Data])
  }
  private var backups: [Backup] = []
  /// Whether it has no room for more, and what it says then by itself.
  var isFull = false
  var refusal: ProtocolError?
  let digested = DigestedLog()
  /// The newest frames that the log took, for programs that make others of them.
  private(set) var frames: [Data] = []

  init(_ kind: Scenario.Server, clock: ManualClock, folder: URL) throws {
    self.clock = clock
    self.folder = folder
    switch kind {
    case .memory:
      storage = .memory(
        MemoryZone(
          name: zoneName, clock: clock,
          clockToleranceMilliseconds: UInt64(ServerLimits().clockAheadMillisecondsMax)))
    case .sqlite:
      let data = try DataFolder(folder)
      let administration = try Administration(folder: data)
      _ = try administration.createZone(zoneName)
      administration.close()
      storage = try Self.open(folder, clock, step)
    }
  }

  static let limits = {
    var limits = ServerLimits()
    limits.readers = 1
    limits.valueBytesMax = 1 << 20
    return limits
  }()

  private static func open(_ folder: URL, _ clock: ManualClock, _ step: Step) throws -> Storage {
    let logger = Logger(label: "simulation", factory: { _ in SwiftLogNoOpLogHandler() })
    return .files(
      try SQLiteZoneStorage(
        folder: try DataFolder(folder), limits: limits, logger: logger,
        now: { Int64(clamping: clock.milliseconds) + step.milliseconds.withLock { $0 } },
        sinceBoot: { Int64(clamping: clock.milliseconds) }),
      PushReader(limits: limits))
  }

  func close() {
    if case .files(let storage, _) = storage { storage.close() }
  }

  // MARK: - The server's own luck

  var backupCount: Int { backups.count }

  /// Copies of before are no copies of the zone any more.
  func forgetBackups() { backups = [] }

  /// Copies what the server has, as an operator does.
  func backup() throws {
    switch storage {
    case .memory(let zone): backups.append(.memory(zone.log))
    case .files: backups.append(.files(try FileImage.take(database)))
    }
  }

  /// Puts an older copy back, by hand: nothing tells the server.
  func restore(_ number: Int) throws {
    guard backups.indices.contains(number) else { return }
    switch (storage, backups[number]) {
    case (.memory(let zone), .memory(let log)): zone.putBack(log)
    case (.files(let open, _), .files(let image)):
      open.close()
      // An older copy knows less of what was given.
      given = 0
      try FileImage.put(image, at: database)
      storage = try Self.open(folder, clock, step)
    default: return
    }
    makeRoom()
  }

  /// The server is ended, the clock of its host set, and the server started again.
  func restart(ahead milliseconds: Int64) throws {
    step.milliseconds.withLock { $0 = milliseconds }
    guard case .files(let open, _) = storage else { return }
    open.close()
    storage = try Self.open(folder, clock, step)
    makeRoom()
  }

  /// An operator ends the server, tells it to go on from its host's clock, and starts it again.
  func setClockBack() throws {
    guard case .files(let open, _) = storage else { return }
    open.close()
    let administration = try Administration(folder: try DataFolder(folder))
    let ahead = step.milliseconds.withLock { $0 }
    _ = try administration.setClockBack(to: Int64(clamping: clock.milliseconds) + ahead)
    administration.close()
    given = 0
    storage = try Self.open(folder, clock, step)
  }

  /// The clock of the server's host is set while it serves.
  func setClock(ahead milliseconds: Int64) { step.milliseconds.withLock { $0 = milliseconds } }

  private func time(of storage: SQLiteZoneStorage) async -> UInt64 {
    let time = await storage.time()
    if time < given { wentBack = "the server gave \(time) after \(given)" }
    given = max(given, time)
    return time
  }

  /// Gives the zone a new generation.
  func renew(_ intent: ZoneIntent = .offer) throws {
    switch storage {
    case .memory(let zone): zone.renew(intent: intent)
    case .files:
      let administration = try Administration(folder: try DataFolder(folder))
      defer { administration.close() }
      _ = try administration.renewZone(zoneName, intent: intent)
    }
  }

  /// Gives the zone another name: requests by a former one find none.
  func rename() throws {
    let name = zoneName + "x"
    if case .files = storage {
      let administration = try Administration(folder: try DataFolder(folder))
      defer { administration.close() }
      _ = try administration.renameZone(zoneName, to: name)
    }
    zoneName = name
  }

  var database: URL { folder.appendingPathComponent("driftless.sqlite") }

  // MARK: - Requests

  func zoneInfo() async throws -> ZoneInfo {
    switch storage {
    case .memory(let zone):
      var info = try await zone.zoneInfo()
      info.zone = zoneName
      return info
    case .files(let storage, _):
      let zone = try await zone(in: storage)
      return ZoneInfo(
        zone: zone.name, zoneID: zone.zoneID, generation: zone.generation, parent: zone.parent,
        intent: zone.intent, replacements: zone.replacements, head: zone.head, chain: zone.chain,
        formatLevel: zone.formatLevel, serverTimeMilliseconds: await time(of: storage),
        floor: try await storage.floor(of: zone),
        valueBytesMax: storage.keepsValues ? 1 << 20 : nil)
    }
  }

  func push(_ frame: Data) async throws -> PushReply {
    try admit()
    let reply: PushReply
    switch storage {
    case .memory(let zone): reply = try await zone.push(frame)
    case .files(let storage, let reader):
      reply = try await mapped {
        let zone = try await zone(in: storage)
        let push = try reader.read(frame)
        let appended = try await storage.append(push, to: zone)
        return PushReply(
          sequence: appended.sequence, firstObjectNumber: appended.firstObjectNumber,
          chain: appended.chain, chainBefore: appended.chainBefore, generation: zone.generation,
          pushNumber: push.number, digest: push.digest,
          serverTimeMilliseconds: await time(of: storage))
      }
    }
    frames.append(frame)
    if frames.count > 16 { frames.removeFirst() }
    return reply
  }

  func stage(_ part: Data) async throws -> StagedReply {
    try admit()
    switch storage {
    case .memory(let zone): return try await zone.stage(part)
    case .files(let storage, let reader):
      return try await mapped {
        let zone = try await zone(in: storage)
        let header = try reader.header(of: part)
        let isHeader = part.count == ChangeSetHeader.size && header.frameSize > part.count
        let frame = isHeader ? try await storage.stagedFrame(of: part, in: zone) : part
        let push = try reader.read(frame)
        try await storage.stage(push, of: zone)
        return StagedReply(
          pushNumber: push.number, part: header.part, digest: push.digest,
          serverTimeMilliseconds: await time(of: storage))
      }
    }
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    switch storage {
    case .memory(let zone): return try await zone.pull(request)
    case .files(let storage, _):
      return try await mapped {
        let zone = try await zone(in: storage)
        guard request.cursor.generation == zone.generation else {
          throw Self.generationChanged(zone)
        }
        var page = PageRequest(
          after: LogMark(sequence: request.cursor.sequence, chain: request.cursor.chain),
          mark: request.mark, bytesMax: request.maxBytes, entriesMax: 1000)
        page.own = (request.replica, request.ownThrough)
        let log = try await storage.page(of: zone, page)
        var answer = PullPage(
          generation: zone.generation, head: log.head,
          serverTimeMilliseconds: await time(of: storage),
          entries: log.entries.map {
            PullPage.Entry(
              sequence: $0.sequence, firstObjectNumber: $0.firstObjectNumber, chain: $0.chain,
              isOwnHeaderOnly: $0.isHeaderOnly, frame: $0.bytes)
          })
        answer.lostValues = log.lostValues
        return answer
      }
    }
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try admit()
    switch storage {
    case .memory(let zone): return try await zone.refill(entries)
    case .files(let storage, let reader):
      return try await mapped {
        let place = try await storage.refill(
          entries.map { (entry: $0, push: try reader.read($0.frame)) }, of: zone(in: storage))
        return RefillReply(head: place.sequence, chain: place.chain)
      }
    }
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    switch storage {
    case .memory(let zone): return try await zone.commonPlace(of: marks, generation: generation)
    case .files(let storage, _):
      return try await mapped {
        let zone = try await zone(in: storage)
        guard generation == zone.generation else { throw Self.generationChanged(zone) }
        return try await storage.commonPlace(of: marks, in: zone)
      }
    }
  }

  // MARK: - What the log comes to

  private var snapshots: URL { folder.appendingPathComponent("folded", isDirectory: true) }

  /// Adds up the log, in runs and files so small that a few entries make many. It goes on from the snapshot of the last time.
  func fold() async throws {
    let info = try await zoneInfo()
    var options = FoldOptions()
    options.runBytes = 3_000
    options.segmentBytes = 3_000
    guard try await floor() == 0 else {
      // What was purged only the server's own files tell.
      let administration = try Administration(folder: try DataFolder(folder))
      defer { administration.close() }
      _ = try administration.foldZone(zoneName, options: options)
      return
    }
    if let found = try Snapshot.read(in: snapshots), try await !isOwn(found) {
      // The server was put back: what was added up is another log's.
      try FileManager.default.removeItem(at: snapshots)
    }
    let fold = try SnapshotFold(
      zone: info.zoneID, generation: info.generation, in: snapshots, options: options)
    while true {
      let page = try await pull(
        PullRequest(
          cursor: Cursor(
            generation: info.generation, sequence: fold.through.sequence,
            chain: fold.through.chain), maxBytes: 1 << 20, waitSeconds: 0, replica: UUID(),
          ownThrough: 0))
      if page.entries.isEmpty { break }
      for entry in page.entries { try fold.append(entry) }
    }
    _ = try fold.finish()
  }

  private func isOwn(_ snapshot: Snapshot) async throws -> Bool {
    let info = try await zoneInfo()
    guard snapshot.generation == info.generation else { return false }
    return try await commonPlace(of: [snapshot.place], generation: info.generation) != nil
  }

  /// The last entry whose change set may be gone.
  func floor() async throws -> UInt64 {
    guard case .files(let storage, _) = storage else { return 0 }
    return try await storage.floor(of: zone(in: storage))
  }

  func keptSnapshot(of generation: UUID) async throws -> Snapshot? {
    guard case .files(let storage, _) = storage else { return nil }
    let zone = try await zone(in: storage)
    return zone.generation == generation ? try await storage.keptSnapshot(of: zone) : nil
  }

  func snapshot(of generation: UUID) async throws -> Snapshot? {
    if case .files(let storage, _) = storage, try await floor() > 0 {
      let zone = try await zone(in: storage)
      return zone.generation == generation ? try await storage.snapshot(of: zone) : nil
    }
    guard let found = try Snapshot.read(in: snapshots), try await isOwn(found) else { return nil }
    return found.generation == generation ? found : nil
  }

  func segment(
    _ name: String, of generation: UUID, range: Range<Int>
  ) async throws -> Data {
    if case .files(let storage, _) = storage, try await floor() > 0 {
      let piece = try await storage.segment(
        name, of: zone(in: storage), first: range.lowerBound, count: range.count)
      guard let piece else { throw ProtocolError.noSnapshot }
      return piece
    }
    guard let snapshot = try await snapshot(of: generation),
      let file = snapshot.files.first(where: { $0.name == name })
    else { throw ProtocolError.noSnapshot }
    let bytes = try Snapshot.bytes(of: file, in: snapshots)
    return bytes.subdata(in: range.clamped(to: bytes.startIndex..<bytes.endIndex))
  }

  private static func generationChanged(_ zone: ZoneRecord) -> ProtocolError {
    ProtocolError(
      .generationChanged, "The zone is of another generation", suggestion: "Come back.",
      head: zone.head)
  }

  func zone(in storage: SQLiteZoneStorage) async throws -> ZoneRecord {
    guard let zone = try await storage.zone(named: zoneName) else {
      throw ProtocolError(.noZone, "There is no zone", suggestion: "Make one.")
    }
    return zone
  }

  /// Errors as a client reads them.
  func mapped<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
    do {
      return try await body()
    } catch let error as ServerError {
      throw ProtocolError(
        ProtocolError.Code(rawValue: error.code.name), error.message, suggestion: error.suggestion,
        head: error.head, floor: error.floor)
    }
  }
}
