import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import SyncDaemon
import Synchronization
import TestSupport
import Testing

@testable import SyncControl

/// How far imports of files that add to numbers came, each for itself.
@Suite struct ImportPlaceTests {
  private func importer(
    _ shop: Shop, skipping lines: Int? = nil, batchLines: Int? = nil, onlyMissing: Bool = false,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) -> Importer {
    Importer(
      store: shop.store, author: nil, source: "f.jsonl", batchLines: batchLines,
      skippedLines: lines, onlyMissing: onlyMissing, isInterrupted: isInterrupted)
  }

  private func data(_ lines: [String]) -> Data { Data(lines.joined(separator: "\n").utf8) }

  /// What an import has saved after so many transactions is all that one leaves which is killed there.
  private func importSome(
    _ lines: [String], _ count: Int, into shop: Shop, skipping skipped: Int? = nil,
    onlyMissing: Bool = false
  ) {
    let asked = Mutex(0)
    #expect(throws: ImportInterrupted.self) {
      _ = try importer(shop, skipping: skipped, onlyMissing: onlyMissing) {
        asked.withLock {
          $0 += 1
          return $0 > count
        }
      }.run(data(lines))
    }
  }

  /// Adds one to an item ten times.
  private func counts(_ item: String) -> [String] {
    [#"{"op":"upsert","entity":"Item","id":"\#(item)","set":{"name":"a"}}"#, #"{"op":"save"}"#]
      + (0..<10).flatMap { _ in
        [
          #"{"op":"update","entity":"Item","id":"\#(item)","add":{"size":1}}"#,
          #"{"op":"save"}"#,
        ]
      }
  }

  private func sizes(_ shop: Shop) throws -> [Int] {
    try shop.read { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
        .compactMap { ($0["size"] as? any BinaryInteger).map { Int($0) } }.sorted()
    }
  }

  @Test(
    "One that was killed when all was saved, and had not said so, is not imported twice",
    arguments: ["", "\n", "\r\n"])
  func killedAtTheEnd(end: String) throws {
    let shop = try Shop()
    let file = Data((counts("a").joined(separator: "\n") + end).utf8)
    _ = try importer(shop).take(ImportBytes(file))
    #expect(try sizes(shop) == [10])
    let failure = #expect(throws: Failure.self) { _ = try importer(shop).run(file) }
    #expect(
      failure?.code == "cut-off" && failure?.message.contains("all its lines, 1 to 22") == true)
    #expect(failure?.suggestion.contains("--skip 22 ends it") == true)
    #expect(try sizes(shop) == [10])
    #expect(try importer(shop, skipping: 22).run(file).updated == 0)
    // Who knows that all of it is there may want it once more.
    _ = try importer(shop).run(file)
    #expect(try sizes(shop) == [20])
  }

  @Test("A file that is imported whole, or cut off as well, takes no other file's place")
  func twoFiles() throws {
    let shop = try Shop()
    let (first, second) = (counts("1"), counts("2"))
    importSome(first, 4, into: shop)
    _ = try importer(shop).run(data(second))
    importSome(second + second.dropFirst(2), 15, into: shop)
    let before = try sizes(shop)
    let failure = try #require(
      #expect(throws: Failure.self) { _ = try importer(shop).run(data(first)) })
    #expect(failure.code == "cut-off" && failure.suggestion.contains("--skip 8;"))
    #expect(try sizes(shop) == before)
    _ = try importer(shop, skipping: 8).run(data(first))
    #expect(try sizes(shop)[0] == 10)
    #expect(throws: Failure.self) {
      _ = try importer(shop).run(data(second + second.dropFirst(2)))
    }
    #expect(try shop.store.check().isSound)
  }

  @Test("The place that a program of before kept is known")
  func formerForm() throws {
    let shop = try Shop()
    let lines = counts("1")
    importSome(lines, 4, into: shop)
    _ = try shop.store.write(TransactionInfo()) {
      let place = try #require(try $0.setting("import.places"))
      try $0.setSetting("import.place", place)
      try $0.setSetting("import.places", nil)
    }
    #expect(throws: Failure.self) { _ = try importer(shop).run(data(lines)) }
    _ = try importer(shop, skipping: 8).run(data(lines))
    #expect(try sizes(shop) == [10])
    for setting in ["import.place", "import.places"] {
      #expect(try shop.store.read { try $0.setting(setting) } == nil)
    }
  }

  @Test("References to later lines are set by the import that goes on")
  func waiting() throws {
    let lines = [
      #"{"op":"upsert","entity":"Item","id":"1","set":{"name":"a","box":"b"}}"#,
      #"{"op":"upsert","entity":"Item","id":"2","set":{"name":"c","box":"b","tags":["t","u"]}}"#,
      #"{"op":"save"}"#,
      #"{"op":"update","entity":"Item","id":"2","add":{"size":1}}"#,
      #"{"op":"save"}"#,
      #"{"op":"insert","entity":"Tag","id":"t","set":{}}"#,
      #"{"op":"update","entity":"Item","id":"1","add":{"size":1}}"#,
      #"{"op":"save"}"#,
      #"{"op":"insert","entity":"Tag","id":"u","set":{}}"#,
      #"{"op":"insert","entity":"Box","id":"b","set":{"name":"B"}}"#,
    ]
    let whole = try Shop()
    _ = try importer(whole).run(data(lines))
    for (count, line) in [(2, 5), (3, 8)] {
      let shop = try Shop()
      importSome(lines, count, into: shop)
      _ = try importer(shop, skipping: line).run(data(lines))
      #expect(
        try ReplicaExport.text(of: shop.store) == ReplicaExport.text(of: whole.store),
        "after \(count)")
      #expect(try shop.store.read { try $0.setting("import.places") } == nil)
    }
  }

  /// Items of a box that lines move to one which the file inserts last; other lines say of two of them where they are, from the
  /// other end.
  private static let moves = [
    #"{"op":"insert","entity":"Box","id":"a","set":{"name":"A"}}"#,
    #"{"op":"upsert","entity":"Item","id":"1","set":{"box":"a"}}"#,
    #"{"op":"upsert","entity":"Item","id":"2","set":{"box":"a"}}"#,
    #"{"op":"upsert","entity":"Item","id":"3","set":{"box":"a"}}"#,
    #"{"op":"upsert","entity":"Item","id":"4","set":{"box":"a"}}"#,
    #"{"op":"save"}"#,
    #"{"op":"update","entity":"Item","id":"1","set":{"box":"b"},"add":{"size":1}}"#,
    #"{"op":"update","entity":"Item","id":"2","set":{"box":"b"},"add":{"size":1}}"#,
    #"{"op":"update","entity":"Item","id":"3","set":{"box":"b"},"add":{"size":1}}"#,
    #"{"op":"update","entity":"Item","id":"4","set":{"box":"b"},"add":{"size":1}}"#,
    #"{"op":"save"}"#,
    #"{"op":"insert","entity":"Box","id":"c","set":{"name":"C","items":["2"]}}"#,
    #"{"op":"update","entity":"Box","id":"a","set":{"items":["3","4"]}}"#,
    #"{"op":"update","entity":"Item","id":"4","set":{"box":"b"},"add":{"size":1}}"#,
    #"{"op":"save"}"#,
    #"{"op":"insert","entity":"Box","id":"b","set":{"name":"B"}}"#,
  ]

  @Test("A line that moves an object to what a later transaction inserts has the last word")
  func moved() throws {
    let whole = try Shop()
    _ = try importer(whole).run(data(Self.moves))
    try whole.read { context in
      for (id, box) in [("1", "B"), ("2", "C"), ("3", "A"), ("4", "B")] {
        let item = try #require(try whole.object(id, "Item", in: context))
        let found = item[ToOne<ManagedObject, ManagedObject>("box")]
        #expect(found?[Attribute<ManagedObject, String?>("name")] == box, "\(id)")
      }
    }
    let inOne = try Shop()
    _ = try importer(inOne).run(data(Self.moves.filter { !$0.contains("save") }))
    #expect(try ReplicaExport.text(of: inOne.store) == ReplicaExport.text(of: whole.store))
    for (count, line) in [(2, 11), (3, 15)] {
      let shop = try Shop()
      importSome(Self.moves, count, into: shop)
      _ = try importer(shop, skipping: line).run(data(Self.moves))
      #expect(
        try ReplicaExport.text(of: shop.store) == ReplicaExport.text(of: whole.store),
        "after \(count)")
    }
  }

  @Test("For all references that are open, lines to come are looked through once")
  func lookedThroughOnce() throws {
    let shop = try Shop()
    let count = 100
    let lines =
      (0..<count).flatMap {
        [
          #"{"op":"insert","entity":"Item","id":"\#($0)","set":{"box":"\#($0)"}}"#,
          #"{"op":"save"}"#,
        ]
      } + (0..<count).map { #"{"op":"insert","entity":"Box","id":"\#($0)","set":{}}"# }
    let model = shop.store.schema.model
    let (item, box) = (
      try #require(model.entitiesByName["Item"]), try #require(model.entitiesByName["Box"])
    )
    var later = LaterInserts(ImportShapes(model))
    var reader = try LineReader(ImportBytes(data(lines)))
    func missing(_ id: String) -> AwaitedReference? {
      later.missing(
        of: [
          AwaitedReference(
            owner: item, ownerIdentity: nil, property: "box", destination: box, id: id,
            line: reader.number, target: NamedIdentity.identity(id, of: box))
        ], behind: reader)
    }
    for number in 0..<count {
      for _ in 0..<2 { _ = try reader.next() }
      #expect(missing("\(number)")?.line == nil)
    }
    #expect(missing("nowhere")?.id == "nowhere")
    #expect(later.readCount <= lines.count)
  }

  /// A former state of a store, in transactions: lines say more of an object later, and refer to what comes later.
  private static let former = [
    #"{"op":"upsert","entity":"Item","id":"1","set":{"name":"1","box":"a"}}"#,
    #"{"op":"upsert","entity":"Item","id":"2","set":{"name":"2","box":"b","tags":["t"]}}"#,
    #"{"op":"save"}"#,
    #"{"op":"upsert","entity":"Item","id":"3","set":{"name":"3","box":"a"}}"#,
    #"{"op":"upsert","entity":"Item","id":"1","set":{"size":1}}"#,
    #"{"op":"upsert","entity":"Item","id":"2","set":{"size":2}}"#,
    #"{"op":"save"}"#,
    #"{"op":"upsert","entity":"Box","id":"a","set":{"name":"A"}}"#,
    #"{"op":"save"}"#,
    #"{"op":"upsert","entity":"Box","id":"b","set":{"name":"B"}}"#,
    #"{"op":"upsert","entity":"Item","id":"3","set":{"size":3}}"#,
    #"{"op":"save"}"#,
    #"{"op":"upsert","entity":"Tag","id":"t","set":{"name":"T"}}"#,
    #"{"op":"upsert","entity":"Item","id":"1","set":{"stock":10}}"#,
    #"{"op":"upsert","entity":"Item","id":"2","set":{"stock":20}}"#,
  ]

  /// A store of that state in which objects were deleted and edited since.
  private func edited() throws -> Shop {
    let shop = try Shop()
    _ = try importer(shop).run(data(Self.former))
    let changes =
      [("Item", "2"), ("Item", "3"), ("Box", "b"), ("Tag", "t")].map {
        #"{"op":"delete","entity":"\#($0.0)","id":"\#($0.1)"}"#
      } + [
        #"{"op":"update","entity":"Item","id":"1","set":{"size":99,"stock":99,"box":null}}"#,
        #"{"op":"update","entity":"Box","id":"a","set":{"name":"edited"}}"#,
      ]
    _ = try importer(shop).run(data(changes))
    return shop
  }

  @Test("What only missing objects are taken of goes on wherever it was cut off, and says so")
  func onlyMissing() throws {
    let whole = try edited()
    _ = try importer(whole, onlyMissing: true).run(data(Self.former))
    let expected = try ReplicaExport.text(of: whole.store)
    #expect(expected.contains(#""name":"edited""#) && expected.contains(#""size":99"#))
    #expect(expected.contains(#""size":2"#) && expected.contains(#""stock":20"#))
    #expect(expected.contains(#""size":3"#))
    let saves = Self.former.indices.filter { Self.former[$0].contains("save") }.map { $0 + 1 }
    // Of the third transaction no line is wanted.
    for (count, line) in [(1, saves[0]), (2, saves[1]), (3, saves[3])] {
      let shop = try edited()
      importSome(Self.former, count, into: shop, onlyMissing: true)
      let before = try ReplicaExport.text(of: shop.store)
      let refused = try #require(
        #expect(throws: Failure.self) {
          _ = try importer(shop, onlyMissing: true).run(data(Self.former))
        })
      #expect(refused.code == "cut-off")
      #expect(
        refused.suggestion.contains("--skip \(line) --only-missing;"), "\(refused.suggestion)")
      #expect(try ReplicaExport.text(of: shop.store) == before)
      #expect(try shop.store.check().isSound)
      // It may be cut off once more.
      if count == 1 {
        importSome(Self.former, 1, into: shop, skipping: line, onlyMissing: true)
      }
      _ = try importer(shop, skipping: count == 1 ? saves[1] : line, onlyMissing: true)
        .run(data(Self.former))
      #expect(try ReplicaExport.text(of: shop.store) == expected, "after \(count)")
      #expect(
        try shop.store.read { try $0.settings(beginning: "import.") }.isEmpty, "after \(count)")
    }
  }

  @Test("A program of before, which knows no lines passed over, finds no place of theirs")
  func formerProgram() throws {
    let shop = try edited()
    importSome(Self.former, 1, into: shop, onlyMissing: true)
    func names(_ prefix: String) throws -> [String] {
      try shop.store.read { try $0.settingNames(beginning: prefix) }
    }
    #expect(try names("import.place") == ["import.placesOfMissing"])
    #expect(try names("import.passed ").count == 1)
    // Where the place is gone all the same, the next import of any file takes away what belonged to it.
    _ = try shop.store.write(TransactionInfo()) {
      try $0.setSetting("import.placesOfMissing", nil)
    }
    importSome(counts("7"), 4, into: shop)
    #expect(try names("import.").sorted() == ["import.owners", "import.places"])
  }

  @Test("Lines that are kept as passed over beyond all lines are damage, and end no import")
  func damagedLines() throws {
    let shop = try edited()
    importSome(Self.former, 1, into: shop, onlyMissing: true)
    #expect(try shop.store.check().isSound)
    _ = try shop.store.write(TransactionInfo()) {
      let name = try #require(try $0.settingNames(beginning: "import.passed ").first)
      try $0.setSetting(name, .text("1-\(Int.max)"))
    }
    #expect(try !shop.store.check().isSound)
    _ = try importer(shop, skipping: 3, onlyMissing: true).run(data(Self.former))
  }

  @Test("A line between a reference and what it waits for has the last word, with none too")
  func overruled() throws {
    let lines = [
      #"{"op":"insert","entity":"Item","id":"1","set":{"box":"b","tags":["t"]}}"#,
      #"{"op":"insert","entity":"Item","id":"2","set":{"box":"b","tags":["t"]}}"#,
      #"{"op":"insert","entity":"Item","id":"3","set":{"box":"b","tags":["t"]}}"#,
      #"{"op":"update","entity":"Item","id":"1","set":{"box":null,"tags":[]}}"#,
      #"{"op":"save"}"#,
      #"{"op":"update","entity":"Item","id":"2","set":{"box":null,"tags":[]}}"#,
      #"{"op":"update","entity":"Item","id":"1","add":{"size":1}}"#,
      #"{"op":"save"}"#,
      #"{"op":"insert","entity":"Box","id":"b","set":{}}"#,
      #"{"op":"insert","entity":"Tag","id":"t","set":{}}"#,
    ]
    let whole = try Shop()
    _ = try importer(whole).run(data(lines))
    try whole.read { context in
      for (id, isSet) in [("1", false), ("2", false), ("3", true)] {
        let item = try #require(try whole.object(id, "Item", in: context))
        #expect((item["box"] != nil) == isSet, "\(id)")
        #expect(try item.objectIDs(forRelationshipNamed: "tags").count == (isSet ? 1 : 0), "\(id)")
      }
    }
    let shop = try Shop()
    importSome(lines, 2, into: shop)
    _ = try importer(shop, skipping: 8).run(data(lines))
    #expect(try ReplicaExport.text(of: shop.store) == ReplicaExport.text(of: whole.store))
  }
}
