import DriftlessProtocol
import DriftlessServer
import DriftlessStorageConformance
import Foundation
import TestSupport

/// A data folder with one zone in it, and pushes for it that need no codec.
final class TestZone: Sendable {
  let directory: TemporaryDirectory
  let folder: DataFolder
  let storage: SQLiteZoneStorage
  let limits: ServerLimits

  /// - Parameter now: the server's clock, in milliseconds since 1970.
  init(
    limits: ServerLimits = .init(), name: String = "shop",
    now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) },
    sinceBoot: @escaping @Sendable () -> Int64 = ServerClock.hostSinceBoot
  ) throws {
    directory = try TemporaryDirectory()
    self.limits = limits
    folder = try DataFolder(directory.file("data"))
    let administration = try Administration(folder: folder)
    _ = try administration.createZone(name)
    administration.close()
    storage = try SQLiteZoneStorage(folder: folder, limits: limits, now: now, sinceBoot: sinceBoot)
  }

  deinit { storage.close() }

  func zone(_ name: String = "shop") async throws -> ZoneRecord {
    guard let zone = try await storage.zone(named: name) else { throw Missing(name: name) }
    return zone
  }

  /// A place of the zone's log.
  func place(at sequence: UInt64) async throws -> LogMark {
    try await storage.place(at: sequence, of: zone())
  }

  struct Missing: Error { let name: String }
}

/// The code of the error that `body` throws; nil when it throws none.
func code(_ body: () async throws -> Void) async throws -> ServerError.Code? {
  do {
    try await body()
    return nil
  } catch let error as ServerError {
    return error.code
  }
}
