import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Large values between replicas: once a zone, in pieces, before what names them.
@Suite("Large values between replicas")
struct LargeValueSyncTests {
  private struct Shop {
    let zone = MemoryZone()
    let clock = ManualClock(milliseconds: 1_800_000_000_000)
    let ways: [ValueWay]
    let replicas: [TestReplica]

    init(
      _ count: Int = 2, model: ManagedObjectModel = shopModel(), keys: KeyRing? = nil,
      pushValueBytesMax: Int = 256 << 20
    ) async throws {
      var options = SyncOptions()
      options.pushValueBytesMax = pushValueBytesMax
      options.largeValueBytesMin = 1000
      options.keys = keys
      let zone = zone
      ways = (0..<count).map { _ in ValueWay(zone) }
      var replicas: [TestReplica] = []
      for (number, way) in ways.enumerated() {
        replicas.append(
          try await TestReplica(
            "r\(number)", zone: zone, clock: clock, model: model, transport: way, options: options))
      }
      self.replicas = replicas
    }

    subscript(index: Int) -> TestReplica { replicas[index] }

    func syncAll() async throws {
      for _ in 0..<2 { for replica in replicas { try await replica.sync() } }
    }

    /// Pieces of values in a store.
    func pieces(_ index: Int) throws -> Int {
      let count = try replicas[index].store.read {
        try $0.connection.scalar("SELECT count(*) FROM ZDL_VALUE")
      }
      guard case .integer(let count)? = count else { return 0 }
      return Int(count)
    }
  }

  private static func bytes(_ count: Int, _ seed: UInt64 = 1) -> Data {
    var numbers = SeededNumbers(seed: seed)
    return Data((0..<count).map { _ in UInt8(truncatingIfNeeded: numbers.next()) })
  }

  @Test("A large value goes once, beside its change set, and what is sent and fetched is let go of")
  func once() async throws {
    let shop = try await Shop(3)
    let photo = Self.bytes(3 << 20)
    let first = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    let second = try shop[0].insert("Item", ["title": .string("b"), "blob": .data(photo)])
    let small = try shop[0].insert("Item", ["title": .string("c"), "blob": .data(Data([1, 2]))])
    try await shop.syncAll()
    #expect(shop.zone.traffic.bytes < 100_000, "frames name it")
    #expect(shop.ways[0].bytes == .init(sent: photo.count, received: 0))
    #expect(shop.ways[1].bytes == .init(sent: 0, received: photo.count))
    for replica in shop.replicas {
      #expect(try replica.value(first, "blob") == .data(photo))
      #expect(try replica.value(second, "blob") == .data(photo))
      #expect(try replica.value(small, "blob") == .data(Data([1, 2])))
    }
    for index in 0..<3 { #expect(try shop.pieces(index) == 0) }
    #expect(try await shop[1].engine.verify().isEqual)
  }

  @Test("What broke off between two pieces goes on there, on either side")
  func resumed() async throws {
    let shop = try await Shop()
    let photo = Self.bytes(4 << 20 | 77)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    for index in 0..<2 {
      for _ in 0..<2 {
        shop.ways[index].set(.init(passing: 2))
        await #expect(throws: ValueWay.Cut.self) { try await shop[index].sync() }
        await shop[index].restart()
      }
      shop.ways[index].set(.init())
      try await shop[index].sync()
    }
    #expect(shop.ways[0].bytes.sent == photo.count, "no piece went twice")
    #expect(shop.ways[1].bytes.received == photo.count, "no piece came twice")
    #expect(try shop[1].value(id, "blob") == .data(photo))
  }

  @Test("A byte that was changed on its way is noticed, and the value comes again")
  func flipped() async throws {
    let shop = try await Shop()
    let photo = Self.bytes(50_000)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop[0].sync()
    shop.ways[1].set(.init(flipped: 1))
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(photo))
    #expect(shop.ways[1].bytes.received == 2 * photo.count)
  }

