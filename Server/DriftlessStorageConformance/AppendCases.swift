import DriftlessProtocol
import DriftlessServer
import Foundation
import Synchronization

/// A log: its numbers, its repeats, its pages, and that it stays.
enum AppendCases {
  static let all = [
    StorageCase("Sequence numbers are dense and object numbers follow each other", numbers),
    StorageCase("The same push again has one effect and the same answer", repeats),
    StorageCase("Other bytes under a known number are a fork, and leave the log as it was", fork),
    StorageCase("A gap in the push numbers is fine", gap),
    StorageCase(
      "A push for another generation, or from beyond the log's end, is refused", generation),
    StorageCase("A replica of one zone cannot push to another", otherZone),
    StorageCase(
      "The log gives back each frame byte for byte, and the replica's own as headers", page),
    StorageCase(
      "A page ends at its bytes, but holds one entry however large; pages join without a gap", pages
    ),
    StorageCase("The bytes of a page are told before it is read, and can be refused", pageSizes),
    StorageCase("What was acknowledged is there after the server was started anew", restart),
    StorageCase("Pushes at one time get dense numbers", concurrent),
    StorageCase("However many pushes wait for one zone, those of another are not refused", queues),
    StorageCase(
      "A zone has no more names of properties than it may, and an object no more properties", names),
  ]

  /// However many pushes wait for one zone, those of another are not refused.
  static func queues(kind: StorageUnderTest) async throws {
    var limits = ServerLimits()
    limits.queuedPushesMax = 1
    limits.groupPushesMax = 1
    let test = try await StorageWorld(kind, limits: limits)
    let (zone, otherName) = (try await test.zone(), "other-\(UUID().uuidString)")
    try kind.administer { _ = try $0.createZone(otherName) }
    let other = try await test.zone(otherName)
    let storage = test.storage
    try await withThrowingTaskGroup(of: ServerError.Code?.self) { group in
      for _ in 0..<60 {
        let push = TestReplica().push(
          1, zone.generation, inserts: (0..<200).map { _ in .init(first: UUID(), count: 1) })
        group.addTask { try await code { _ = try await storage.append(push, to: zone) } }
      }
      var replica = TestReplica()
      for _ in 0..<10 {
        let push = replica.push(other.generation)
        try expect(
          await test.refusal(push, of: other) == nil, "a push to another zone is refused")
      }
      var refused = 0
      for try await code in group {
        try expect(code == nil || code == .busy, "\(String(describing: code))")
        if code != nil { refused += 1 }
      }
      try expect(refused > 0, "the zone's own line is bounded")
    }
  }

  /// A zone has no more names of properties than it may, and an object no more properties.
  static func names(kind: StorageUnderTest) async throws {
    var limits = ServerLimits()
    limits.propertiesPerZoneMax = 5
    limits.propertiesPerObjectMax = 3
    let test = try await StorageWorld(kind, limits: limits)
    let (zone, otherName) = (try await test.zone(), "other-\(UUID().uuidString)")
    try kind.administer { _ = try $0.createZone(otherName) }
    let other = try await test.zone(otherName)
    var replica = TestReplica()
    _ = try await test.storage.append(
      replica.push(zone.generation, inserts: [.init(first: UUID(), count: 3)]), to: zone)
    func refusal(_ names: [String], _ object: UInt64) async throws -> ServerError.Code? {
      try await test.refusal(replica.push(zone.generation, .update(names, of: [object])), of: zone)
    }
    try expect(try await refusal(["a", "b", "c"], 1) == nil)
    try expect(try await refusal(["d"], 1) == .tooLarge, "a fourth property of an object")
    try expect(try await refusal(["c", "b", "a"], 1) == nil, "those that it has")
    try expect(try await refusal(["d", "e"], 2) == nil)
    try expect(try await refusal(["f"], 3) == .zoneFull, "a sixth name")
    try expect(try await refusal(["e", "a"], 3) == nil, "names that the zone has")
    // Whole again, and not counted in another zone.
    try expect(
      try await test.refusal(
        replica.push(zone.generation, .delete([1])), of: zone) == nil)
    var second = TestReplica()
    _ = try await test.storage.append(
      second.push(other.generation, inserts: [.init(first: UUID(), count: 1)]), to: other)
    try expect(
      try await test.refusal(
        second.push(other.generation, .update(["f", "g"], of: [1])), of: other) == nil)
  }

