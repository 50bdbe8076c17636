import Driftless
import Foundation
import TestSupport
import Testing

@testable import SyncControl

@Suite struct DoctorCheckTests {
  @Test(
    "The SQLite versions with the WAL-reset defect are known",
    arguments: [
      ("3.40.1", true), ("3.51.2", true), ("3.51.3", false), ("3.50.6", true), ("3.50.7", false),
      ("3.44.5", true), ("3.44.6", false), ("3.45.0", true), ("3.6.23", false), ("3.52.0", false),
      ("4.0.0", false), ("odd", false),
    ])
  func versions(version: String, isAffected: Bool) {
    #expect(DoctorCheck.mayCorruptInCheckpoint(version) == isAffected)
  }

  @Test(
    "A database is no file of lines to import, and no model, and keeps its locks where it is open")
  func databaseAsAnother() async throws {
    let shop = try Shop()
    defer { shop.store.close() }
    _ = try shop.store.check()
    let held = HeldLocks(on: shop.url)
    #expect(held.locks.count >= 2)
    let path = shop.url.path
    #expect(await SyncControl.run(["import", path, "--store", path]) == 65)
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel(contentsOf: shop.url) }
    #expect(error?.code == .unsupportedFormat)
    #expect(held.lost == [])
  }

  @Test("A look at the files of an open store takes none of its locks along")
  func openStore() throws {
    let shop = try Shop()
    defer { shop.store.close() }
    _ = try shop.store.check()
    let held = HeldLocks(on: shop.url)
    #expect(held.locks.count >= 2)
    #expect(DoctorCheck.files(of: shop.url).contains { $0.name == "rights" })
    #expect(held.lost == [])
  }

  @Test(
    "What lies beside a store and is no plain file is named, and other commands refuse it or pass it over",
    arguments: ["-wal", "-shm", "-journal", "-driftless-lock", "-driftless-sync"],
    ["folder", "pipe", "link"])
  func besideTheStore(suffix: String, kind: String) async throws {
    let shop = try Shop()
    shop.store.close()
    let url = shop.url
    #expect(await SyncControl.run(["doctor", "--store", url.path]) == 0)
    try odd(url.path + suffix, kind)
    let found = DoctorCheck.sideFiles(of: url)
    #expect(found.count == 1)
    #expect(found.first?.detail.contains("\(url.path)\(suffix) is ") == true)
    #expect(found.first?.detail.contains("mv ") == true)
    #expect(await SyncControl.run(["doctor", "--store", url.path]) == 65)
    #expect(await SyncControl.run(["status", "--store", url.path]) == 65)
  }

  @Test("A pipe where the token or the daemon's mark belongs is named, and not waited for")
  func besideTheClient() async throws {
    for suffix in ["-driftless-token", "-driftless-daemon"] {
      let shop = try Shop()
      shop.store.close()
      try odd(shop.url.path + suffix, "pipe")
      #expect(await SyncControl.run(["doctor", "--store", shop.url.path]) == 1)
      #expect(await SyncControl.run(["status", "--store", shop.url.path]) == 0)
    }
  }

  private func odd(_ path: String, _ kind: String) throws {
    unlink(path)
    switch kind {
    case "folder": try #require(mkdir(path, 0o700) == 0)
    case "pipe": try #require(mkfifo(path, 0o600) == 0)
    default: try #require(symlink("nowhere/x", path) == 0)
    }
  }
}
