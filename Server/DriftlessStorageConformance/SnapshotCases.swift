package import DriftlessProtocol
package import DriftlessServer
import Foundation
import Logging

/// What a storage owes of snapshots and digests.
enum SnapshotCases {
  static let all = [
    StorageCase("A fold is the zone's snapshot, and its files come in pieces", folds),
    StorageCase("A fold goes on from the one before, whose files stay for a while", goesOn),
    StorageCase("A renewed zone has no snapshot, and a deleted one neither", begunAnew),
    StorageCase("A log that grows is added up by itself", byItself),
    StorageCase("Digests are made at a place of the log, and of no other", digests),
  ]

  private static func folds(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    var boxes = BoxReplica(try await test.zone())
    try expect(await test.storage.snapshot(of: test.zone()) == nil, "nothing was added up")
    for _ in 0..<3 { _ = try await test.storage.append(boxes.insert(4), to: test.zone()) }
    let folded = try test.fold()
    let zone = try await test.zone()
    let other = try await kind.open(.init())
    defer { other.close() }
    for storage in [test.storage, other] {
      try expect(await storage.snapshot(of: zone) == folded)
    }
    try expect(folded.place == LogMark(sequence: 3, chain: zone.chain))
    try expect(folded.nextObject == 13 && folded.generation == zone.generation)
    for file in folded.files {
      var whole = Data()
      // Asked of both in turn.
      while let piece = try await (whole.count % 2 == 0 ? test.storage : other)
        .segment(file.name, of: zone, first: whole.count, count: 101), !piece.isEmpty
      { whole += piece }
      try expect(whole.count == file.bytes && Snapshot.name(of: whole) == file.name)
      let behind = try await other.segment(file.name, of: zone, first: file.bytes, count: 9)
      try expect(behind == Data())
      let far = try await other.segment(file.name, of: zone, first: 1 << 40, count: 1 << 40)
      try expect(far == Data())
    }
    for name in ["", "snapshot.json", "../fold.lock", "\0", String(repeating: "0", count: 64)] {
      try expect(await test.storage.segment(name, of: zone, first: 0, count: 9) == nil, name)
    }
  }

  private static func goesOn(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    var boxes = BoxReplica(try await test.zone())
    _ = try await test.storage.append(boxes.insert(50), to: test.zone())
    let first = try test.fold()
    try expect(try test.fold() == first, "nothing came since")
    _ = try await test.storage.append(boxes.insert(1), to: test.zone())
    let second = try test.fold()
    let zone = try await test.zone()
    try expect(second.place.sequence == 2 && second.former == first.files.map(\.name))
    for name in second.former + second.files.map(\.name) {
      try expect(await test.storage.segment(name, of: zone, first: 0, count: 9)?.count == 9)
    }
    for _ in 0..<2 {
      _ = try await test.storage.append(boxes.insert(300), to: test.zone())
      _ = try test.fold()
    }
    let last = try await test.storage.snapshot(of: test.zone())
    let named = Set((last?.files.map(\.name) ?? []) + (last?.former ?? []))
    for file in first.files where !named.contains(file.name) {
      try expect(await test.storage.segment(file.name, of: zone, first: 0, count: 9) == nil)
    }
  }

  private static func begunAnew(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    var boxes = BoxReplica(try await test.zone())
    _ = try await test.storage.append(boxes.insert(4), to: test.zone())
    let folded = try test.fold()
    let before = try await test.zone()
    try kind.administer { _ = try $0.renewZone(test.name, intent: .offer) }
    let renewed = try await test.zone()
    try expect(await test.storage.snapshot(of: renewed) == nil)
    for zone in [before, renewed] {
      try expect(
        await test.storage.segment(folded.files[0].name, of: zone, first: 0, count: 9) == nil)
    }
    boxes = BoxReplica(renewed)
    _ = try await test.storage.append(boxes.insert(2), to: renewed)
    try expect(try test.fold().nextObject == 3)
    try kind.administer {
      try $0.deleteZone(test.name)
      _ = try $0.createZone(test.name)
    }
    try expect(await test.storage.snapshot(of: test.zone()) == nil)
    let unknown = try await code { _ = try test.fold("none-\(test.name)") }
    try expect(unknown == .noZone)
  }