  /// Sequence numbers are dense and object numbers follow each other.
  static func numbers(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    let first = try await test.storage.append(
      replica.push(zone.generation, inserts: [.init(first: UUID(), count: 10)]), to: zone)
    let second = try await test.storage.append(
      replica.push(zone.generation, inserts: [.init(first: UUID(), count: 1)]), to: zone)
    try expect(first.sequence == 1 && first.firstObjectNumber == 1 && !first.isRepeat)
    try expect(second.sequence == 2 && second.firstObjectNumber == 11 && !second.isRepeat)
    try expect(await test.zone().chain == second.chain)
    try expect(await test.zone().head == 2)
  }

  /// The same push again has one effect and the same answer.
  static func repeats(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    let push = replica.push(zone.generation, inserts: [.init(first: UUID(), count: 3)])
    let first = try await test.storage.append(push, to: zone)
    _ = try await test.storage.append(replica.push(zone.generation), to: zone)
    let again = try await test.storage.append(push, to: zone)
    try expect(again.isRepeat)
    try expect((again.sequence, again.firstObjectNumber, again.chain) == (1, 1, first.chain))
    try expect(await test.zone().head == 2)
  }

  /// Other bytes under a known number are a fork, and leave the log as it was.
  static func fork(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    let replica = TestReplica()
    _ = try await test.storage.append(replica.push(1, zone.generation), to: zone)
    let forked = try await code {
      _ = try await test.storage.append(replica.push(1, zone.generation, fill: 8), to: zone)
    }
    try expect(forked == .forked)
    try expect(await test.zone().head == 1)
  }

  /// A gap in the push numbers is fine.
  static func gap(kind: StorageUnderTest) async throws {
    for number in [UInt64(2), 3, UInt64(Int64.max)] as [UInt64] { try await gapOne(kind, number) }
  }

