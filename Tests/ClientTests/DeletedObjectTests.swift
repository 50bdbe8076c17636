import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import SyncControl

/// What `why` says of objects that are not there.
@Suite struct DeletedObjectTests {
  private let shop: Shop

  init() throws { shop = try Shop() }

  private func insert(_ id: UUID, in store: PersistentStore) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    try context.insert(entityNamed: "Item", identity: id).setValue("name", forKey: "name")
    try context.save()
  }

  private func delete(
    _ id: UUID, in store: PersistentStore, by author: String? = nil
  ) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    context.transactionAuthor = author
    context.delete(try #require(try context.object(withIdentity: id)))
    try context.save()
  }

  private func lines(_ id: UUID, _ store: PersistentStore) throws -> [String]? {
    try SyncEngine.whyDeleted(of: store, object: id).map {
      DeletionText($0, named: "Item/x", store: "shop.sqlite").lines(ObjectLabels(store))
    }
  }

  @Test("An object that was deleted here is told with who did it, and how to have it again")
  func here() async throws {
    let id = UUID()
    try insert(id, in: shop.store)
    #expect(try lines(id, shop.store) == nil, "it is there")
    try delete(id, in: shop.store, by: "anna")
    let lines = try #require(try lines(id, shop.store))
    #expect(lines[0] == "Item/x is deleted")
    #expect(lines[1].hasPrefix("deleted here ") && lines[1].hasSuffix(" by anna"), "\(lines)")
    #expect(lines.last?.contains("upsert") == true, "\(lines)")
    #expect(try self.lines(UUID(), shop.store) == nil, "nobody knows of it")
    let code = await SyncControl.run(
      ["why", "--store", shop.url.path, "Item/\(id.uuidString)", "--json"])
    #expect(code == 0)
    #expect(await SyncControl.run(["why", "--store", shop.url.path, "Item/\(id).name"]) == 0)
    #expect(await SyncControl.run(["why", "--store", shop.url.path, "Item/none"]) == 65)
    let living = UUID()
    try insert(living, in: shop.store)
    #expect(await SyncControl.run(["why", "--store", shop.url.path, "Item/\(living)"]) == 64)
    #expect(await SyncControl.run(["why", "--store", shop.url.path, "Item/none.name"]) == 65)
  }

  @Test("An object that a merge deleted is told by its rule, and comes back by the number named")
  func merged() async throws {
    let zone = MemoryZone()
    let other = try Shop()
    let info = try await zone.zoneInfo()
    let server = try #require(URL(string: "http://127.0.0.1:1"))
    var engines: [SyncEngine] = []
    for store in [shop.store, other.store] {
      try SyncEngine.enroll(store: store, server: server, zone: info.zone, info: info)
      engines.append(SyncEngine(store: store, transport: zone))
    }
    let (edited, plain) = (UUID(), UUID())
    for id in [edited, plain] { try insert(id, in: shop.store) }
    for engine in engines { _ = try await engine.sync() }
    for id in [edited, plain] { try delete(id, in: other.store) }
    _ = try await engines[1].sync()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop.store))
    try #require(try context.object(withIdentity: edited)).setValue("mine", forKey: "name")
    try context.save()
    _ = try await engines[0].sync()
    let deleted = try #require(try lines(edited, shop.store))
    #expect(deleted[1].hasSuffix("by what was pulled from the zone"), "\(deleted)")
    #expect(deleted.contains { $0.contains("(deleteWins)") }, "\(deleted)")
    #expect(deleted.contains { $0.contains("by replica ") }, "\(deleted)")
    let way = try #require(deleted.last)
    #expect(way.contains("syncctl conflicts undo --store shop.sqlite "), "\(way)")
    let gone = try #require(try lines(plain, shop.store))
    #expect(gone[1].hasSuffix("as another replica had deleted it"), "\(gone)")
    #expect(gone.last?.contains("upsert") == true, "\(gone)")
    for engine in engines { await engine.close() }
    let number = try #require(way.split(separator: " ").last.map(String.init))
    #expect(
      await SyncControl.run(["conflicts", "undo", "--store", shop.url.path, number]) == 0)
    #expect(try lines(edited, shop.store) == nil, "it is there again")
  }
}
