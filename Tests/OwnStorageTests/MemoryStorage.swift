import DriftlessProtocol
import DriftlessServer
import Foundation
import Logging
import Synchronization

/// A storage of somebody who knows of this package what it makes public: zones and their logs, in memory. It keeps tokens, and no
/// codes, snapshots or large values, and says so.
final class MemoryStorage: ZoneStorage {
  /// What several openings of it have in common, as the nodes of one database.
  final class Shared: Sendable {
    let memory = Mutex(Memory())
    let news = ZoneNews(waitersMax: 100)

    /// All that `body` does to the tables, or nothing.
    func transaction<Result: Sendable>(
      _ body: (MemoryTables) throws -> Result
    ) throws -> Result {
      try memory.withLock { memory in
        let tables = MemoryTables(memory)
        let result = try body(tables)
        memory = tables.memory
        return result
      }
    }
  }

  private let shared: Shared
  private let limits: Mutex<ServerLimits>
  /// Pushes of each zone that wait.
  private let waiting = Mutex<[Int64: Int]>([:])
  let entryCheck = EntryCheck(logger: Logger(label: "memory"))

  init(_ shared: Shared, limits: ServerLimits) {
    self.shared = shared
    self.limits = Mutex(limits)
  }

  static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  func time() async -> UInt64 { UInt64(Self.now) }

  func zone(named name: String) async throws -> ZoneRecord? {
    shared.memory.withLock { try? $0.zone(named: name).record }
  }

  func generations() async throws -> Set<UUID> {
    shared.memory.withLock { Set($0.zones.values.map(\.record.generation)) }
  }

  // MARK: - Push

  func append(_ push: Push, to zone: ZoneRecord) async throws -> Appended {
    try await inLine(of: zone) { try $0.append(push, to: zone) }
  }

  func refill(_ entries: [Refill], of zone: ZoneRecord) async throws -> LogMark {
    try await inLine(of: zone) { rules in
      for (entry, push) in entries { try rules.refillInParts(entry, push, of: zone) }
      return try rules.lacking([], of: zone).head
    }
  }

  /// Runs the rules in a transaction of their own, where not too many wait for that already.
  private func inLine<Result: Sendable>(
    of zone: ZoneRecord, _ body: (LogAppend<MemoryTables>) throws -> Result
  ) async throws -> Result {
    let limits = limits.withLock { $0 }
    let hasRoom = waiting.withLock { waiting in
      guard waiting[zone.id, default: 0] <= limits.queuedPushesMax else { return false }
      waiting[zone.id, default: 0] += 1
      return true
    }
    guard hasRoom else {
      throw ServerError(.busy, "too many pushes wait for the zone", suggestion: "Send it again.")
    }
    defer { waiting.withLock { $0[zone.id, default: 0] -= 1 } }
    await Task.yield()
    do {
      let (result, head) = try shared.transaction { tables in
        let rules = LogAppend(tables: tables, limits: limits, nowMilliseconds: Self.now)
        let result = try body(rules)
        return (result, tables.zone(named: zone.name)?.head ?? 0)
      }
      shared.news.publish(zone.generation, head: head)
      return result
    } catch {
      throw ServerError(refusal: error) ?? error
    }
  }

  func stage(_ part: Push, of zone: ZoneRecord) async throws { throw ServerError.takesNoParts }

  func stagedFrame(of header: Data, in zone: ZoneRecord) async throws -> Data {
    throw ServerError.takesNoParts
  }

  func checkReady(bytes: Int) async throws {}

  // MARK: - Pull

  func page(of zone: ZoneRecord, _ request: PageRequest) async throws -> LogPage {
    let (current, own) = try shared.memory.withLock { memory in
      (try memory.current(zone), request.own.flatMap { memory.replicas[$0.replica]?.id })
    }
    try current.check(request.after)
    if let mark = request.mark { try current.check(mark) }
    var (entries, bytes) = ([LogEntry](), 0)
    for item in current.entries.dropFirst(Int(request.after.sequence)).prefix(request.entriesMax) {
      let entry = item.entry
      let isOwn = entry.replica.id == own && entry.sequence <= request.own?.through ?? 0
      let frame = isOwn ? entry.push.frame.prefix(ChangeSetHeader.size) : entry.push.frame
      let size = PullPage.Entry.headerSize + frame.count
      guard entries.isEmpty || bytes + size <= request.bytesMax else { break }
      bytes += size
      entries.append(
        LogEntry(
          sequence: entry.sequence, firstObjectNumber: item.firstObject, chain: entry.chain,
          bytes: Data(frame), isHeaderOnly: isOwn))
    }
    if !entries.isEmpty { try request.reserve?(bytes) }
    return LogPage(entries: entries, head: current.record.head)
  }