  @Test("A value that the server lies about is set aside, and a person's word brings it")
  func lie() async throws {
    let shop = try await Shop()
    let photo = Self.bytes(50_000)
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    try await shop[0].sync()
    shop.ways[1].set(.init(flipped: .max))
    try await shop[1].sync()
    #expect(try shop[1].value(id, "title") == .string("a"))
    #expect(try shop[1].value(id, "blob") == .null)
    let parked = try SyncEngine.parked(of: shop[1].store)
    #expect(parked.map(\.code) == ["missing-value"] && parked.first?.property == "blob")
    #expect(parked.first?.reason.contains("50000 bytes") == true)
    #expect(try shop.pieces(1) == 0)
    // It asks once more, and then not again by itself.
    try await shop[1].sync()
    let received = shop.ways[1].bytes
    try await shop[1].sync()
    #expect(shop.ways[1].bytes == received)
    shop.ways[1].set(.init())
    #expect(try SyncEngine.retryParked(of: shop[1].store) == 1)
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(photo))
    #expect(try SyncEngine.parked(of: shop[1].store).isEmpty)
    #expect(try await shop[1].engine.verify().isEqual)
  }

  @Test("A value that the zone lost is set aside, and one that is set later comes in its place")
  func lost() async throws {
    let shop = try await Shop()
    let photo = Self.bytes(5000)
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    try await shop[0].sync()
    let digest = try #require(LargeValue(of: photo)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .null)
    #expect(try SyncEngine.parked(of: shop[1].store).map(\.code) == ["missing-value"])
    let other = Self.bytes(6000, 2)
    try shop[0].set(id, ["blob": .data(other)])
    try await shop.syncAll()
    #expect(try shop[1].value(id, "blob") == .data(other))
    #expect(try SyncEngine.parked(of: shop[1].store).isEmpty)
  }

  @Test("A value that is edited, and one that is deleted, while it goes")
  func edited() async throws {
    let shop = try await Shop()
    let (photo, other) = (Self.bytes(2 << 20), Self.bytes(2 << 20, 2))
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    let gone = try shop[0].insert("Item", ["blob": .data(Self.bytes(3000, 3))])
    let replica = shop[0]
    nonisolated(unsafe) var isDone = false
    nonisolated(unsafe) let edit = {
      guard !isDone else { return }
      isDone = true
      try replica.set(id, ["blob": .data(other)])
      try replica.delete(gone)
    }
    shop.ways[0].set(.init(beforePut: { try edit() }))
    try await shop.syncAll()
    #expect(isDone)
    for replica in shop.replicas {
      #expect(try replica.value(id, "blob") == .data(other))
      #expect(try !replica.exists(gone))
    }
    for index in 0..<2 { #expect(try shop.pieces(index) == 0) }
  }

  @Test("A value that is larger than the server takes is set aside with both numbers")
  func tooLarge() async throws {
    let shop = try await Shop()
    shop.zone.changeValues { $0.bytesMax = 4000 }
    try shop[0].insert("Item", ["title": .string("large"), "blob": .data(Self.bytes(4001))])
    let other = try shop[0].insert(
      "Item", ["title": .string("b"), "blob": .data(Self.bytes(4000))])
    try await shop.syncAll()
    #expect(try shop[1].exists(other))
    let held = try SyncEngine.quarantine(of: shop[0].store)
    #expect(held.count == 1 && held.first?.code == "too-large")
    let reason = try #require(held.first?.reason)
    #expect(reason.contains("4001") && reason.contains("4000") && reason.contains("Item.blob"))
  }

  @Test("Where the server takes none, values go within change sets")
  func inline() async throws {
    let shop = try await Shop()
    shop.zone.changeValues { $0.bytesMax = nil }
    let photo = Self.bytes(50_000)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop.syncAll()
    #expect(try shop[1].value(id, "blob") == .data(photo))
    #expect(shop.zone.traffic.valueBytes == 0 && shop.zone.traffic.bytes > 50_000)
  }

  @Test("Values that are more than a push brings go in several pushes")
  func several() async throws {
    let shop = try await Shop(pushValueBytesMax: 60_000)
    for seed in 1...3 as ClosedRange<UInt64> {
      try shop[0].insert("Item", ["blob": .data(Self.bytes(50_000, seed))])
    }
    let large = try shop[0].insert("Item", ["blob": .data(Self.bytes(70_000, 4))])
    let report = try await shop[0].sync()
    #expect(report.push.changeSets >= 3 && report.push.quarantined == 0)
    #expect(shop.ways[0].bytes.sent == 220_000, "no value went twice")
    try await shop[1].sync()
    #expect(try shop[1].value(large, "blob") == .data(Self.bytes(70_000, 4)))
  }

  @Test("Pieces that the store lost while a push waits for its answer are made anew")
  func lostPieces() async throws {
    let shop = try await Shop()
    let photo = Self.bytes(3 << 20)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    shop.ways[0].set(.init(passing: 1))
    await #expect(throws: ValueWay.Cut.self) { try await shop[0].sync() }
    shop.ways[0].set(.init())
    try shop[0].write { try $0.connection.execute("DELETE FROM ZDL_VALUE") }
    try await shop.syncAll()
    #expect(try shop[1].value(id, "blob") == .data(photo))
    #expect(shop.ways[0].bytes.sent == photo.count)
  }

  @Test("What others wrote is shown before values that wait go on")
  func pullFirst() async throws {
    let shop = try await Shop()
    let photo = Self.bytes(3 << 20)
    try shop[0].insert("Item", ["blob": .data(photo)])
    shop.ways[0].set(.init(passing: 1))
    await #expect(throws: ValueWay.Cut.self) { try await shop[0].sync() }
    let news = try shop[1].insert("Item", ["title": .string("news")])
    try await shop[1].sync()
    shop.ways[0].set(.init(passing: 0))
    await #expect(throws: ValueWay.Cut.self) { try await shop[0].sync() }
    #expect(try shop[0].exists(news))
    shop.ways[0].set(.init())
    try await shop[0].sync()
    #expect(shop.ways[0].bytes.sent == photo.count, "no piece went twice")
  }

  @Test("Sending what a server lost goes on after it broke off")
  func putBackAndCut() async throws {
    let shop = try await Shop()
    try shop[0].insert("Item", ["title": .string("old")])
    try await shop.syncAll()
    let backup = shop.zone.log
    try shop[0].insert("Item", ["blob": .data(Self.bytes(50_000))])
    try await shop.syncAll()
    shop.zone.putBack(backup)
    shop.ways[1].set(.init(passing: 0))
    await #expect(throws: ValueWay.Cut.self) { try await shop[1].sync() }
    #expect(shop.zone.log.values.count == 0)
    await shop[1].restart()
    shop.ways[1].set(.init())
    try await shop[1].sync()
    #expect(shop.zone.log.values.count == 1, "the entries are there: it asks after values")
  }

  @Test("A server that was put back to before it had a value gets it with the entries that it lost")
  func putBack() async throws {
    let shop = try await Shop()
    try shop[0].insert("Item", ["title": .string("old")])
    try await shop.syncAll()
    let backup = shop.zone.log
    let photo = Self.bytes(50_000)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop.syncAll()
    shop.zone.putBack(backup)
    let report = try await shop[1].sync()
    #expect(report.reconciliations.map(\.kind) == [.refilled])
    #expect(shop.zone.log.values.count == 1, "whoever has it sends it")
    let newcomer = try await TestReplica("new", zone: shop.zone, clock: shop.clock)
    try await newcomer.sync()
    #expect(try newcomer.value(id, "blob") == .data(photo))
  }

  @Test("Who has a value sends it, though another has handed its entry back without it")
  func handedBackByAnother() async throws {
    let shop = try await Shop()
    try shop[0].insert("Item", ["title": .string("old")])
    try await shop.syncAll()
    let backup = shop.zone.log
    let photo = Self.bytes(50_000)
    let id = try shop[0].insert("Item", ["title": .string("new"), "blob": .data(photo)])
    try await shop[0].sync()
    let digest = try #require(LargeValue(of: photo)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .null)
    shop.zone.putBack(backup)
    #expect(try await shop[1].sync().reconciliations.map(\.kind) == [.refilled])
    #expect(shop.zone.log.values.count == 0)
    #expect(try await shop[0].sync().reconciliations.isEmpty, "its log is whole")
    #expect(shop.zone.log.values.count == 1)
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(photo))
    #expect(try SyncEngine.parked(of: shop[1].store).isEmpty)
  }

  @Test("What a server's disk lost comes back, and nobody asks for it more than once meanwhile")
  func lostByDisk() async throws {
    let shop = try await Shop(3)
    let photo = Self.bytes(50_000)
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    try await shop[0].sync()
    let digest = try #require(LargeValue(of: photo)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    for index in [1, 2] {
      try await shop[index].sync()
      let questions = shop.ways[index].questions
      for _ in 0..<3 { try await shop[index].sync() }
      #expect(shop.ways[index].questions == questions)
      #expect(try shop[index].value(id, "blob") == .null)
    }
    try await shop.syncAll()
    for replica in shop.replicas { #expect(try replica.value(id, "blob") == .data(photo)) }
    #expect(try await shop[2].engine.verify().isEqual)
  }

  @Test("Two replicas send one value, and both conflicting ones are with their journal")
  func conflict() async throws {
    let shop = try await Shop()
    let id = try shop[0].insert("Item", ["title": .string("a")])
    try await shop.syncAll()
    let (one, two) = (Self.bytes(5000, 1), Self.bytes(5000, 2))
    try shop[0].set(id, ["blob": .data(one)])
    try shop[1].set(id, ["blob": .data(two)])
    let same = Self.bytes(9000, 3)
    let copies = try shop.replicas.map { try $0.insert("Item", ["blob": .data(same)]) }
    try await shop.syncAll()
    for replica in shop.replicas {
      #expect(try replica.value(id, "blob") == .data(two), "the last one")
      for copy in copies { #expect(try replica.value(copy, "blob") == .data(same)) }
    }
    let journal = try shop.replicas.flatMap { try SyncEngine.conflicts(of: $0.store) }
    #expect(journal.contains { $0.property == "blob" })
  }

  @Test("Sealed values go by the digest of what was sealed")
  func sealed() async throws {
    let shop = try await Shop(model: sealedShop(), keys: KeyRing())
    let photo = Self.bytes(50_000)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop.syncAll()
    #expect(try shop[1].value(id, "blob") == .data(photo))
    let digest = try #require(LargeValue(of: photo)?.digest)
    #expect(shop.zone.log.values.count == 1 && !shop.zone.log.values.digests.contains(digest))
    #expect(shop.zone.traffic.bytes < 20_000)
  }
}
