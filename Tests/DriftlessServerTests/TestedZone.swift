import DriftlessProtocol
import Foundation
import Synchronization
import TestSupport

@testable import DriftlessServer

/// A zone of one of the kinds that keep the rules of a zone: in memory, and in the server's storages. Used by one task.
final class TestedZone {
  enum Kind: CaseIterable, Sendable {
    case memory, storage
    #if PostgreSQL
      case postgres
    #endif
  }

  private let kind: Kind
  private var log = ZoneLog(name: "shop")
  /// Of SQLite, with its folder.
  private let test: TestZone?
  private let stored: Stored?
  private let reader = PushReader(limits: .init())
  let generation: UUID
  /// Of PostgreSQL.
  private(set) var database: String?

  /// The server's clock, which is as far ahead of the host's as a test says.
  final class Clock: Sendable {
    let ahead = Mutex<Int64>(0)
    var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) + ahead.withLock { $0 } }
  }
  let clock = Clock()

  /// Of SQLite.
  var folder: DataFolder? { test?.folder }

  /// What a server in one folder does by itself, each hour.
  func letGoOfForgotten() async { await test?.storage.letGoOfForgotten() }

  init(_ kind: Kind, limits: ServerLimits = .init()) async throws {
    self.kind = kind
    switch kind {
    case .memory:
      log.clockToleranceMilliseconds = UInt64(ServerLimits().clockAheadMillisecondsMax)
      test = nil
      stored = nil
      generation = log.generation
    case .storage:
      let test = try TestZone(limits: limits, now: { [clock] in clock.now })
      self.test = test
      stored = Stored(storage: test.storage)
      generation = try await test.zone().generation
    #if PostgreSQL
      case .postgres:
        let database = try PostgresCluster.shared().place()
        let administration = try PostgresAdministration(database: database)
        generation = try administration.createZone("shop").generation
        administration.close()
        test = nil
        stored = Stored(
          storage: try PostgresZoneStorage(
            database: database, limits: limits, now: { [clock] in clock.now }))
        self.database = database
    #endif
    }
  }

  deinit { if test == nil { stored?.storage.close() } }

  /// The zone in a storage.
  private struct Stored {
    let storage: any ZoneStorage

    func zone() async throws -> ZoneRecord {
      guard let zone = try await storage.zone(named: "shop") else {
        throw TestZone.Missing(name: "shop")
      }
      return zone
    }
  }

  /// Hands over a part of a push, or its header alone, as the route does.
  func stage(_ bytes: Data) async throws -> StagedReply {
    if kind == .memory { return try log.stage(bytes, nowMilliseconds: now) }
    return try await translated { test in
      let header = try reader.header(of: bytes)
      let isHeader = bytes.count == ChangeSetHeader.size && header.frameSize > bytes.count
      let frame =
        isHeader ? try await test.storage.stagedFrame(of: bytes, in: test.zone()) : bytes
      let part = try reader.read(frame)
      try await test.storage.stage(part, of: test.zone())
      return StagedReply(
        pushNumber: part.number, part: header.part, digest: part.digest,
        serverTimeMilliseconds: now)
    }
  }

  /// The refusal of a part; nil when it was kept.
  func refusal(staging bytes: Data) async throws -> ProtocolError? {
    do {
      _ = try await stage(bytes)
      return nil
    } catch let error as ProtocolError {
      return error
    }
  }

  func push(_ frame: Data) async throws -> PushReply {
    if kind == .memory { return try log.append(frame, nowMilliseconds: now) }
    return try await translated { test in
      let push = try reader.read(frame)
      let appended = try await test.storage.append(push, to: test.zone())
      return PushReply(
        sequence: appended.sequence, firstObjectNumber: appended.firstObjectNumber,
        chain: appended.chain, chainBefore: appended.chainBefore, generation: generation,
        pushNumber: push.number, digest: push.digest, serverTimeMilliseconds: now)
    }
  }

  func entries(after place: LogMark, mark: LogMark? = nil) async throws -> [PullPage.Entry] {
    if kind == .memory {
      let request = PullRequest(
        cursor: Cursor(generation: generation, sequence: place.sequence, chain: place.chain),
        mark: mark, maxBytes: 1 << 30, waitSeconds: 0, replica: UUID(), ownThrough: 0)
      return try log.page(request, nowMilliseconds: now).entries
    }
    return try await translated { test in
      let request = PageRequest(after: place, mark: mark, bytesMax: 1 << 30, entriesMax: 10_000)
      return try await test.storage.page(of: test.zone(), request).entries.map {
        PullPage.Entry(
          sequence: $0.sequence, firstObjectNumber: $0.firstObjectNumber, chain: $0.chain,
          isOwnHeaderOnly: $0.isHeaderOnly, frame: $0.bytes)
      }
    }
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> LogMark {
    if kind == .memory {
      let reply = try log.refill(entries)
      return LogMark(sequence: reply.head, chain: reply.chain)
    }
    return try await translated { test in
      let read = try entries.map { (entry: $0, push: try reader.read($0.frame)) }
      return try await test.storage.refill(read, of: test.zone())
    }
  }

  func commonPlace(of marks: [LogMark]) async throws -> LogMark? {
    if kind == .memory { return try log.commonPlace(of: marks, generation: generation) }
    return try await translated { try await $0.storage.commonPlace(of: marks, in: $0.zone()) }
  }

  /// The replicas that an operator is shown, by command and on the status page, once one of them was seen.
  func replicas(
    seen replica: UUID
  ) async throws -> (operator: [ReplicaReport], page: [ReplicaReport]) {
    try await translated { test in
      let zone = try await test.zone()
      await test.storage.noteSeen(
        replica, in: zone, generation: generation, at: zone.head, given: nil, token: "token")
      self.test?.storage.writeSightings()
      let page = try await test.storage.replicas(of: zone, countMax: 100) ?? []
      if let folder = self.test?.folder {
        let administration = try Administration(folder: folder)
        defer { administration.close() }
        return (try administration.replicas(of: "shop"), page)
      }
      #if PostgreSQL
        let administration = try PostgresAdministration(database: database ?? "")
        defer { administration.close() }
        return (try administration.replicas(of: "shop"), page)
      #else
        return ([], page)
      #endif
    }
  }

  /// The log's last place.
  var head: LogMark {
    get async throws {
      if kind == .memory { return LogMark(sequence: log.head, chain: log.chain) }
      return try await translated { test in
        let zone = try await test.zone()
        return LogMark(sequence: zone.head, chain: zone.chain)
      }
    }
  }

  /// The refusal of a push; nil when it was taken.
  func refusal(_ frame: Data) async throws -> ProtocolError? {
    do {
      _ = try await push(frame)
      return nil
    } catch let error as ProtocolError {
      return error
    }
  }

  /// What the server's storage throws, as the wire says it.
  private func translated<Value>(
    _ body: (Stored) async throws -> Value
  ) async throws -> Value {
    guard let stored else { throw TestZone.Missing(name: "storage") }
    do {
      return try await body(stored)
    } catch let error as ServerError {
      throw ProtocolError(
        .init(rawValue: error.code.name), error.message, suggestion: error.suggestion,
        head: error.head, objects: error.objects,
        serverTimeMilliseconds: error.serverTimeMilliseconds)
    }
  }

  private var now: UInt64 { UInt64(clock.now) }
}