  private static func gapOne(_ kind: StorageUnderTest, _ number: UInt64) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    let replica = TestReplica()
    let first = try await test.storage.append(replica.push(1, zone.generation), to: zone)
    let later = try await test.storage.append(replica.push(number, zone.generation), to: zone)
    try expect([first.sequence, later.sequence] == [1, 2])
    let push = replica.push(number, zone.generation)
    try expect(await test.storage.append(push, to: zone).isRepeat)
  }

  /// A push for another generation, or from beyond the log's end, is refused.
  static func generation(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    let other = try await code {
      _ = try await test.storage.append(replica.push(1, UUID()), to: zone)
    }
    try expect(other == .generationChanged)
    replica.cursor = LogMark(sequence: 1, chain: zone.chain)
    let beyond = try await code {
      _ = try await test.storage.append(replica.push(1, zone.generation), to: zone)
    }
    try expect(beyond == .diverged)
  }

  /// A replica of one zone cannot push to another.
  static func otherZone(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let name = test.name + "-other"
    try kind.administer { _ = try $0.createZone(name) }
    let other = try await test.zone(name)
    let zone = try await test.zone()
    let replica = TestReplica()
    _ = try await test.storage.append(replica.push(1, zone.generation), to: zone)
    let refused = try await code {
      _ = try await test.storage.append(replica.push(1, other.generation), to: other)
    }
    try expect(refused == .forbidden)
    try expect(await test.zone(name).head == 0)
  }

  /// The log gives back each frame byte for byte, and the replica's own as headers.
  static func page(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    var zone = try await test.zone()
    var mine = TestReplica()
    var others = TestReplica()
    let first = mine.push(zone.generation, size: 1000)
    let second = others.push(zone.generation, size: 5000)
    let third = mine.push(zone.generation, size: ChangeSetHeader.size)
    for push in [first, second, third] { _ = try await test.storage.append(push, to: zone) }
    zone = try await test.zone()
    var request = PageRequest(after: zone.beginning, bytesMax: 1 << 20, entriesMax: 100)
    let whole = try await test.storage.page(of: zone, request)
    try expect(whole.entries.map(\.bytes) == [first.frame, second.frame, third.frame])
    try expect(whole.head == 3)
    request.own = (mine.id, 1)
    let part = try await test.storage.page(of: zone, request)
    try expect(
      part.entries.map(\.bytes) == [
        first.frame.prefix(ChangeSetHeader.size), second.frame, third.frame,
      ])
    try expect(part.entries.map(\.isHeaderOnly) == [true, false, false])
  }

  /// A page ends at its bytes, but holds one entry however large; pages join without a gap.
  static func pages(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    var zone = try await test.zone()
    var replica = TestReplica()
    for size in [3000, 3000, 9000, 3000] {
      _ = try await test.storage.append(replica.push(zone.generation, size: size), to: zone)
    }
    zone = try await test.zone()
    var pages: [[UInt64]] = []
    var request = PageRequest(after: zone.beginning, bytesMax: 7000, entriesMax: 100)
    while request.after.sequence < zone.head {
      let page = try await test.storage.page(of: zone, request)
      pages.append(page.entries.map(\.sequence))
      guard let last = page.entries.last else { throw ConformanceFailure("an empty page") }
      request.after = LogMark(sequence: last.sequence, chain: last.chain)
    }
    try expect(pages == [[1, 2], [3], [4]])
  }

  /// The bytes of a page are told before it is read, one entry's that passes the page's bytes too; who refuses them gets no page.
  static func pageSizes(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    var zone = try await test.zone()
    let beginning = zone.beginning
    var replica = TestReplica()
    for size in [3000, 3000, 9000] {
      _ = try await test.storage.append(replica.push(zone.generation, size: size), to: zone)
    }
    zone = try await test.zone()
    let told = Mutex<[Int]>([])
    var request = PageRequest(after: beginning, bytesMax: 7000, entriesMax: 100)
    request.reserve = { bytes in told.withLock { $0.append(bytes) } }
    request.own = (replica.id, 1)
    var (place, pages) = (0, [LogPage]())
    while place < 3 {
      let page = try await test.storage.page(of: zone, request)
      guard let last = page.entries.last else { throw ConformanceFailure("an empty page") }
      request.after = LogMark(sequence: last.sequence, chain: last.chain)
      place += page.entries.count
      pages.append(page)
    }
    let bytes = pages.map { page in
      page.entries.reduce(0) { $0 + PullPage.Entry.headerSize + $1.bytes.count }
    }
    try expect(bytes.count == 2 && told.withLock { $0 } == bytes, "\(bytes)")
    // At the end of the log nothing is to be read.
    _ = try await test.storage.page(of: zone, request)
    try expect(told.withLock { $0.count } == 2)
    request.after = beginning
    request.reserve = { _ in throw ServerError(.busy, "no room", suggestion: "") }
    do {
      _ = try await test.storage.page(of: zone, request)
      throw ConformanceFailure("a page that was refused")
    } catch let error as ServerError {
      try expect(error.code == .busy)
    }
  }

  /// What was acknowledged is there after the server was started anew.
  static func restart(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    let push = replica.push(zone.generation, inserts: [.init(first: UUID(), count: 2)])
    _ = try await test.storage.append(push, to: zone)
    test.storage.close()
    let storage = try await kind.open(ServerLimits())
    defer { storage.close() }
    guard let reopened = try await storage.zone(named: test.name) else {
      throw ConformanceFailure("the zone is gone")
    }
    try expect(reopened.head == 1)
    try expect(reopened.generation == zone.generation)
    try expect(await storage.append(push, to: reopened).isRepeat)
    let page = try await storage.page(
      of: reopened, PageRequest(after: zone.beginning, bytesMax: 1 << 20, entriesMax: 10))
    try expect(page.entries.map(\.bytes) == [push.frame])
  }

  /// Pushes at one time get dense numbers.
  static func concurrent(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    let sequences = try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for _ in 0..<20 {
        group.addTask {
          var replica = TestReplica()
          var given: [UInt64] = []
          for _ in 0..<10 {
            let run = Push.IdentityRun(first: UUID(), count: 1)
            let push = replica.push(zone.generation, inserts: [run])
            given.append(try await test.storage.append(push, to: zone).sequence)
          }
          return given
        }
      }
      return try await group.reduce(into: [UInt64]()) { $0 += $1 }
    }
    try expect(sequences.sorted() == Array(1...200))
    let page = try await test.storage.page(
      of: test.zone(), PageRequest(after: zone.beginning, bytesMax: 1 << 30, entriesMax: 1000))
    try expect(page.entries.map(\.sequence) == Array(1...200))
    try expect(page.entries.map(\.firstObjectNumber) == Array(1...200))
  }
}
