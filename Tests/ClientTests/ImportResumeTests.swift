import Driftless
import DriftlessSync
import Foundation
import SyncDaemon
import Synchronization
import TestSupport
import Testing

@testable import SyncControl

/// An import that ended before the end of its file goes on where it was.
@Suite struct ImportResumeTests {
  /// Transactions of two items each; every one but the last ends with a line that saves.
  private static func lines(transactions count: Int) -> [String] {
    (0..<count).flatMap { transaction in
      (0..<2).map {
        #"{"op":"insert","entity":"Item","id":"\#(transaction)-\#($0)","set":{"name":"\#($0)"}}"#
      } + [#"{"op":"save"}"#]
    }.dropLast()
  }

  private func importer(
    _ shop: Shop, skipping lines: Int? = nil, batchLines: Int? = nil,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) -> Importer {
    Importer(
      store: shop.store, author: nil, source: "f.jsonl", batchLines: batchLines,
      skippedLines: lines, isInterrupted: isInterrupted)
  }

  private func data(_ lines: [String]) -> Data { Data(lines.joined(separator: "\n").utf8) }

  @Test("A bad line says what was saved before it, and the corrected file goes on from there")
  func badLine() throws {
    let (shop, whole) = (try Shop(), try Shop())
    var lines = Self.lines(transactions: 3)
    let right = lines[7]
    lines[7] = #"{"op":"insert","entity":"Item","id":"x","set":{"size":-1}}"#
    let failure = try #require(
      #expect(throws: Failure.self) { _ = try importer(shop).run(data(lines)) })
    #expect(failure.message.hasPrefix("f.jsonl:8: "))
    #expect(failure.suggestion.contains("lines 1 to 6 are saved"))
    #expect(failure.suggestion.contains("--skip 6"))
    lines[7] = right
    // From the beginning it would meet what is there.
    #expect(throws: Failure.self) { _ = try importer(shop).run(data(lines)) }
    let report = try importer(shop, skipping: 6).run(data(lines))
    #expect(report.inserted == 2 && report.transactions == 1)
    _ = try importer(whole).run(data(lines))
    #expect(try ReplicaExport.text(of: shop.store) == ReplicaExport.text(of: whole.store))
  }

  @Test("Where the store was replaced meanwhile, no line counts as saved, and all of them get in")
  func replacedStore() throws {
    let (shop, whole) = (try Shop(), try Shop())
    let lines = Self.lines(transactions: 3)
    let url = shop.url
    let copy = url.deletingLastPathComponent().appendingPathComponent("copy.sqlite")
    try shop.store.backup(to: copy)
    let asked = Atomic<Int>(0)
    let failure = try #require(
      #expect(throws: Failure.self) {
        _ = try importer(shop) {
          guard asked.add(1, ordering: .relaxed).newValue == 2 else { return false }
          #expect(rename(copy.path, url.path) == 0)
          return false
        }.run(data(lines))
      })
    #expect(!failure.suggestion.contains("--skip"), "\(failure.suggestion)")
    #expect(failure.suggestion.contains("--only-missing"))
    shop.store.close()
    for log in ["-wal", "-shm"] { unlink(url.path + log) }
    let present = try PersistentStore.open(url: url, model: Shop.model())
    _ = try Importer(store: present, author: nil, source: "f.jsonl", onlyMissing: true)
      .run(data(lines))
    _ = try importer(whole).run(data(lines))
    #expect(try ReplicaExport.text(of: present) == ReplicaExport.text(of: whole.store))
  }

  @Test("What ends an import in its middle, and is no line's fault, says where to go on")
  func otherFailure() throws {
    let (shop, whole) = (try Shop(), try Shop())
    let lines = Self.lines(transactions: 3)
    let asked = Atomic<Int>(0)
    let failure = try #require(
      #expect(throws: Failure.self) {
        _ = try importer(shop) {
          if asked.add(1, ordering: .relaxed).newValue == 3 { shop.store.close() }
          return false
        }.run(data(lines))
      })
    #expect(failure.suggestion.contains("; lines 1 to 6 are saved: go on with --skip 6"))
    let store = try PersistentStore.open(url: shop.url, model: Shop.model())
    let report = try Importer(store: store, author: nil, source: "f.jsonl", skippedLines: 6)
      .run(data(lines))
    #expect(report.inserted == 2)
    _ = try importer(whole).run(data(lines))
    #expect(try ReplicaExport.text(of: store) == ReplicaExport.text(of: whole.store))
  }

  @Test("A bad line in the first transaction says that nothing was saved")
  func firstTransaction() throws {
    let shop = try Shop()
    let failure = try #require(
      #expect(throws: Failure.self) {
        _ = try importer(shop).run(data([#"{"op":"insert","entity":"Thing","id":"1"}"#]))
      })
    #expect(failure.suggestion.contains("nothing was saved"))
  }

  @Test("Interrupted anywhere, it says what is saved, and goes on from there", arguments: 0..<4)
  func interrupted(after questions: Int) throws {
    let (shop, whole) = (try Shop(), try Shop())
    let lines = Self.lines(transactions: 4)
    let asked = Mutex(0)
    let stopped = try #require(
      #expect(throws: ImportInterrupted.self) {
        _ = try importer(shop) {
          asked.withLock {
            $0 += 1
            return $0 > questions
          }
        }.run(data(lines))
      })
    #expect(stopped.progress.line == questions * 3)
    #expect(stopped.progress.waitingLine == nil)
    _ = try importer(shop, skipping: stopped.progress.line).run(data(lines))
    _ = try importer(whole).run(data(lines))
    #expect(try ReplicaExport.text(of: shop.store) == ReplicaExport.text(of: whole.store))
  }

  @Test("Of a large transaction that is interrupted between its batches, nothing is saved")
  func batches() throws {
    let shop = try Shop()
    let lines =
      Self.lines(transactions: 1)
      + Self.lines(transactions: 3).filter { !$0.contains("save") }
      .dropFirst(2)
    let asked = Mutex(0)
    let stopped = try #require(
      #expect(throws: ImportInterrupted.self) {
        _ = try importer(shop, batchLines: 2) {
          asked.withLock {
            $0 += 1
            return $0 > 1
          }
        }.run(data(lines))
      })
    #expect(stopped.progress.line == 0)
    #expect(try ReplicaExport.text(of: shop.store).isEmpty)
  }

  @Test("More lines to pass over than there are is a mistake that is named")
  func tooMany() throws {
    let shop = try Shop()
    let failure = try #require(
      #expect(throws: Failure.self) {
        _ = try importer(shop, skipping: 9).run(data(Self.lines(transactions: 1)))
      })
    #expect(failure.message.contains("f.jsonl:2: the file ends here"), "\(failure.message)")
    #expect(failure.suggestion.hasPrefix("nothing was imported"), "\(failure.suggestion)")
  }

  @Test("After an import that was killed, the first line that is there already says where to go on")
  func killed() throws {
    let (shop, whole) = (try Shop(), try Shop())
    let lines = Self.lines(transactions: 3)
    _ = try importer(shop).run(data(Array(lines.prefix(6))))
    let failure = try #require(
      #expect(throws: Failure.self) { _ = try importer(shop).run(data(lines)) })
    #expect(failure.message.hasPrefix("f.jsonl:1: "), "\(failure.message)")
    #expect(failure.suggestion.contains("go on with --skip 6"), "\(failure.suggestion)")
    _ = try importer(shop, skipping: 6).run(data(lines))
    _ = try importer(whole).run(data(lines))
    #expect(try ReplicaExport.text(of: shop.store) == ReplicaExport.text(of: whole.store))
    // Of a file that makes an object twice nothing is there before it.
    let twice = try #require(
      #expect(throws: Failure.self) { _ = try importer(Shop()).run(data([lines[0], lines[0]])) })
    #expect(!twice.suggestion.contains("--skip"), "\(twice.suggestion)")
  }

  @Test("What a full disk says of nothing does not deny what was saved before")
  func noContradiction() throws {
    let shop = try Shop()
    let lines = Self.lines(transactions: 3)
    let asked = Atomic<Int>(0)
    let failure = try #require(
      #expect(throws: Failure.self) {
        _ = try importer(shop) {
          if asked.add(1, ordering: .relaxed).newValue == 3 { shop.store.close() }
          return false
        }.run(data(lines))
      })
    #expect(!failure.suggestion.contains(".;"), "\(failure.suggestion)")
    #expect(!failure.suggestion.contains("nothing was changed"), "\(failure.suggestion)")
  }

  /// Ten transactions that each add to an item, and one line that is of another file.
  private static let counts =
    [#"{"op":"upsert","entity":"Item","id":"1","set":{"name":"a"}}"#, #"{"op":"save"}"#]
    + (0..<10).flatMap { _ in
      [
        #"{"op":"update","entity":"Item","id":"1","add":{"size":1}}"#, #"{"op":"save"}"#,
      ]
    }

  private func size(_ shop: Shop) throws -> Int {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop.store))
    let item = try #require(
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).first)
    let size = try #require(item["size"] as? any BinaryInteger)
    return Int(size)
  }

  @Test(
    "Of a file that adds, what was cut off is not added twice: the file itself says where to go on",
    arguments: [nil, 2] as [Int?])
  func cutOffCounts(batchLines: Int?) throws {
    let shop = try Shop()
    let asked = Mutex(0)
    // What it saved by then is all that an import which is killed there leaves.
    #expect(throws: ImportInterrupted.self) {
      _ = try importer(shop, batchLines: batchLines) {
        asked.withLock {
          $0 += 1
          return $0 > 5
        }
      }.run(data(Self.counts))
    }
    let before = try size(shop)
    #expect(before > 0 && before < 10)
    let refused = try #require(
      #expect(throws: Failure.self) {
        _ = try importer(shop, batchLines: batchLines).run(data(Self.counts))
      })
    #expect(refused.code == "cut-off")
    #expect(try size(shop) == before)
    let line = 2 + 2 * before
    #expect(refused.suggestion.contains("--skip \(line);"))

    // Another file is none of its business.
    var others = Self.counts
    others[0] = #"{"op":"upsert","entity":"Item","id":"1","set":{"name":"b"}}"#
    others = Array(others.prefix(2))
    _ = try importer(shop, batchLines: batchLines).run(data(others))
    #expect(throws: Failure.self) {
      _ = try importer(shop, batchLines: batchLines).run(data(Self.counts))
    }

    // Asked for by its number it adds the rest, comes to its end, and the place goes.
    _ = try importer(shop, skipping: line, batchLines: batchLines).run(data(Self.counts))
    #expect(try size(shop) == 10)
    _ = try importer(shop, batchLines: batchLines).run(data(Self.counts))
    #expect(try size(shop) == 20)
    #expect(try shop.store.read { try $0.setting("import.place") } == nil)
  }
}