/// A replica that makes frames which name, rely and claim.
struct ZoneWriter {
  /// What is done to an object that the zone knows.
  enum Change {
    case update([String])
    case delete
    case revive
    case named
  }

  /// An object that claims a key.
  enum Claiming {
    case new(Int)
    case known(UInt64)
  }

  struct Content {
    var inserts = 0
    var first = UUID()
    var known: [UInt64: Change] = [:]
    var relied: [UInt64: [String]] = [:]
    /// Keys of the constraint `email`.
    var emails: [(Claiming, String)] = []
    var tombstones: [UUID] = []
    var milliseconds: UInt64?
    var names: [UInt64] = []
  }

  private static let properties = ["title", "email", "a", "b"]

  let replica = UUID()
  var number: UInt64 = 0
  var cursor: LogMark
  var mark: LogMark?
  let generation: UUID

  init(_ generation: UUID) {
    self.generation = generation
    cursor = Cursor.start(generation: generation).mark
  }

  mutating func frame(_ fill: (inout Content) -> Void) throws -> Data {
    number += 1
    var content = Content()
    fill(&content)
    return try frame(content)
  }

  func frame(_ content: Content) throws -> Data {
    let numbers = Set(content.known.keys).union(content.relied.keys)
      .union(
        content.emails.compactMap { if case .known(let number) = $0.0 { number } else { nil } }
      ).sorted()
    func place(_ number: UInt64) -> Int32 {
      Int32(content.inserts + (numbers.firstIndex(of: number) ?? 0))
    }
    func group(
      _ kind: ChangeSetIndex.Group.Kind, _ properties: [Int], _ objects: ObjectIndexes
    ) -> ChangeSetIndex.Group {
      .init(
        kind: kind, entity: 0, properties: properties, objects: objects,
        transactionRuns: [.init(transaction: 0, count: objects.count)])
    }
    func indexes(_ names: [String]) -> [Int] {
      names.compactMap { Self.properties.firstIndex(of: $0) }
    }
    var index = ChangeSetIndex()
    index.entities = [.init(name: "User", properties: Self.properties)]
    let now = UInt64(Date().timeIntervalSince1970 * 1000)
    index.transactions = [.init(name: 7, hybridTime: (content.milliseconds ?? now) << 16)]
    index.knownNumbers = numbers
    if content.inserts > 0 {
      index.newObjects = [
        .init(entity: 0, identities: .range(first: content.first, count: content.inserts))
      ]
      index.groups.append(group(.insert, [0], ObjectIndexes(0..<content.inserts)))
    }
    for number in numbers {
      let objects = ObjectIndexes([place(number)])
      switch content.known[number] {
      case .update(let names): index.groups.append(group(.update, indexes(names), objects))
      case .delete: index.groups.append(group(.delete, [], objects))
      case .revive: index.groups.append(group(.revive, [0], objects))
      case .named, nil: break
      }
    }
    for (number, names) in content.relied.sorted(by: { $0.key < $1.key }) {
      index.relied.append(
        .init(entity: 0, properties: indexes(names), objects: ObjectIndexes([place(number)])))
    }
    for (claiming, email) in content.emails {
      let object: Int32 =
        switch claiming {
        case .new(let new): Int32(new)
        case .known(let number): place(number)
        }
      let hash = KeyHash.of(
        entity: "User", properties: ["email"], values: [Array(email.utf8)], zone: generation)
      index.claims.append(
        .init(entity: 0, properties: [1], objects: ObjectIndexes([object]), hashes: [hash]))
    }
    index.tombstones = content.tombstones.map {
      .init(identity: $0, entity: 0, hybridTime: now << 16)
    }
    let columns = index.groups.flatMap { group in
      group.properties.map { _ in
        Column(.strings(ByteRows((0..<group.objects.count).map { "\(replica) \(number) \($0)" })))
      }
    }
    let header = ChangeSetHeader(
      replica: replica, pushNumber: number,
      cursor: Cursor(generation: generation, sequence: cursor.sequence, chain: cursor.chain),
      mark: mark)
    return try ChangeSetEncoder().encode(
      ChangeSet(header: header, index: index, columns: columns))
  }
}

/// A zone with users 1…4 that both replicas know; user 1 holds the key one@, user 2 two@.
struct ZoneWorld {
  let zone: TestedZone
  var a: ZoneWriter
  var b: ZoneWriter

  init(_ kind: TestedZone.Kind) async throws {
    zone = try await TestedZone(kind)
    a = ZoneWriter(zone.generation)
    b = ZoneWriter(zone.generation)
    let reply = try await zone.push(
      a.frame {
        $0.inserts = 4
        $0.emails = [(.new(0), "one@"), (.new(1), "two@")]
      })
    a.cursor = reply.mark
    b.cursor = reply.mark
  }

  /// Pushes as `a`, which has pulled all.
  @discardableResult
  mutating func a(_ fill: (inout ZoneWriter.Content) -> Void) async throws -> PushReply {
    a.cursor = try await zone.head
    return try await zone.push(a.frame(fill))
  }

  /// What becomes of a push of `b` on the cursor that it has.
  mutating func b(_ fill: (inout ZoneWriter.Content) -> Void) async throws -> ProtocolError? {
    try await zone.refusal(b.frame(fill))
  }
}
