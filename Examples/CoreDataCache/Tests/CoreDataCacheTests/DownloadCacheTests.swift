import CoreData
import Testing

@testable import CoreDataCache

/// The cache at work, on real files.
struct DownloadCacheTests {
  private let folder: URL
  private let image = URL(string: "https://example.com/image.png")!

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private var storeURL: URL { folder.appendingPathComponent("Cache.sqlite") }
  private func cache() throws -> DownloadCache { try DownloadCache(storeURL: storeURL) }
  private func url(_ number: Int) -> URL { URL(string: "https://example.com/\(number)")! }

  /// The files beside the store that hold large values.
  private func externalFiles() -> [String] {
    let folder = folder.appendingPathComponent(".Cache_SUPPORT/_EXTERNAL_DATA")
    return (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
  }

  @Test("A file is there for the next run, large ones beside the store")
  func stored() throws {
    let bytes = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) })
    try cache().store(bytes, for: image, contentType: "image/png", entityTag: "\"v1\"")
    #expect(externalFiles().count == 1)
    let next = try cache()
    #expect(try next.data(for: image) == bytes)
    #expect(try next.entityTag(for: image) == "\"v1\"")
    #expect(try next.data(for: url(1)) == nil)
    #expect(try next.currentDiskUsage() == 1_000_000)
    try next.removeData(for: image)
    #expect(try cache().data(for: image) == nil)
    #expect(externalFiles().isEmpty)
  }

  @Test("A file takes the place of the one that the URL had")
  func replaced() throws {
    let cache = try cache()
    try cache.store(Data([1]), for: image)
    try cache.store(Data([2, 3]), for: image)
    #expect(try cache.data(for: image) == Data([2, 3]))
    #expect(try cache.currentDiskUsage() == 2)
  }

  @Test("A file past its date is not given, and goes with the next look at the room")
  func expired() throws {
    let cache = try cache()
    try cache.store(
      Data([1]), for: image, entityTag: "old", expirationDate: Date(timeIntervalSinceNow: -1))
    try cache.store(Data([2]), for: url(2), expirationDate: .distantFuture)
    #expect(try cache.data(for: image) == nil)
    #expect(try cache.entityTag(for: image) == "old")
    try cache.maintain()
    #expect(try cache.entityTag(for: image) == nil)
    #expect(try cache.data(for: url(2)) == Data([2]))
  }

  @Test("The files that were not looked at for the longest time make room")
  func room() throws {
    let cache = try cache()
    cache.diskCapacity = 500
    for number in 0..<10 { try cache.store(Data(count: 100), for: url(number)) }
    #expect(try cache.data(for: url(0)) != nil)
    try cache.maintain()
    let kept = try (0..<10).filter { try cache.data(for: url($0)) != nil }
    #expect(kept == [0, 6, 7, 8, 9])
    #expect(try cache.currentDiskUsage() == 500)
  }

  @Test(
    "A store that does not open is removed and made anew",
    arguments: ["a file of another kind", ""])
  func retried(_ text: String) throws {
    try cache().store(Data(count: 300_000), for: image)
    // The log that lies beside the file belongs to what was there before.
    try Data(String(repeating: text, count: 1000).utf8).write(to: storeURL)
    let cache = try cache()
    #expect(try cache.data(for: image) == nil)
    try cache.store(Data([1]), for: image)
    #expect(try self.cache().data(for: image) == Data([1]))
  }

  @Test("A store of another model is removed and made anew")
  func otherModel() throws {
    let entity = NSEntityDescription()
    entity.name = "CachedFile"
    let name = NSAttributeDescription()
    name.name = "name"
    name.attributeType = .stringAttributeType
    entity.properties = [name]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: storeURL)
    try coordinator.remove(store)

    let cache = try cache()
    try cache.store(Data([1]), for: image)
    #expect(try self.cache().data(for: image) == Data([1]))
  }

  @Test("Many threads store and look up at once")
  func threads() throws {
    let cache = try cache()
    DispatchQueue.concurrentPerform(iterations: 100) { number in
      try? cache.store(Data([UInt8(number)]), for: url(number % 20))
      _ = try? cache.data(for: url(number % 20))
    }
    #expect(try cache.currentDiskUsage() == 20)
    for number in 0..<20 {
      #expect(Int(try cache.data(for: url(number))?.first ?? 255) % 20 == number)
    }
  }
}
