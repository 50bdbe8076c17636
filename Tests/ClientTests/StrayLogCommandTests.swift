import Driftless
import Foundation
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// A store whose file was put back without its log, from the command line.
@Suite struct StrayLogCommandTests {
  @Test(
    "F61 status, doctor and store check say that a log is not the file's, and set-aside leads out")
  func leadsOut() async throws {
    let shop = try Shop()
    let url = shop.url
    func save(_ count: Int, _ store: PersistentStore) throws {
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
      for number in 0..<count {
        try context.insert(entityNamed: "Item").setValue("item \(number)", forKey: "name")
      }
      try context.save()
    }
    try save(20, shop.store)
    shop.store.close()
    let copy = try Data(contentsOf: url)
    var store = try PersistentStore.open(url: url)
    try save(200, store)
    store.close()
    store = try PersistentStore.open(url: url)
    try save(3, store)
    let log = try Data(contentsOf: URL(fileURLWithPath: url.path + "-wal"))
    store.close()
    #expect(await SyncControl.run(["store", "set-aside", url.path]) == 0, "nothing is to be moved")
    try copy.write(to: url)
    try log.write(to: URL(fileURLWithPath: url.path + "-wal"))
    let bad = ExitStatus.badData.rawValue
    for (arguments, code) in [
      (["status", "--store", url.path], bad), (["store", "check", url.path], bad),
      (["doctor", "--store", url.path], bad),
      (["export", "--store", url.path], bad), (["store", "info", url.path], bad),
    ] {
      #expect(await SyncControl.run(arguments) == code, "\(arguments)")
    }
    #expect(try Data(contentsOf: url) == copy)
    #expect(await SyncControl.run(["store", "set-aside", url.path]) == 0)
    #expect(FileManager.default.fileExists(atPath: url.path + "-wal.away1"))
    #expect(await SyncControl.run(["status", "--store", url.path]) == 0)
    #expect(await SyncControl.run(["store", "check", url.path]) == 0)
    // What is lost is told until somebody takes note.
    #expect(await SyncControl.run(["doctor", "--store", url.path]) == 1)
    store = try PersistentStore.open(url: url)
    #expect(try store.lostCommits()?.count == 2)
    store.close()
    #expect(await SyncControl.run(["doctor", "--store", url.path, "--forget-lost"]) == 0)
    #expect(await SyncControl.run(["store", "set-aside", url.path + "x"]) == bad)
  }

  @Test("F61 init makes no store in the place of one whose log is there, and set-aside leads out")
  func logAlone() async throws {
    let shop = try Shop()
    let model = shop.directory.file("New.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try """
    <?xml version="1.0" encoding="UTF-8"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <entity name="Item"><attribute name="name" attributeType="String"/></entity>
    </model>
    """.write(to: model.appending(path: "contents"), atomically: true, encoding: .utf8)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop.store))
    try context.insert(entityNamed: "Item").setValue("saved", forKey: "name")
    try context.save()
    let log = URL(fileURLWithPath: shop.url.path + "-wal")
    let left = try Data(contentsOf: log)
    shop.store.close()
    try FileManager.default.removeItem(at: shop.url)
    try left.write(to: log)
    let bad = ExitStatus.badData.rawValue
    let makes = ["init", "--store", shop.url.path, "--model", model.path]
    for arguments in [
      makes, ["status", "--store", shop.url.path], ["store", "check", shop.url.path],
    ] {
      #expect(await SyncControl.run(arguments) == bad, "\(arguments)")
    }
    #expect(try Data(contentsOf: log) == left)
    #expect(await SyncControl.run(["store", "set-aside", shop.url.path]) == 0)
    #expect(await SyncControl.run(makes) == 0)
    #expect(try Data(contentsOf: URL(fileURLWithPath: log.path + ".away1")) == left)
  }
}
