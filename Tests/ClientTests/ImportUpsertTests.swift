import Driftless
import DriftlessSync
import Foundation
import SyncDaemon
import Testing

@testable import SyncControl

/// An upsert is an insert where there is no object of its id, and an update where there is one.
@Suite struct ImportUpsertTests {
  private func run(_ shop: Shop, _ lines: [String], batchLines: Int = 1000) throws -> ImportReport {
    try Importer(store: shop.store, author: nil, source: "f.jsonl", batchLines: batchLines)
      .run(Data(lines.joined(separator: "\n").utf8))
  }

  @Test("A file of upserts can be imported again and again", arguments: [2, 1000])
  func again(batchLines: Int) throws {
    let shop = try Shop()
    let lines = (0..<9).map {
      #"{"op":"upsert","entity":"Item","id":"\#($0)","set":{"size":\#($0)}}"#
    }
    #expect(try run(shop, lines, batchLines: batchLines).inserted == 9)
    let first = try ReplicaExport.text(of: shop.store)
    let report = try run(
      shop, lines + [#"{"op":"upsert","entity":"Item","id":"8","set":{"stock":4}}"#],
      batchLines: batchLines)
    #expect(report.inserted == 0 && report.updated == 10)
    let second = try ReplicaExport.text(of: shop.store)
    // What a line does not name stays.
    #expect(second != first && second.contains(#""size":8,"stock":4"#))
  }

  @Test("Of a former export only what is missing comes back", arguments: [2, 1000])
  func onlyMissing(batchLines: Int) throws {
    let shop = try Shop()
    let former = (0..<6).map {
      #"{"op":"upsert","entity":"Item","id":"\#($0)","set":{"size":\#($0)}}"#
    }
    _ = try run(shop, former)
    _ = try run(
      shop,
      [
        #"{"op":"update","entity":"Item","id":"1","set":{"size":99}}"#,
        #"{"op":"delete","entity":"Item","id":"2"}"#, #"{"op":"delete","entity":"Item","id":"5"}"#,
      ])
    let importer = Importer(
      store: shop.store, author: nil, source: "f.jsonl", batchLines: batchLines, onlyMissing: true)
    // A later line of what came back is one of that.
    let lines = former + [#"{"op":"update","entity":"Item","id":"5","set":{"stock":7}}"#]
    let report = try importer.run(Data(lines.joined(separator: "\n").utf8))
    #expect(report.inserted == 2 && report.updated == 1 && report.passedOver == 4)
    #expect(report.text.hasSuffix("; passed over 4 lines of objects that are there"))
    let text = try ReplicaExport.text(of: shop.store)
    #expect(text.contains(#""size":99"#) && text.contains(#""size":2"#), "\(text)")
    #expect(text.contains(#""size":5,"stock":7"#), "\(text)")
  }

  @Test(
    "Ids whose bytes differ are two objects, in one file as in two, and so are references by them",
    arguments: [false, true])
  func composition(isOneFile: Bool) throws {
    let shop = try Shop()
    let lines = [
      #"{"op":"upsert","entity":"Box","id":"\u00e9","set":{"name":"one letter"}}"#,
      #"{"op":"upsert","entity":"Item","id":"1","set":{"box":"\u00e9"}}"#,
      #"{"op":"upsert","entity":"Box","id":"e\u0301","set":{"name":"two"}}"#,
      #"{"op":"upsert","entity":"Item","id":"2","set":{"box":"e\u0301"}}"#,
    ]
    for part in isOneFile ? [lines] : lines.map({ [$0] }) {
      let report = try run(shop, part)
      #expect(report.inserted == part.count && report.updated == 0)
    }
    try shop.read { context in
      for (item, name) in [("1", "one letter"), ("2", "two")] {
        let object = try #require(try shop.object(item, "Item", in: context))
        let box = try #require(try object.value(forKey: "box") as? ManagedObject)
        #expect(try box.value(forKey: "name") as? String == name)
      }
    }
  }

  @Test("What an earlier line refers to, an upsert makes; what is another entity's it refuses")
  func references() throws {
    let shop = try Shop()
    let report = try run(
      shop,
      [
        #"{"op":"upsert","entity":"Item","id":"1","set":{"box":"b"}}"#,
        #"{"op":"upsert","entity":"Box","id":"b","set":{"name":"b"}}"#,
        #"{"op":"save"}"#, #"{"op":"upsert","entity":"SpecialItem","id":"s","set":{"box":"c"}}"#,
        #"{"op":"save"}"#, #"{"op":"upsert","entity":"Box","id":"c","set":{"name":"c"}}"#,
      ])
    #expect(report.inserted == 4 && report.updated == 0)
    try shop.read { context in
      let item = try #require(try shop.object("s", "Item", in: context))
      let box = try #require(try item.value(forKey: "box") as? ManagedObject)
      #expect(try box.value(forKey: "name") as? String == "c")
    }
    #expect(
      try run(shop, [#"{"op":"upsert","entity":"Item","id":"s","set":{"size":1}}"#]).updated == 1)
    let failure = try #require(
      #expect(throws: Failure.self) {
        try run(shop, [#"{"op":"upsert","entity":"SpecialItem","id":"1","set":{"size":1}}"#])
      })
    #expect(failure.message == "f.jsonl:1: 1 is a Item, not a SpecialItem")
  }

  @Test(
    "It gives what the insert or update in its place gives, among deletes and saves",
    arguments: 0..<40)
  func inPlace(seed: UInt64) throws {
    var random = SeededNumbers(seed: seed)
    var living: Set<Int> = []
    var lines: [String] = []
    var plain: [String] = []
    for _ in 0..<40 {
      let id = Int(random.next() % 6)
      let value = Int(random.next() % 100)
      let set =
        #""entity":"Item","id":"\#(id)","set":{"\#(value % 2 == 0 ? "size" : "stock")":\#(value)}}"#
      switch random.next() % 8 {
      case 0, 1:
        guard living.remove(id) != nil else { continue }
        let line = #"{"op":"delete","entity":"Item","id":"\#(id)"}"#
        lines.append(line)
        plain.append(line)
      case 2:
        lines.append(#"{"op":"save"}"#)
        plain.append(#"{"op":"save"}"#)
      default:
        lines.append(#"{"op":"upsert","# + set)
        plain.append(#"{"op":"\#(living.insert(id).inserted ? "insert" : "update")","# + set)
      }
    }
    let (whole, parts, other) = (try Shop(), try Shop(), try Shop())
    let expected = try run(other, plain)
    #expect(try run(whole, lines) == expected, "\(lines)")
    #expect(try run(parts, lines, batchLines: 3) == expected, "\(lines)")
    let text = try ReplicaExport.text(of: other.store)
    #expect(try ReplicaExport.text(of: whole.store) == text, "\(lines)")
    #expect(try ReplicaExport.text(of: parts.store) == text, "\(lines)")
  }

  /// Numbers that follow from a seed.
  private struct SeededNumbers {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state >> 8
    }
  }

  @Test("What another import made meanwhile is no line's fault")
  func overtaken() throws {
    let shop = try Shop()
    let line = #"{"op":"upsert","entity":"Item","id":"1","set":{"size":1}}"#
    var reader = try LineReader(ImportBytes(Data(line.utf8)))
    let lines = [try #require(try reader.next())]
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: shop.store))
    let transaction = ImportTransaction(context, shapes: ImportShapes(shop.store.schema.model))
    try transaction.perform(lines, settling: [])
    #expect(try !transaction.isOvertaken(in: shop.store))
    #expect(try run(shop, [line]).inserted == 1)
    #expect(throws: (any Error).self) { try context.save() }
    #expect(try transaction.isOvertaken(in: shop.store))
  }
}
