import Driftless
import DriftlessSync
import Foundation
import SyncDaemon
import Synchronization
import TestSupport
import Testing

@testable import SyncControl

/// Imports into one store at one time, as by two programs.
struct ImportsAtOnceTests {
  /// Adds one to an item in so many transactions.
  private func sales(_ count: Int) -> Data {
    let lines = (0..<count).flatMap { _ in
      [#"{"op":"update","entity":"Item","id":"a","add":{"stock":1}}"#, #"{"op":"save"}"#]
    }
    return Data(lines.joined(separator: "\n").utf8)
  }

  private func shop() throws -> Shop {
    let shop = try Shop()
    let line = #"{"op":"insert","entity":"Item","id":"a","set":{"name":"a","stock":0}}"#
    _ = try Importer(store: shop.store, author: nil, source: "a").run(Data(line.utf8))
    return shop
  }

  private func stock(_ shop: Shop) throws -> Int64? {
    try shop.read { try shop.object("a", "Item", in: $0)?["stock"] as? Int64 }
  }

  @Test(
    "Two of equal lines save their lines each, wherever one is when the other begins",
    arguments: [1, 4, 10])
  func equalLines(count: Int) throws {
    let shop = try shop()
    let other = try PersistentStore.open(url: shop.url, model: shop.store.model)
    defer { other.close() }
    let asked = Mutex(0)
    let file = sales(10)
    let first = Importer(
      store: shop.store, author: nil, source: "f",
      isInterrupted: {
        let isTurn = asked.withLock {
          $0 += 1
          return $0 == count
        }
        if isTurn {
          #expect(throws: Never.self) {
            _ = try Importer(store: other, author: nil, source: "g").run(file)
          }
        }
        return false
      })
    let bytes = ImportBytes(file)
    _ = try first.take(bytes)
    // All is saved, and not said: so it is with one that was killed here, but this one lives.
    _ = try Importer(store: other, author: nil, source: "h").run(file)
    try first.end(bytes)
    #expect(try stock(shop) == 30)
    for setting in [ImportPlace.setting, ImportPlace.ownerSetting] {
      #expect(try shop.store.read { try $0.setting(setting) } == nil)
    }
    #expect(try shop.store.check().isSound)
  }

  @Test("One that was cut off is known beside one that is under way, and each has its own place")
  func cutOff() throws {
    let shop = try shop()
    let asked = Mutex(0)
    let file = sales(10)
    let living = Importer(store: shop.store, author: nil, source: "f")
    let bytes = ImportBytes(file)
    _ = try living.take(bytes)
    #expect(throws: ImportInterrupted.self) {
      _ = try Importer(
        store: shop.store, author: nil, source: "g",
        isInterrupted: {
          asked.withLock {
            $0 += 1
            return $0 > 6
          }
        }
      ).run(file)
    }
    let failure = #expect(throws: Failure.self) {
      _ = try Importer(store: shop.store, author: nil, source: "h").run(file)
    }
    #expect(failure?.suggestion.contains("--skip 12;") == true, "\(failure as Any)")
    try living.end(bytes)
    #expect(try stock(shop) == 16)
  }

  @Test("Two that change one object all the time end with the lines of both")
  func oneObject() async throws {
    let shop = try shop()
    let file = sales(200)
    let (url, model) = (shop.url, shop.store.model)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for name in ["f", "g"] {
        group.addTask {
          let store = try PersistentStore.open(url: url, model: model)
          defer { store.close() }
          _ = try Importer(store: store, author: nil, source: name).run(file)
        }
      }
      try await group.waitForAll()
    }
    #expect(try stock(shop) == 400)
  }
}
