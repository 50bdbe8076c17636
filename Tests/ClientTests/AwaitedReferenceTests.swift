import Driftless
import DriftlessSync
import Foundation
import TestSupport
import Testing

@testable import SyncControl

/// References to later lines come to the same in batches as in one piece.
@Suite struct AwaitedReferenceTests {
  /// Every kind of relationship, from an entity to itself.
  private static func model() -> ManagedObjectModel {
    let node = EntityDescription("Node")
    node.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("parent", to: "Node", inverse: "children"),
      RelationshipDescription("children", to: "Node", inverse: "parent", toMany: true),
      RelationshipDescription("friends", to: "Node", inverse: "fans", toMany: true),
      RelationshipDescription("fans", to: "Node", inverse: "friends", toMany: true),
      RelationshipDescription("partner", to: "Node", inverse: "partnerOf"),
      RelationshipDescription("partnerOf", to: "Node", inverse: "partner"),
    ]
    return ManagedObjectModel(entities: [node])
  }

  /// Those that may wait for later lines in batches.
  private static let waiting = ["parent", "children", "friends", "fans"]

  /// Inserts that refer to any line, earlier and later ones, each other and themselves.
  private static func lines(
    _ count: Int, _ relationships: [String], _ numbers: inout SeededNumbers
  ) -> [String] {
    (0..<count).map { number in
      let members = relationships.filter { _ in Bool.random(using: &numbers) }.map { name in
        func other() -> String { "\"\(Int.random(in: 0..<count, using: &numbers))\"" }
        let isToMany = ["children", "friends", "fans"].contains(name)
        let value =
          isToMany
          ? "["
            + (0..<Int.random(in: 0...2, using: &numbers)).map { _ in other() }
            .joined(separator: ",") + "]"
          : other()
        return "\"\(name)\":\(value)"
      }
      return
        #"{"op":"insert","entity":"Node","id":"\#(number)","set":{\#(members.joined(separator: ","))}}"#
    }
  }

  private static func importInBatches(
    _ shop: Shop, _ lines: [String], of count: Int
  ) throws -> ImportReport {
    let batches = ImportBatches(
      store: shop.store, coordinator: PersistentStoreCoordinator(store: shop.store),
      shapes: ImportShapes(shop.store.schema.model))
    var reader = try LineReader(ImportBytes(Data(lines.joined(separator: "\n").utf8)))
    var first: [ImportLine] = []
    while first.count < count { first.append(try #require(try reader.next())) }
    return try batches.importTransaction(&first, &reader, author: nil)
  }

  @Test("Whatever refers to whatever, batches give what one piece gives", arguments: 0..<60)
  func anyOrder(seed: Int) throws {
    var numbers = SeededNumbers(seed: UInt64(seed))
    let lines = Self.lines(24, Self.waiting, &numbers)
    let (whole, parts) = (try Shop(model: Self.model()), try Shop(model: Self.model()))
    _ = try Importer(store: whole.store, author: nil, source: "f.jsonl")
      .run(Data(lines.joined(separator: "\n").utf8))
    let report = try Self.importInBatches(parts, lines, of: [1, 3, 7, 12][seed % 4])
    #expect(report.inserted == 24)
    #expect(try ReplicaExport.text(of: parts.store) == ReplicaExport.text(of: whole.store))
    #expect(try parts.store.fetchHistory(.fetchHistory(after: nil)).count == 1)
    #expect(try parts.store.check().isSound)
  }

  @Test("Partners are left to one piece where they wait", arguments: 0..<20)
  func partners(seed: Int) throws {
    var numbers = SeededNumbers(seed: UInt64(seed))
    let lines = Self.lines(24, Self.waiting + ["partner", "partnerOf"], &numbers)
    let (whole, parts) = (try Shop(model: Self.model()), try Shop(model: Self.model()))
    let data = Data(lines.joined(separator: "\n").utf8)
    _ = try Importer(store: whole.store, author: nil, source: "f.jsonl").run(data)
    _ = try Importer(store: parts.store, author: nil, source: "f.jsonl", batchLines: 3).run(data)
    #expect(try ReplicaExport.text(of: parts.store) == ReplicaExport.text(of: whole.store))
    #expect(throws: (any Error).self) {
      let first = #"{"op":"insert","entity":"Node","id":"a","set":{"partner":"b"}}"#
      let second = #"{"op":"insert","entity":"Node","id":"b","set":{}}"#
      _ = try Self.importInBatches(Shop(model: Self.model()), [first, second], of: 1)
    }
  }

  @Test("What no line inserts is left to one piece, and so is an update in between")
  func notInBatches() throws {
    let waits = #"{"op":"insert","entity":"Item","id":"1","set":{"box":"b"}}"#
    let other = #"{"op":"insert","entity":"Item","id":"2","set":{}}"#
    let update = #"{"op":"update","entity":"Item","id":"1","set":{"box":null}}"#
    let box = #"{"op":"insert","entity":"Box","id":"b","set":{}}"#
    for lines in [[waits, other], [waits, update, box]] {
      let shop = try Shop()
      #expect(throws: (any Error).self) { try Self.importInBatches(shop, lines, of: 1) }
      #expect(try ReplicaExport.text(of: shop.store).isEmpty)
    }
    #expect(try Self.importInBatches(Shop(), [waits, other, box], of: 1).inserted == 3)
    #expect(try Self.importInBatches(Shop(), [waits, box, update], of: 1).updated == 1)
  }

  @Test("A reference of a new object that waits stands above what came before it")
  func lastWord() throws {
    let lines = [
      #"{"op":"insert","entity":"Node","id":"a","set":{"children":["b"]}}"#,
      #"{"op":"insert","entity":"Node","id":"b","set":{"parent":"c"}}"#,
      #"{"op":"insert","entity":"Node","id":"c","set":{}}"#,
    ]
    let (whole, parts) = (try Shop(model: Self.model()), try Shop(model: Self.model()))
    _ = try Importer(store: whole.store, author: nil, source: "f.jsonl")
      .run(Data(lines.joined(separator: "\n").utf8))
    _ = try Self.importInBatches(parts, lines, of: 1)
    for shop in [whole, parts] {
      try shop.read { context in
        let parent: ToOne<ManagedObject, ManagedObject> = ToOne("parent")
        let object = try #require(try shop.object("b", "Node", in: context))
        #expect(try object[parent] === shop.object("c", "Node", in: context))
      }
    }
  }
}
