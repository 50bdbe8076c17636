import DriftlessProtocol
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// A storage that was closed opens nothing again: another may have what it served, or have put something else in its place.
struct ClosedStorageTests {
  /// Files below a folder that this process has open.
  private static func open(below folder: URL) throws -> [String] {
    let path = folder.resolvingSymlinksInPath().path
    return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }.filter { $0.hasPrefix(path) }
  }

  @Test("What comes late to the storage of a folder is refused, and opens no file")
  func folder() async throws {
    let test = try TestZone()
    let (storage, zone) = (test.storage, try await test.zone())
    #expect(try !Self.open(below: test.folder.url).isEmpty)
    storage.close()
    await storage.letGoOfForgotten()
    _ = await storage.time()
    #expect(try await code { _ = try await storage.zone(named: "shop") } == .busy)
    #expect(
      try await code {
        _ = try await storage.page(
          of: zone,
          PageRequest(
            after: Cursor.start(generation: zone.generation).mark, bytesMax: 1, entriesMax: 1))
      } == .busy)
    #expect(try Self.open(below: test.folder.url) == [])
  }

  #if PostgreSQL
    @Test("What comes late to a node is refused, and connects to nothing")
    func postgres() async throws {
      let world = try PostgresWorld()
      world.storage.close()
      await world.storage.letGoOfForgotten()
      let storage = world.storage
      #expect(try await code { _ = try await storage.zone(named: "shop") } == .busy)
      #expect(!storage.pool.hasOpen)
    }
  #endif
}
