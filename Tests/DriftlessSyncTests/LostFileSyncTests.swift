import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// A large value whose file beside the store is gone is not sent as a null, and holds nothing else up.
struct LostFileSyncTests {
  private static let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

  private static func model() -> ManagedObjectModel {
    let photo = EntityDescription("Photo")
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = true
    photo.properties = [AttributeDescription("name", .string), image]
    return ManagedObjectModel(entities: [photo])
  }

  private struct Replica {
    let url: URL
    let store: PersistentStore
    let engine: SyncEngine
  }

  private let directory: TemporaryDirectory
  private let zone = MemoryZone()

  init() throws { directory = try TemporaryDirectory() }

  private func replica(_ name: String) async throws -> Replica {
    let url = directory.file("\(name).sqlite")
    let store = try PersistentStore.open(url: url, model: Self.model())
    try SyncEngine.enroll(
      store: store, server: MemoryZone.url, zone: zone.name, info: try await zone.zoneInfo())
    let engine = SyncEngine(store: store, transport: zone)
    return Replica(url: url, store: store, engine: engine)
  }

  private func folder(_ replica: Replica) -> URL {
    replica.url.deletingLastPathComponent().appendingPathComponent(
      ".\(replica.url.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA")
  }

  /// Takes the files of large values away; what it gives puts them back.
  private func loseFiles(of replica: Replica) throws -> () throws -> Void {
    let (folder, aside) = (folder(replica), directory.file("aside"))
    try FileManager.default.moveItem(at: folder, to: aside)
    return {
      try? FileManager.default.removeItem(at: folder)
      try FileManager.default.moveItem(at: aside, to: folder)
    }
  }