  private static func byItself(kind: StorageUnderTest) async throws {
    var limits = ServerLimits()
    limits.foldLogBytesMin = 1_000
    let test = try await StorageWorld(kind, limits: limits)
    defer { test.storage.close() }
    try test.storage.beginFolding(logger: Logger(label: "folding"), trimsMemory: {})
    var boxes = BoxReplica(try await test.zone())
    let deadline = ContinuousClock.now + .seconds(120)
    for round in 1...3 {
      let zone = try await test.zone()
      while try await test.storage.snapshot(of: zone).map({ $0.place.sequence < round }) ?? true {
        try expect(ContinuousClock.now < deadline, "nobody folds")
        _ = try await test.storage.append(boxes.insert(100), to: zone)
      }
    }
  }

  private static func digests(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    defer { test.storage.close() }
    let storage = test.storage
    try storage.beginFolding(logger: Logger(label: "folding"), trimsMemory: {})
    var boxes = BoxReplica(try await test.zone())
    var places: [LogMark] = [try await test.zone().beginning]
    for _ in 0..<2 {
      _ = try await storage.append(boxes.insert(3), to: test.zone())
      let zone = try await test.zone()
      places.append(LogMark(sequence: zone.head, chain: zone.chain))
    }
    let zone = try await test.zone()
    let nowhere = LogMark(sequence: 1, chain: places[2].chain)
    let refused = try await code { _ = try await storage.digests(of: zone, at: nowhere) }
    try expect(refused == .diverged)
    let told = try await storage.madeDigests(of: zone, at: places[2])
    try expect(told.place == places[2] && told.nextObject == 7)
    try expect(told.columns.map(\.property).sorted() == ["", "title"])
    let ranges = try await storage.digests(
      .ranges(0..<1, columns: [0, 1]), of: zone, at: places[2])
    try expect(ranges.count == 32)
    let objects = try await storage.digests(.objects(1..<7), of: zone, at: places[2])
    try expect(!objects.isEmpty)
    // Of a place before the snapshot there are none any more.
    try expect(try await storage.digests(of: zone, at: places[1]).place == places[2])
    let gone = try await code {
      _ = try await storage.digests(.objects(1..<4), of: zone, at: places[1])
    }
    try expect(gone == .noSnapshot)
  }
}

extension ZoneStorage {
  /// Digests of a place, once they are made.
  package func madeDigests(of zone: ZoneRecord, at place: LogMark) async throws -> ZoneDigests {
    let deadline = ContinuousClock.now + .seconds(120)
    while true {
      let told = try await digests(of: zone, at: place)
      if told.isReady { return told }
      try expect(ContinuousClock.now < deadline, "no digests are made")
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}

extension StorageWorld {
  /// Adds up the zone's log, as an operator does.
  func fold(_ other: String? = nil) throws -> Snapshot {
    var folded: Snapshot?
    try kind.administer { folded = try $0.foldZone(other ?? name) }
    guard let folded else { throw ConformanceFailure("nothing was folded") }
    return folded
  }
}

/// A replica that inserts boxes with a title, in real frames.
package struct BoxReplica: Sendable {
  private let replica = UUID()
  private let cursor: Cursor
  private var number: UInt64 = 0

  package init(_ zone: ZoneRecord) {
    cursor = Cursor(generation: zone.generation, sequence: zone.head, chain: zone.chain)
  }

  package mutating func insert(_ count: Int) throws -> Push {
    number += 1
    let first = UUID()
    var index = ChangeSetIndex()
    index.newObjects = [.init(entity: 0, identities: .range(first: first, count: count))]
    index.entities = [.init(name: "Box", properties: ["title"])]
    index.transactions = [.init(hybridTime: 1_700_000_000_000 << 16)]
    index.groups = [
      .init(
        kind: .insert, entity: 0, properties: [0], objects: ObjectIndexes(0..<count),
        transactionRuns: [.init(transaction: 0, count: count)])
    ]
    let titles = (0..<count).map { _ in "box \(UUID())" }
    let frame = try ChangeSetEncoder().encode(
      ChangeSet(
        header: ChangeSetHeader(replica: replica, pushNumber: number, cursor: cursor),
        index: index, columns: [Column(.strings(ByteRows(titles)))]))
    let header = try ChangeSetDecoder().decodeHeader(frame)
    var contents = Push.Contents()
    contents.identities = [Push.IdentityRun(first: first, count: UInt64(count))]
    return Push(
      replica: replica, number: number, cursor: cursor, mark: nil, frame: frame,
      digest: header.digest, contents: contents)
  }
}
