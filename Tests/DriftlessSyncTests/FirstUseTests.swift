import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// Replicas that fetch large values when somebody asks for them: until then nothing is lost, and nobody takes the value for none.
@Suite("Large values on first use")
struct FirstUseTests {
  private typealias Shop = ValueShop

  private static func bytes(_ count: Int, _ seed: UInt64 = 1) -> Data { Shop.bytes(count, seed) }

  private static func context(_ replica: TestReplica) -> ManagedObjectContext {
    ManagedObjectContext(PersistentStoreCoordinator(store: replica.store))
  }

  @Test("An object comes without its large value, says so, and has it after a download")
  func waits() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    #expect(shop.ways[1].bytes.received == 0)
    let status = try SyncEngine.status(of: shop[1].store)
    #expect(status.valuesInZone == 1 && status.bytesInZone == 50_000 && status.parked == 0)
    #expect(try SyncEngine.parked(of: shop[1].store).isEmpty)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop[1].store))
    let object = try #require(try context.object(withIdentity: id))
    #expect(try object.valueState(forKey: "blob") == .inZone(bytes: 50_000))
    #expect(try object.valueState(forKey: "title") == .here)
    #expect(try object.valueState(forKey: "note") == .none)
    let error = #expect(throws: ObjectError.self) { try object.value(forKey: "blob") }
    #expect(error?.code == .valueNotHere)
    #expect(throws: ObjectError.self) { try object.accessing { object["blob"] } }
    #expect(context.accessorErrors.isEmpty)
    #expect(object["blob"] == nil && context.accessorErrors.count == 1)
    context.clearAccessorErrors()
    var request = FetchRequest<ManagedObject>(entityName: "Item")
    request.predicate = try FetchPredicate(format: "blob != nil")
    #expect(try context.fetch(request).count == 1, "it has a value")