  @MainActor
  private func edit(
    _ replica: Replica, _ body: (ManagedObjectContext) throws -> Void
  ) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: replica.store))
    try body(context)
    try context.save()
  }

  @MainActor
  private func photos(_ replica: Replica) throws -> [String: Data?] {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: replica.store))
    return Dictionary(
      uniqueKeysWithValues: try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
        .map { ($0["name"] as? String ?? "", $0["image"] as? Data) })
  }

  @MainActor
  private func insert(_ name: String, _ image: Data?, into replica: Replica) throws {
    try edit(replica) { context in
      let photo = try context.insert(entityNamed: "Photo")
      photo["name"] = name
      photo["image"] = image
    }
  }

  @Test("A zone that began anew is offered no null for a value whose file is gone")
  func offer() async throws {
    let (one, two) = (try await replica("one"), try await replica("two"))
    try await insert("a", Self.large, into: one)
    try await insert("b", Data([1]), into: one)
    _ = try await one.engine.sync()
    _ = try await two.engine.sync()
    _ = try loseFiles(of: one)
    zone.renew()
    for replica in [one, two, one, two] { _ = try await replica.engine.sync() }
    let kept = try await photos(two)
    #expect(kept["a"] == Self.large && kept["b"] == Data([1]))
    // And what the zone has comes back.
    let report = try await one.engine.repair()
    #expect(report.isEqual, "\(report)")
    #expect(try one.store.lostValues().isEmpty)
    #expect(try await photos(one) == kept)
  }

  @Test(
    "A value whose file is gone, and that another zone had, is not told as never sent")
  func offeredAlone() async throws {
    let one = try await replica("one")
    try await insert("a", Self.large, into: one)
    _ = try await one.engine.sync()
    _ = try loseFiles(of: one)
    zone.renew()
    // It is offered, and not sent so far.
    _ = try await one.engine.pull()
    #expect(try SyncEngine.status(of: one.store).pending.objects == 1)
    #expect(try one.store.lostValues().count == 1)
    #expect(try SyncEngine.unsentLostValues(of: one.store) == 0)
    // Another one made here since is.
    try await edit(one) { context in
      let photo = try context.insert(entityNamed: "Photo")
      photo["image"] = Self.large + Data([1])
    }
    try FileManager.default.removeItem(at: directory.file("aside"))
    _ = try loseFiles(of: one)
    #expect(try SyncEngine.unsentLostValues(of: one.store) == 1)
  }

  @Test("An edit whose value's file is gone waits for it, and all else is sent and taken")
  func pending() async throws {
    let (one, two) = (try await replica("one"), try await replica("two"))
    try await insert("a", Self.large, into: one)
    let restore = try loseFiles(of: one)
    try await insert("b", Data([1]), into: one)
    try await insert("c", Data([2]), into: two)
    for replica in [one, two, one, two, one] { _ = try await replica.engine.sync() }
    let there = try await photos(two)
    #expect(there.keys.sorted() == ["a", "b", "c"])
    #expect(there["a"] == .some(nil) && there["b"] == Data([1]))
    #expect(try SyncEngine.status(of: one.store).pending.objects == 1)
    // What others set of the same object is taken meanwhile.
    try await edit(two) { context in
      let photos = try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
      try #require(photos.first { $0["name"] as? String == "a" })["name"] = "z"
    }
    for replica in [two, one] { _ = try await replica.engine.sync() }
    let names = try one.store.read { transaction in
      try transaction.connection.rows("SELECT ZNAME FROM ZPHOTO ORDER BY ZNAME").map(\.[0])
    }
    #expect(names == [.text("b"), .text("c"), .text("z")])
    try restore()
    for replica in [one, two] { _ = try await replica.engine.sync() }
    #expect(try await photos(two)["z"] == Self.large)
    #expect(try SyncEngine.status(of: one.store).pending.objects == 0)
    #expect(try await photos(one) == photos(two))
  }

  @Test("A repair takes what the zone has for values whose files are gone")
  func repaired() async throws {
    let (one, two) = (try await replica("one"), try await replica("two"))
    for name in ["a", "b", "c"] { try await insert(name, Self.large, into: one) }
    for replica in [one, two] { _ = try await replica.engine.sync() }
    _ = try loseFiles(of: two)
    #expect(try two.store.lostValues().count == 3)
    let found = try await two.engine.verify()
    #expect(found.differenceCount == 3 && found.differences.allSatisfy { $0.kind == .value })
    let report = try await two.engine.repair()
    #expect(report.repairedCount == 3 && report.isEqual, "\(report)")
    #expect(try two.store.lostValues().isEmpty)
    #expect(try await photos(two) == photos(one))
    _ = try await two.engine.sync()
    #expect(try SyncEngine.status(of: two.store).pending.objects == 0)
  }

  @Test(
    "What a repair gave for a lost value is not undone: what was there is lost, and nothing changes"
  )
  func undone() async throws {
    let (one, two) = (try await replica("one"), try await replica("two"))
    try await insert("a", Self.large, into: one)
    for replica in [one, two] { _ = try await replica.engine.sync() }
    _ = try loseFiles(of: two)
    let start = Date()
    _ = try await two.engine.repair()
    let entry = try #require(try SyncEngine.conflicts(of: two.store).first)
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: two.store)
    }
    #expect(error?.code == .cannotUndo && error?.message.contains("lost") == true)
    #expect(entry.local == "\"lost\"" && entry.explanation.contains("lost"), "\(entry)")
    #expect(entry.localTime.date > start.addingTimeInterval(-1), "\(entry)")
    #expect(try await photos(two) == ["a": Self.large])
    #expect(try SyncEngine.status(of: two.store).pending.objects == 0)
    for replica in [two, one] { _ = try await replica.engine.sync() }
    #expect(try await photos(one) == ["a": Self.large])
    // Keeping what stands is as ever.
    #expect(try SyncEngine.keep(conflict: entry.number, of: two.store).decision == .remote)
  }

  @Test("What a conflict kept and is lost since does not stand as a null")
  func keptAndLost() async throws {
    let (one, two) = (try await replica("one"), try await replica("two"))
    try await insert("a", Data([1]), into: one)
    for replica in [one, two] { _ = try await replica.engine.sync() }
    func setImage(_ image: Data, of replica: Replica) async throws {
      try await edit(replica) { context in
        let photos = try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
        try #require(photos.first)["image"] = image
      }
    }
    try await setImage(Data([2]), of: one)
    try await setImage(Self.large, of: two)
    for replica in [one, two, one] { _ = try await replica.engine.sync() }
    let entry = try #require(try SyncEngine.conflicts(of: two.store).first)
    #expect(try await photos(two) == ["a": Self.large])
    _ = try loseFiles(of: two)
    let error = #expect(throws: SyncError.self) {
      try SyncEngine.keep(conflict: entry.number, of: two.store)
    }
    #expect(error?.message.contains("\"lost\"") == true, "\(error as Any)")
  }

  @Test("A lost value that was never sent is a difference which no repair mends")
  func neverSent() async throws {
    let one = try await replica("one")
    try await insert("sent", Self.large, into: one)
    _ = try await one.engine.sync()
    #expect(try await one.engine.verify().isEqual)
    try await insert("own", Self.large + Data([1]), into: one)
    _ = try loseFiles(of: one)
    _ = try await one.engine.sync()
    for report in [try await one.engine.verify(), try await one.engine.repair()] {
      let found = report.differences.filter { !$0.isRepaired }
      #expect(!report.isEqual)
      #expect(found.contains { $0.property == "image" && $0.isUnsent == true && $0.zone == nil })
    }
    #expect(try one.store.giveUpLostValues() == 1)
    _ = try await one.engine.sync()
    #expect(try await one.engine.verify().isEqual)
  }

  @Test("A store with lost files can give up what it did not send, and has the zone's values then")
  func givenUp() async throws {
    let (one, two) = (try await replica("one"), try await replica("two"))
    try await insert("a", Self.large, into: one)
    for replica in [one, two] { _ = try await replica.engine.sync() }
    try await insert("own", Self.large, into: two)
    _ = try loseFiles(of: two)
    let report = try await two.engine.giveUpUnsent()
    let export = try #require(report.reconciliations.last?.export)
    #expect(try String(contentsOfFile: export, encoding: .utf8).contains(#""own""#))
    #expect(try await photos(two) == ["a": Self.large])
    #expect(try two.store.lostValues().isEmpty)
  }

  @Test("The zone's later value takes the place of one whose file is gone")
  func replaced() async throws {
    let (one, two) = (try await replica("one"), try await replica("two"))
    try await insert("a", Self.large, into: one)
    for replica in [one, two] { _ = try await replica.engine.sync() }
    _ = try loseFiles(of: one)
    try await edit(two) { context in
      let photo = try #require(
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo")).first)
      photo["image"] = Data([9])
    }
    for replica in [two, one] { _ = try await replica.engine.sync() }
    #expect(try await photos(one) == ["a": Data([9])])
    #expect(try one.store.lostValues().isEmpty)
  }
}
