import DownloadCache
import Driftless
import Foundation
import Testing

@Suite("The cache")
struct CacheTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  private func url(_ name: String) throws -> URL {
    try #require(URL(string: "https://example.com/\(name)"))
  }

  private func bytes(_ count: Int, _ byte: UInt8 = 7) -> Data {
    Data(repeating: byte, count: count)
  }

  @Test("A file comes back with its type and entity tag, also after opening anew")
  func storeAndGet() async throws {
    let cache = try DownloadCache(at: folder.cache)
    try await cache.store(
      url: url("a.png"), data: bytes(300_000), contentType: "image/png", etag: "\"v1\"")
    try await cache.store(url: url("b"), data: Data())
    for cache in [cache, try DownloadCache(at: folder.cache)] {
      #expect(try await cache.data(for: url("a.png")) == bytes(300_000))
      #expect(try await cache.data(for: url("b")) == Data())
      #expect(try await cache.data(for: url("c")) == nil)
      let entry = try #require(try await cache.entry(for: url("a.png")))
      #expect(entry.contentType == "image/png" && entry.entityTag == "\"v1\"")
      #expect(entry.byteCount == 300_000 && !entry.isExpired)
    }
    let statistics = try await cache.statistics()
    #expect(statistics.fileCount == 2 && statistics.byteCount == 300_000)
    #expect(statistics.hits == 2 && statistics.misses == 1)
  }

  @Test("A newer file takes the place of the older one, and counts once")
  func replace() async throws {
    let cache = try DownloadCache(at: folder.cache)
    try await cache.store(url: url("a"), data: bytes(1000), etag: "1")
    try await cache.store(url: url("a"), data: bytes(500, 8), etag: "2")
    #expect(try await cache.data(for: url("a")) == bytes(500, 8))
    #expect(try await cache.entry(for: url("a"))?.entityTag == "2")
    #expect(try await cache.statistics().byteCount == 500)
    #expect(try await cache.remove(url: url("a")))
    #expect(try await !cache.remove(url: url("a")))
    #expect(try await cache.statistics().fileCount == 0)
  }

  @Test("A stale file is not given, keeps its entity tag, and can be made fresh again")
  func expiry() async throws {
    let cache = try DownloadCache(at: folder.cache)
    try await cache.store(
      url: url("a"), data: bytes(10), etag: "\"v1\"", expires: Date(timeIntervalSinceNow: -1))
    #expect(try await cache.data(for: url("a")) == nil)
    #expect(try await cache.data(for: url("a"), allowsExpired: true) == bytes(10))
    #expect(try await cache.entry(for: url("a"))?.entityTag == "\"v1\"")
    #expect(try await cache.statistics().expiredCount == 1)
    #expect(try await cache.refresh(url: url("a")))
    #expect(try await cache.data(for: url("a")) == bytes(10))
    #expect(try await !cache.refresh(url: url("b")))

    try await cache.store(
      url: url("b"), data: bytes(10), expires: Date(timeIntervalSinceNow: -1))
    #expect(try await cache.evict() == 1)
    #expect(try await cache.entries().map(\.url) == [url("a")])
  }

  @Test("What was not looked at for the longest time makes room, and nothing more than need be")
  func leastRecentlyUsed() async throws {
    let cache = try DownloadCache(at: folder.cache, limits: CacheLimits(byteCount: 1000))
    for name in ["a", "b", "c", "d"] {
      try await cache.store(url: url(name), data: bytes(250))
    }
    _ = try await cache.data(for: url("a"))
    #expect(try await cache.store(url: url("e"), data: bytes(300)) == 2)
    #expect(try await cache.entries().map(\.url) == [url("e"), url("a"), url("d")])
    #expect(try await cache.statistics().byteCount == 800)
    // A larger version of a file makes room for itself, not out of itself.
    #expect(try await cache.store(url: url("d"), data: bytes(1000)) == 2)
    #expect(try await cache.entries().map(\.url) == [url("d")])
    #expect(try await cache.evict(to: 999) == 1)
    #expect(try await cache.statistics().byteCount == 0)
  }

  @Test("More files than fit on a page of the eviction go at once")
  func manySmallFiles() async throws {
    let cache = try DownloadCache(at: folder.cache, limits: CacheLimits(byteCount: 250))
    for number in 0..<250 { try await cache.store(url: url("\(number)"), data: bytes(1)) }
    #expect(try await cache.store(url: url("large"), data: bytes(249)) == 249)
    #expect(try await cache.entries().map(\.url) == [url("large"), url("249")])
  }

  @Test("Clearing gives the room on the disk back, the files of large values included")
  func clear() async throws {
    let cache = try DownloadCache(at: folder.cache)
    for number in 0..<20 { try await cache.store(url: url("\(number)"), data: bytes(400_000)) }
    for number in 0..<50 { try await cache.store(url: url("s\(number)"), data: bytes(20_000)) }
    #expect(try size() > 9_000_000)
    try await cache.clear()
    #expect(try await cache.statistics().fileCount == 0)
    #expect(try size() < 1_000_000)
    #expect(try await cache.data(for: url("1")) == nil)
  }

  private func size() throws -> Int {
    var total = 0
    let files = FileManager.default.enumerator(atPath: folder.url.path)
    while let name = files?.nextObject() as? String {
      let attributes = try FileManager.default.attributesOfItem(
        atPath: folder.url.appendingPathComponent(name).path)
      if attributes[.type] as? FileAttributeType == .typeRegular {
        total += attributes[.size] as? Int ?? 0
      }
    }
    return total
  }

  @Test("A damaged file, one of another kind or of another model makes way for a cache")
  func unusableFiles() async throws {
    func check() async throws {
      let cache = try DownloadCache(at: folder.cache)
      #expect(try await cache.statistics().fileCount == 0)
      try await cache.store(url: url("a"), data: bytes(200_000))
      #expect(try await cache.data(for: url("a")) == bytes(200_000))
    }
    try Data("this is a text, and no database at all".utf8).write(to: folder.cache)
    try await check()

    let other = EntityDescription("Other")
    other.properties = [AttributeDescription("name", .string)]
    try FileManager.default.removeItem(at: folder.cache)
    let container = PersistentContainer(
      name: "Other", model: ManagedObjectModel(entities: [other]), storeURL: folder.cache)
    try container.loadPersistentStores()
    try await container.perform { context in
      try context.insert(entityNamed: "Other")
      try context.save()
    }
    container.persistentStoreCoordinator.persistentStores.first?.close()
    try await check()

    // The header is whole, the rest is not; a log of another life lies beside it.
    var file = try Data(contentsOf: folder.cache)
    file.replaceSubrange(100..<file.count, with: bytes(file.count - 100, 0xff))
    try file.write(to: folder.cache)
    try bytes(5000, 3).write(to: folder.file("Downloads.cache-wal"))
    try await check()
  }

  @Test("A file that only cannot be reached is not removed")
  func unreachable() throws {
    let location = folder.file("folder/Downloads.cache")
    #expect(throws: CacheError.self) { try DownloadCache(at: location) }
    try FileManager.default.createDirectory(at: folder.cache, withIntermediateDirectories: true)
    try bytes(1).write(to: folder.cache.appendingPathComponent("precious"))
    #expect(throws: StoreError.self) { try DownloadCache(at: folder.cache) }
    #expect(FileManager.default.fileExists(atPath: folder.cache.path + "/precious"))
  }

  @Test("Bad input is refused with what to do")
  func badInput() async throws {
    for limits in [
      CacheLimits(byteCount: 0), CacheLimits(byteCount: -1), CacheLimits(lifetime: -1),
      CacheLimits(lifetime: .nan), CacheLimits(lifetime: .infinity),
    ] {
      #expect(throws: CacheError.self) { try DownloadCache(at: folder.cache, limits: limits) }
    }
    let cache = try DownloadCache(at: folder.cache, limits: CacheLimits(byteCount: 100))
    for text in ["a.png", "/a.png", "https:", "https:///a"] {
      let url = try #require(URL(string: text))
      await #expect(throws: CacheError.self) { try await cache.store(url: url, data: Data()) }
      await #expect(throws: CacheError.self) { try await cache.data(for: url) }
    }
    do {
      try await cache.store(url: url("a"), data: bytes(101))
      Issue.record("a file above the budget was taken")
    } catch let error as CacheError {
      #expect(error.code == .tooLarge && error.description.contains("101"))
    }
    await #expect(throws: CacheError.self) { try await cache.evict(to: -1) }
    #expect(try await cache.statistics().fileCount == 0)
  }
}
