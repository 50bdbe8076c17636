import Dispatch
import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DriftlessSync

/// Downloads of large values, and what lets go of them, come between the syncs of a store: what these are to settle, and have to
/// tell, stays as it is.
@Suite("Operations on large values between syncs")
struct ValueOperationTests {
  enum Operation: CaseIterable { case download, letGo }

  // MARK: Ends

  private func albums(_ album: String = "Album") -> ManagedObjectModel {
    let item = EntityDescription(album)
    if album != "Album" { item.renamingIdentifier = "Album" }
    item.properties = [
      AttributeDescription("cover", .binaryData),
      RelationshipDescription("tags", to: "Tag", inverse: "albums", toMany: true),
    ]
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("albums", to: album, inverse: "tags", toMany: true),
    ]
    return ManagedObjectModel(entities: [item, tag])
  }

  @Test(
    "What waits to be sent under names of before stays so until it is sent",
    arguments: Operation.allCases)
  func ends(_ operation: Operation) async throws {
    let shop = try await ValueShop(2, model: albums(), firstUse: [1])
    let cover = ValueShop.bytes(50_000)
    let album = try shop[0].insert("Album", ["cover": .data(cover)])
    let tag = try shop[0].insert("Tag", ["name": .string("red")])
    try await shop.syncAll()
    if operation == .letGo { try await shop[1].engine.downloadAll() }
    try shop[1].save { context in
      let object = try #require(try context.object(withIdentity: album))
      try object.setValue([try #require(try context.object(withIdentity: tag))], forKey: "tags")
    }
    // Tags come before wares, and say the relationship from then on.
    let renamed = albums("Ware")
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    var replicas: [TestReplica] = []
    for number in 0..<2 {
      await shop[number].engine.close()
      shop[number].store.close()
      options.values = number == 1 ? .firstUse : nil
      replicas.append(
        try await TestReplica(
          "m\(number)", zone: shop.zone, clock: shop.clock, model: renamed,
          transport: shop.ways[number], options: options, file: shop[number].store.url))
    }
    let moved = replicas[1]
    #expect(try !moved.status.pending.isEmpty)
    switch operation {
    case .download: #expect(try await moved.engine.downloadAll().values == 1)
    case .letGo: #expect(try await moved.engine.letGoValues().values == 1)
    }
    #expect(try !moved.status.pending.isEmpty)
    for _ in 0..<2 { for replica in replicas.reversed() { try await replica.sync() } }
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: replicas[0].store))
    let object = try #require(try context.object(withIdentity: album))
    #expect(try object.objectIDs(forRelationshipNamed: "tags").count == 1)
    #expect(try moved.status.pending.isEmpty)
  }

  // MARK: Status

  /// A zone that refuses pulls while it is told to, and gives values all the same.
  private final class RefusedPulls: ForwardingTransport {
    let next: any SyncTransport
    let isRefusing = Mutex(false)

    init(_ next: any SyncTransport) { self.next = next }

    func pull(_ request: PullRequest) async throws -> PullPage {
      guard !isRefusing.withLock({ $0 }) else {
        throw ProtocolError(.unsupported, "No pulls", suggestion: "Ask the operator.")
      }
      return try await next.pull(request)
    }
  }

  @Test(
    "A failure of the last sync, its time and a person's word stand after it",
    arguments: Operation.allCases)
  func status(_ operation: Operation) async throws {
    let shop = try await ValueShop(1)
    let way = RefusedPulls(shop.zone)
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    options.values = .firstUse
    let reader = try await TestReplica(
      "reader", zone: shop.zone, clock: shop.clock, transport: way, options: options)
    _ = try shop[0].insert("Item", ["blob": .data(ValueShop.photo)])
    try await shop[0].sync()
    try await reader.sync()
    if operation == .letGo { try await reader.engine.downloadAll() }
    func work() async throws {
      switch operation {
      case .download: #expect(try await reader.engine.downloadAll().values == 1)
      case .letGo: #expect(try await reader.engine.letGoValues().values == 1)
      }
    }
    let before = try reader.status
    shop.clock.advance(milliseconds: 3_600_000)
    way.isRefusing.withLock { $0 = true }
    await #expect(throws: ProtocolError.self) { try await reader.sync() }
    try SyncEngine.allowReconciliation(of: reader.store)
    try await work()
    let after = try reader.status
    #expect(after.failure?.code == "unsupported")
    #expect(after.lastSync == before.lastSync)
    #expect(try reader.store.read { try $0.setting(SyncEngine.allowedSetting) } != nil)
    way.isRefusing.withLock { $0 = false }
    try await reader.sync()
    #expect(try reader.status.failure == nil)
    #expect(try reader.store.read { try $0.setting(SyncEngine.allowedSetting) } == nil)
  }

  // MARK: Asking again

  @Test("Who asks for what is missing while it is asked for is heard by the next sync")
  func askedAgain() async throws {
    let shop = try await ValueShop(2)
    let photo = ValueShop.bytes(50_000)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop[0].sync()
    let digest = try #require(LargeValue(of: photo)?.digest)
    shop.ways[1].set(.init(refusals: [digest: .malformed]))
    try await shop[1].sync()
    #expect(try SyncEngine.parked(of: shop[1].store).count == 1)
    try SyncEngine.retryParked(of: shop[1].store)
    let store = shop[1].store
    let isAsked = Mutex(false)
    shop.ways[1].set(
      .init(
        refusals: [digest: .malformed],
        beforeValue: {
          guard
            isAsked.withLock({ isAsked in
              defer { isAsked = true }
              return !isAsked
            })
          else { return }
          try SyncEngine.retryParked(of: store)
        }))
    try await shop[1].sync()
    #expect(isAsked.withLock { $0 })
    #expect(try SyncEngine.check(store).isSound)
    shop.ways[1].set(.init())
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(photo))
    #expect(try SyncEngine.parked(of: store).isEmpty)
    #expect(try store.read { try $0.setting(SyncEngine.retrySetting) } == nil)
  }

  // MARK: Reading the zone anew

  private func notes(size: Int64) -> ManagedObjectModel {
    let note = EntityDescription("Note")
    note.properties = [
      AttributeDescription("scan", .binaryData),
      AttributeDescription("size", .integer64, defaultValue: .integer(size)),
    ]
    return ManagedObjectModel(entities: [note])
  }

  @Test(
    "A store that reads its zone anew for its model's sake fetches large values as it ever does",
    arguments: [ValueFetching.firstUse, .eager])
  func anew(_ fetching: ValueFetching) async throws {
    let shop = try await ValueShop(2, model: notes(size: 1))
    try SyncEngine.setValueFetching(fetching, of: shop[1].store)
    let scans = (0..<3).map { ValueShop.bytes(50_000, $0 + 1) }
    let made = try shop[0].insert("Note", ["scan": .data(scans[0]), "size": .integer(7)])
    for scan in scans.dropFirst() { try shop[0].insert("Note", ["scan": .data(scan)]) }
    try await shop.syncAll()
    let before = shop.ways[1].bytes.received
    #expect((before == 0) == (fetching == .firstUse))
    await shop[1].engine.close()
    shop[1].store.close()
    var options = SyncOptions()
    options.largeValueBytesMin = 1000
    let moved = try await TestReplica(
      "moved", zone: shop.zone, clock: shop.clock, model: notes(size: 2),
      transport: shop.ways[1], options: options, file: shop[1].store.url)
    try await moved.sync()
    #expect(shop.ways[1].bytes.received == before)
    #expect(try moved.value(made, "size") == .integer(7))
    #expect(try moved.status.valuesInZone == (fetching == .firstUse ? 3 : 0))
    #expect(try SyncEngine.parked(of: moved.store).isEmpty)
    try await moved.engine.downloadAll()
    #expect(try moved.value(made, "scan") == .data(scans[0]))
    #expect(try SyncEngine.check(moved.store).isSound)
  }

  // MARK: Undoing

  @Test("A count that was given up is added once, however many put it back at one time")
  func undoneTogether() async throws {
    let world = try await World(1)
    let items = try (0..<20).map { _ in
      try world[0].insert("Item", ["title": .string("a"), "stock": .integer(10)])
    }
    try await world.syncAll()
    for item in items { try world[0].set(item, ["stock": .integer(15)]) }
    _ = try await world[0].engine.giveUpUnsent()
    let entries = try world[0].conflicts.map(\.number)
    #expect(entries.count == items.count)
    let url = try #require(world[0].store.url)
    let model = world[0].store.model
    let other = try PersistentStore.open(url: url, model: model)
    defer { other.close() }
    let stores = [world[0].store, other]
    let done = Mutex(0)
    for number in entries {
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        if (try? SyncEngine.undo(conflict: number, of: stores[index])) != nil {
          done.withLock { $0 += 1 }
        }
      }
    }
    #expect(done.withLock { $0 } == entries.count)
    for item in items { #expect(try world[0].value(item, "stock") == .integer(15)) }
  }
}