    let head = shop.zone.head
    let report = try await shop[1].engine.download(object.objectID, key: "blob")
    #expect(report.values == 1 && report.bytes == 50_000 && report.missing == 0)
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
    try context.refresh(object, mergeChanges: true)
    #expect(object["blob"] as? Data == ValueShop.photo)
    #expect(try object.valueState(forKey: "blob") == .here)
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 0)
    #expect(try SyncEngine.status(of: shop[1].store).pending.isEmpty)
    try await shop.syncAll()
    #expect(shop.zone.head == head, "a download is no edit")
    #expect(try shop.pieces(1) == 0)
    #expect(try await shop[1].engine.verify().isEqual)
    #expect(try SyncEngine.check(shop[1].store).isSound)
  }

  @Test(
    "Edits, a save of all properties, a delete and a revival never write none over what is not here"
  )
  func edits() async throws {
    let model = shopModel()
    model.entitiesByName["Item"]?.userInfo = [DeletePolicy.userInfoKey: "editWins"]
    let (shop, id) = try await ValueShop.withPhoto(model)
    try shop[1].set(id, ["title": .string("b")])
    try await shop.syncAll()
    #expect(try shop[0].value(id, "title") == .string("b"))
    // Core Data's own record of an update may name every property.
    try shop[1].set(
      id, ["title": .string("c"), "blob": try #require(try shop[1].kept(id, "blob"))])
    try await shop.syncAll()
    #expect(try shop[0].value(id, "title") == .string("c"))
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 1)
    // The edit brings the object back, and says all that it is.
    try shop[0].delete(id)
    try shop[1].set(id, ["title": .string("d")])
    try await shop[0].sync()
    try await shop[1].sync()
    try await shop.syncAll()
    #expect(try shop[0].value(id, "title") == .string("d"))
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    #expect(try await shop[1].engine.verify().isEqual)
    #expect(shop.ways[1].bytes.received == 0)
  }

  @Test(
    "Undo goes back to what is not here, also after the zone has taken the edit; taking it away is an edit"
  )
  func undone() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop[1].store))
    let undo = UndoManager()
    context.undoManager = undo
    let object = try #require(try context.object(withIdentity: id))
    object["blob"] = Self.bytes(4000, 2)
    try context.save()
    try await shop.syncAll()
    #expect(try shop[0].value(id, "blob") == .data(Self.bytes(4000, 2)))
    shop.clock.advance()
    undo.undo()
    try context.save()
    try await shop.syncAll()
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 1)
    try await shop[1].engine.downloadAll()
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))

    let other = try shop[0].insert("Item", ["blob": .data(Self.bytes(6000, 3))])
    try await shop.syncAll()
    shop.clock.advance()
    let second = try #require(try context.object(withIdentity: other))
    second["blob"] = nil
    try context.save()
    try await shop.syncAll()
    #expect(try shop[0].value(other, "blob") == .null, "none was meant")
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 0)
  }

  @Test("A wish for what an undo went back to stays, also of an object that was gone meanwhile")
  func undoneOfRevived() async throws {
    let model = shopModel()
    model.entitiesByName["Item"]?.userInfo = [DeletePolicy.userInfoKey: "editWins"]
    let (shop, id) = try await ValueShop.withPhoto(model)
    let other = try shop[0].insert("Item", ["blob": .data(Self.bytes(6000, 3))])
    try await shop.syncAll()
    let context = Self.context(shop[1])
    let undo = UndoManager()
    context.undoManager = undo
    let object = try #require(try context.object(withIdentity: id))
    object["blob"] = Self.bytes(4000, 2)
    try context.save()
    try await shop.syncAll()
    shop.clock.advance()
    undo.undo()
    try context.save()
    try shop[1].delete(id)
    // It is looked what undos went back to, and is there.
    try await shop[1].engine.download(
      #require(try Self.context(shop[1]).object(withIdentity: other)).objectID)
    try shop[0].set(id, ["title": .string("edited")])
    try await shop[0].sync()
    try await shop[1].pull()
    let after = Self.context(shop[1])
    let back = try #require(try after.object(withIdentity: id))
    #expect(try back.valueState(forKey: "blob") == .inZone(bytes: 50_000))
    let digest = try #require(LargeValue(of: ValueShop.photo)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    await #expect(throws: SyncError.self) { try await shop[1].engine.download(back.objectID) }
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 1)
  }

  @Test("What the zone lost is missing since then, and can be fetched once somebody has sent it")
  func lost() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    let digest = try #require(LargeValue(of: ValueShop.photo)?.digest)
    shop.zone.changeValues { $0.lose(digest) }
    let context = Self.context(shop[1])
    let object = try #require(try context.object(withIdentity: id))
    let error = await #expect(throws: SyncError.self) {
      try await shop[1].engine.download(object.objectID, key: "blob")
    }
    #expect(error?.code == .valueMissing)
    guard case .missing = try object.valueState(forKey: "blob") else {
      Issue.record("it is missing")
      return
    }
    #expect(try SyncEngine.parked(of: shop[1].store).map(\.code) == ["missing-value"])
    try await shop[1].sync()
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 0)
    try await shop[0].sync()
    try await shop[1].sync()
    try await shop[1].engine.downloadAll()
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
    #expect(try SyncEngine.parked(of: shop[1].store).isEmpty)
  }

  @Test(
    "A download goes on where it broke off, and who asks for one value at one time shares its bytes"
  )
  func resumed() async throws {
    let shop = try await Shop(2, firstUse: [1])
    let photo = Self.bytes(3 << 20 | 5)
    let id = try shop[0].insert("Item", ["blob": .data(photo)])
    try await shop.syncAll()
    let context = Self.context(shop[1])
    let object = try #require(try context.object(withIdentity: id)).objectID
    shop.ways[1].set(.init(passing: 2))
    let error = await #expect(throws: SyncError.self) {
      try await shop[1].engine.download(object)
    }
    #expect(error?.code == .valueUnreachable)
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 1)
    await shop[1].restart()
    shop.ways[1].set(.init())
    let engine = shop[1].engine
    async let first = engine.download(object, key: "blob")
    async let second = engine.download(object, key: "blob")
    _ = try await (first, second)
    #expect(shop.ways[1].bytes.received == photo.count, "no piece came twice")
    #expect(try shop[1].value(id, "blob") == .data(photo))
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 0)
    #expect(try shop.pieces(1) == 0)
  }

  @Test(
    "What was asked for comes with the next sync, whoever does it; a cancelled call asks no more")
  func wanted() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    #expect(try SyncEngine.wantValues(of: shop[1].store) == 1)
    #expect(try SyncEngine.awaitedValues(of: shop[1].store).map(\.isWanted) == [true])
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 0)

    let other = try shop[0].insert("Item", ["blob": .data(Self.bytes(9000, 7))])
    try await shop.syncAll()
    let engine = shop[1].engine
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await engine.downloadAll()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try SyncEngine.wantedValues(of: shop[1].store) == 0)
    #expect(try shop[1].value(other, "blob") == .null)
  }

  @Test("An encrypted value waits sealed, and is opened when it comes")
  func sealed() async throws {
    let (shop, id) = try await ValueShop.withPhoto(sealedShop(), keys: KeyRing())
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 1)
    try shop[1].set(id, ["title": .string("b")])
    try await shop.syncAll()
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    try await shop[1].engine.downloadAll(of: "Item", key: "blob")
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
    #expect(try await shop[1].engine.verify().isEqual)
  }

  @Test("Concurrent edits of what is not here are settled as ever")
  func conflicts() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    try shop[1].set(id, ["blob": .data(Self.bytes(3000, 4))])
    try shop[0].set(id, ["blob": .data(Self.bytes(3000, 5))])
    try await shop[0].sync()
    try await shop.syncAll()
    #expect(try shop[1].value(id, "blob") == .null)
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 1)
    try await shop[1].engine.downloadAll()
    #expect(try shop[1].value(id, "blob") == .data(Self.bytes(3000, 5)))
    #expect(try ReplicaExport.text(of: shop[0].store) == ReplicaExport.text(of: shop[1].store))
  }

  @Test(
    "The model says which attributes wait; the store says it for engines that are told nothing else"
  )
  func declared() async throws {
    let model = shopModel()
    let entity = try #require(model.entitiesByName["Item"])
    (entity.propertiesByName["blob"] as? AttributeDescription)?.fetchTiming = .firstUse
    let shop = try await Shop(2, model: model)
    let id = try shop[0].insert("Item", ["blob": .data(ValueShop.photo)])
    try await shop.syncAll()
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 1)
    try SyncEngine.setValueFetching(.eager, of: shop[1].store)
    #expect(try SyncEngine.valueFetching(of: shop[1].store) == .eager)
    try await shop[1].sync()
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
    #expect(try SyncEngine.check(shop[1].store).isSound)
    // What had no room waits for none any more, once values come when somebody asks for them.
    let digest = try #require(LargeValue(of: ValueShop.photo)?.digest)
    _ = try shop[1].store.write(TransactionInfo(author: "test", kind: .imported)) {
      try MissedValues.note(digest, .room, at: Date(), on: $0.connection)
    }
    try SyncEngine.setValueFetching(.firstUse, of: shop[1].store)
    #expect(try shop[1].store.read { try MissedValues.count(.room, on: $0.connection) } == 0)
  }

  @Test("An export names what is not here, and a line for another store leaves it alone")
  func exported() async throws {
    let (shop, _) = try await ValueShop.withPhoto()
    let name = try #require(LargeValue(of: ValueShop.photo)?.name)
    let text = try ReplicaExport.text(of: shop[1].store)
    #expect(
      text.contains(#""set":{"title":"a"},"inZone":{"blob":{"bytes":50000,"sha256":"\#(name)"}}}"#))
  }

  @Test(
    "A store leaves its zone with values there only when that is meant, and has them when it is back"
  )
  func leaving() async throws {
    let (shop, id) = try await ValueShop.withPhoto()
    await shop[1].engine.close()
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.unenroll(store: shop[1].store)
    }
    #expect(error?.code == .valuesInZone)
    try SyncEngine.unenroll(store: shop[1].store, leavingValues: true)
    let context = Self.context(shop[1])
    let object = try #require(try context.object(withIdentity: id))
    guard case .missing = try object.valueState(forKey: "blob") else {
      Issue.record("it is missing")
      return
    }
    try await shop[1].enroll()
    await shop[1].restart()
    try await shop.syncAll()
    #expect(try shop[0].value(id, "blob") == .data(ValueShop.photo))
    #expect(try SyncEngine.status(of: shop[1].store).valuesInZone == 1)
    try await shop[1].engine.downloadAll()
    #expect(try shop[1].value(id, "blob") == .data(ValueShop.photo))
  }
}
