import DriftlessServer
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@Suite("What every storage owes")
struct StorageConformanceTests {
  @Test("In SQLite", arguments: ZoneStorageConformance.cases)
  func sqlite(item: StorageCase) async throws { try await item.run(.sqlite()) }

  #if PostgreSQL
    @Test("In PostgreSQL", arguments: ZoneStorageConformance.cases)
    func postgres(item: StorageCase) async throws { try await item.run(.postgres()) }
  #endif

  @Test("Pushes at one time share commits")
  func groups() async throws {
    let test = try TestZone()
    let zone = try await test.zone()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          var replica = TestReplica()
          for _ in 0..<10 {
            _ = try await test.storage.append(replica.push(zone.generation), to: zone)
          }
        }
      }
      try await group.waitForAll()
    }
    let commits = test.storage.metrics.commits
    #expect(commits.pushes == 200)
    #expect(commits.groups < commits.pushes, "a group commit serves many pushes")
  }
}

extension StorageUnderTest {
  /// A data folder of its own.
  static func sqlite() throws -> StorageUnderTest {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    return StorageUnderTest { limits in
      try SQLiteZoneStorage(folder: folder, limits: limits)
    } administer: { work in
      let administration = try Administration(folder: folder)
      defer { administration.close() }
      try withExtendedLifetime(directory) { try work(administration) }
    }
  }

  #if PostgreSQL
    /// A place of its own in the tests' database.
    static func postgres() throws -> StorageUnderTest {
      let database = try PostgresCluster.shared().place()
      return StorageUnderTest { limits in
        try PostgresZoneStorage(database: database, limits: limits)
      } administer: { work in
        let administration = try PostgresAdministration(database: database)
        defer { administration.close() }
        try work(administration)
      }
    }
  #endif
}