  func commonPlace(of marks: [LogMark], in zone: ZoneRecord) async throws -> LogMark? {
    let current = try shared.memory.withLock { try $0.current(zone) }
    return marks.filter { current.place(at: $0.sequence) == $0 }
      .max { $0.sequence < $1.sequence }
  }

  // MARK: - Tokens

  func token(id: String) async throws -> TokenRecord? { shared.memory.withLock { $0.token(id) } }

  func operatorToken(id: String) async throws -> OperatorRecord? {
    shared.memory.withLock { $0.operators[id] }
  }

  func bind(_ token: TokenRecord, to replica: UUID) async throws -> TokenBinding {
    shared.memory.withLock { memory in
      guard let now = memory.token(token.id), now.binding == .first else {
        return memory.token(token.id)?.binding ?? .none
      }
      memory.tokens[token.id] = now.with(binding: .to(replica))
      memory.audit.append(
        AuditEvent(
          .tokenBound, by: "replica \(replica)", zone: now.zoneName, subject: now.id, at: Self.now))
      return .to(replica)
    }
  }

  // MARK: - What there is none of

  func use(_ use: CodeUse) async throws -> CodeUse.Outcome { .refused }
  func noteSeen(_ visit: Visit, in zone: ZoneRecord) async {}
  func audit(_ events: [AuditEvent]) async { shared.memory.withLock { $0.audit += events } }
  func replicas(of zone: ZoneRecord, countMax: Int) async throws -> [ReplicaReport]? { nil }

  func look(from name: String, count: Int) async throws -> StorageLook {
    let zones = shared.memory.withLock { $0.zones.values.map(\.record) }
      .sorted { $0.name < $1.name }
    let shown = zones.drop { $0.name < name }
    return StorageLook(
      zones: shown.prefix(count).map { ZoneLook($0) }, zoneCount: zones.count,
      hasMore: shown.count > count)
  }

  func snapshot(of zone: ZoneRecord) async throws -> Snapshot? { nil }
  func segment(_ name: String, of zone: ZoneRecord, first: Int, count: Int) async throws -> Data? {
    nil
  }

  func digests(of zone: ZoneRecord, at place: LogMark) async throws -> ZoneDigests {
    throw ServerError.unsupported
  }

  func digests(_ part: DigestPart, of zone: ZoneRecord, at place: LogMark) async throws -> Data {
    throw ServerError.unsupported
  }

  var keepsValues: Bool { false }

  func keep(_ piece: ValuePiece, of zone: ZoneRecord, token: String) async throws -> ValueState {
    throw ServerError.unsupported
  }

  func value(_ digest: Data, of zone: ZoneRecord, first: Int, count: Int) async throws -> Data {
    throw ServerError.unsupported
  }

  func missing(_ values: [LargeValue], in zone: ZoneRecord) async throws -> [LargeValue] { values }
  func lostValues(
    of zone: ZoneRecord, after digest: Data, countMax: Int
  ) async throws -> [LargeValue] { [] }
  func floor(of zone: ZoneRecord) async throws -> UInt64 { 0 }
  func keptSnapshot(of zone: ZoneRecord) async throws -> Snapshot? { nil }

  func watch() async {}
  func beginFolding(logger: Logger, trimsMemory: @escaping @Sendable () -> Void) throws {}
  func take(_ limits: ServerLimits) { self.limits.withLock { $0 = limits } }
  func close() {}
}

extension ServerError {
  /// What this storage has not.
  static var unsupported: ServerError {
    ServerError(
      ProtocolError(
        .unsupported, "this storage has zones and their logs alone",
        suggestion: "Use another storage."))
  }
}
