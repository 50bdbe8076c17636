import DriftlessServer
import DriftlessStorageConformance
import Testing

/// A stranger's storage: this target sees of the package what is public, and nothing else.
@Suite("A storage of one's own") struct OwnStorageTests {
  /// Of large values, those cases that say what a storage owes that keeps none.
  private static let cases =
    ZoneStorageConformance.logs + ZoneStorageConformance.lives + ZoneStorageConformance.values

  @Test("Zones, their logs and tokens in memory", arguments: cases)
  func memory(item: StorageCase) async throws {
    let shared = MemoryStorage.Shared()
    try await item.run(
      StorageUnderTest { limits in
        MemoryStorage(shared, limits: limits)
      } administer: { work in
        try work(MemoryAdministration(shared: shared))
      })
  }
}
