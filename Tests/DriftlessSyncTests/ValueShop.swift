import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// Replicas of a zone that takes large values, each with a way to it that a test can break.
struct ValueShop {
  let clock = ManualClock(milliseconds: 1_800_000_000_000)
  let zone: MemoryZone
  let ways: [ValueWay]
  let replicas: [TestReplica]

  init(
    _ count: Int = 2, model: ManagedObjectModel = shopModel(), keys: KeyRing? = nil,
    pushValueBytesMax: Int = 256 << 20, firstUse: Set<Int> = []
  ) async throws {
    try await self.init(
      models: Array(repeating: model, count: count), keys: keys,
      pushValueBytesMax: pushValueBytesMax, firstUse: firstUse)
  }

  /// - Parameters:
  ///   - models: of each replica.
  ///   - firstUse: replicas that fetch values when somebody asks for them.
  init(
    models: [ManagedObjectModel], keys: KeyRing? = nil, pushValueBytesMax: Int = 256 << 20,
    firstUse: Set<Int> = []
  ) async throws {
    var options = SyncOptions()
    options.pushValueBytesMax = pushValueBytesMax
    options.largeValueBytesMin = 1000
    options.keys = keys
    // One clock for all: which edit is the later one is no matter of how busy the host is.
    let zone = MemoryZone(clock: clock)
    self.zone = zone
    ways = models.map { _ in ValueWay(zone) }
    var replicas: [TestReplica] = []
    for (number, (way, model)) in zip(ways, models).enumerated() {
      options.values = firstUse.contains(number) ? .firstUse : nil
      replicas.append(
        try await TestReplica(
          "r\(number)", zone: zone, clock: clock, model: model, transport: way, options: options))
    }
    self.replicas = replicas
  }

  static let photo = bytes(50_000)

  /// A replica with a photo, and one that fetches it when somebody asks.
  static func withPhoto(
    _ model: ManagedObjectModel = shopModel(), keys: KeyRing? = nil
  ) async throws -> (shop: ValueShop, id: UUID) {
    let shop = try await ValueShop(2, model: model, keys: keys, firstUse: [1])
    let id = try shop[0].insert("Item", ["title": .string("a"), "blob": .data(photo)])
    try await shop.syncAll()
    return (shop, id)
  }

  subscript(index: Int) -> TestReplica { replicas[index] }

  func syncAll() async throws {
    for _ in 0..<2 { for replica in replicas { try await replica.sync() } }
  }

  /// Has a replica's loop go on until it is in step, with turns that are over with the first piece that came.
  ///
  /// - Returns: how many syncs that took.
  func runInTurns(_ index: Int) async -> Int {
    let engine = replicas[index].engine
    await engine.takeTurns(ofSeconds: 0)
    var syncs = 0
    for await state in engine.run(
      delays: SyncSchedule.Delays(retryMax: 3600, idle: 3600, poll: 3600))
    {
      if case .syncing = state { syncs += 1 }
      if case .inStep = state { break }
    }
    return syncs
  }

  /// Has the first replica a photo to send, of four pieces, and saves an object of its own while the first of them goes.
  func sendPhotoInPieces() throws -> SentPhoto {
    let photo = Self.bytes(3 << 20 + 5000)
    let sent = SentPhoto(
      photo: photo,
      id: try replicas[0].insert("Item", ["title": .string("a"), "blob": .data(photo)]))
    let (store, zone) = (replicas[0].store, zone)
    ways[0].set(
      .init(beforePut: {
        guard sent.note(zone.head) else { return }
        let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
        try context.insert(entityNamed: "Item").setValue("own", forKey: "title")
        try context.save()
      }))
    return sent
  }

  /// Pieces of values in a store.
  func pieces(_ index: Int) throws -> Int {
    let count = try replicas[index].store.read {
      try $0.connection.scalar("SELECT count(*) FROM ZDL_VALUE")
    }
    guard case .integer(let count)? = count else { return 0 }
    return Int(count)
  }

  static func bytes(_ count: Int, _ seed: UInt64 = 1) -> Data {
    var numbers = SeededNumbers(seed: seed)
    return Data((0..<count).map { _ in UInt8(truncatingIfNeeded: numbers.next()) })
  }
}

/// A photo that is sent in pieces.
final class SentPhoto: Sendable {
  let photo: Data
  let id: UUID
  private let told = Mutex<[UInt64]>([])

  init(photo: Data, id: UUID) { (self.photo, self.id) = (photo, id) }

  /// Where the zone stood when each piece began.
  var heads: [UInt64] { told.withLock { $0 } }

  /// - Returns: whether this is the first piece.
  func note(_ head: UInt64) -> Bool {
    told.withLock { heads in
      heads.append(head)
      return heads.count == 1
    }
  }
}

extension TestReplica {
  func objectID(of id: UUID) throws -> ManagedObjectID {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    return try #require(try context.object(withIdentity: id)).objectID
  }
}
