import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// What a command line says, and what is missing of it.
struct CommandLineTests {
  @Test(
    "An option that is given twice is refused: one of the two would not count",
    arguments: [
      ["sync", "--store", "a.sqlite", "--store", "b.sqlite"],
      ["status", "--store=a.sqlite", "--store", "a.sqlite"],
    ])
  func twice(words: [String]) async {
    #expect(await SyncControl.run(words) == ExitStatus.usage.rawValue)
  }

  @Test("What is missing where a store was moved is not advised to be made first")
  func moved() throws {
    let shop = try Shop()
    let elsewhere = shop.directory.file("elsewhere.sqlite")
    shop.store.close()
    func advice() throws -> String {
      try #require(
        #expect(throws: Failure.self) { try StoreAccess.requireFile(at: shop.url) }
      ).suggestion
    }
    try FileManager.default.moveItem(at: shop.url, to: elsewhere)
    let left = try advice()
    #expect(left.hasPrefix("there was one, since "), "\(left)")
    #expect(left.contains("shop.sqlite-*") && left.contains("syncctl init --store"), "\(left)")
    for name in try FileManager.default.contentsOfDirectory(atPath: shop.directory.url.path)
    where name.hasPrefix("shop.sqlite") {
      try FileManager.default.removeItem(at: shop.directory.file(name))
    }
    #expect(try advice().hasPrefix("check the path; where the store was moved"))
  }

  @Test("The zone and the server of a store are known, whatever else of its record is damaged")
  func home() throws {
    let shop = try Shop()
    #expect(try SyncEngine.knownHome(of: shop.store) == nil)
    try shop.enroll()
    _ = try shop.store.write(TransactionInfo()) {
      // As a damaged file may have it.
      try $0.connection.execute("PRAGMA ignore_check_constraints = ON")
      try $0.connection.execute("UPDATE ZDL_REPLICA SET chain = x'00'")
    }
    #expect(throws: SyncError.self) { try SyncEngine.home(of: shop.store) }
    let home = try #require(try SyncEngine.knownHome(of: shop.store))
    #expect(home.zone == "shop" && home.server.absoluteString == "http://127.0.0.1:1")
  }

  @Test("What is newly set aside is counted as status and the list count it")
  func setAside() throws {
    func entry(_ sequence: UInt64, _ object: UUID?) throws -> ParkedEntry {
      var json: [String: Any] = [
        "sequence": sequence, "code": "invalid-value", "reason": "", "names": [String](),
        "since": 0, "bytes": 1, "isAccepted": false,
      ]
      json["object"] = object?.uuidString
      return try JSONDecoder().decode(
        ParkedEntry.self, from: try JSONSerialization.data(withJSONObject: json))
    }
    let before = [try entry(1, UUID()), try entry(2, nil)]
    var summary = SyncSummary(SyncReport())
    summary.noteSetAside(
      before + [try entry(1, UUID()), try entry(3, UUID()), try entry(3, UUID())], since: before)
    #expect(summary.received?.setAside == 3)
  }
}
