import Driftless
import DriftlessSync
import Foundation
import SyncDaemon
import Testing

@testable import SyncControl

/// A large transaction of a file comes in batches, and to everybody as one.
@Suite struct ImportBatchesTests {
  private func run(
    _ shop: Shop, _ lines: [String], author: String? = nil, batchLines: Int
  ) throws -> ImportReport {
    try Importer(store: shop.store, author: author, source: "f.jsonl", batchLines: batchLines)
      .run(Data(lines.joined(separator: "\n").utf8))
  }

  /// Boxes, tags and items that refer to what came before them, and updates of some.
  private func lines(items: Int) -> [String] {
    var lines = [
      #"{"op":"insert","entity":"Box","id":"b","set":{"name":"b"}}"#,
      #"{"op":"insert","entity":"Tag","id":"t","set":{"name":"t"}}"#,
    ]
    for number in 0..<items {
      lines.append(
        #"{"op":"insert","entity":"Item","id":"\#(number)","set":{"size":\#(number),"box":"b","tags":["t"]}}"#
      )
      if number % 7 == 6 {
        lines.append(
          #"{"op":"update","entity":"Item","id":"\#(number - 5)","set":{"name":"later","tags":[]}}"#
        )
      }
    }
    return lines
  }

  @Test(
    "It gives what it gives in one piece, in one entry of the history", arguments: [1, 3, 10, 24])
  func sameAsOnePiece(batchLines: Int) throws {
    let lines = lines(items: 20)
    let (whole, parts) = (try Shop(), try Shop())
    let expected = try run(whole, lines, batchLines: 1000)
    #expect(try run(parts, lines, batchLines: batchLines) == expected)
    #expect(try ReplicaExport.text(of: parts.store) == ReplicaExport.text(of: whole.store))
    #expect(try parts.store.fetchHistory(.fetchHistory(after: nil)).count == 1)
    #expect(try parts.store.check().isSound)
  }

  @Test("It is not left to one piece")
  func inBatches() throws {
    let shop = try Shop()
    let batches = ImportBatches(
      store: shop.store, coordinator: PersistentStoreCoordinator(store: shop.store),
      shapes: ImportShapes(shop.store.schema.model))
    let bytes = ImportBytes(Data(lines(items: 20).joined(separator: "\n").utf8))
    var reader = try LineReader(bytes)
    var first: [ImportLine] = []
    while first.count < 5 { first.append(try #require(try reader.next())) }
    let report = try batches.importTransaction(&first, &reader, author: nil)
    #expect(report.transactions == 1)
    #expect(report.inserted == 22)
    #expect(try reader.next() == nil)
  }

  @Test("A save after it names its author, and the next transaction is another")
  func author() throws {
    let shop = try Shop()
    let save = #"{"op":"save","author":"ben"}"#
    let more = #"{"op":"insert","entity":"Box","id":"last","set":{}}"#
    let report = try run(
      shop, lines(items: 9) + [save, more], author: "anna", batchLines: 4)
    #expect(report.transactions == 2)
    #expect(report.inserted == 12)
    let history = try shop.store.fetchHistory(.fetchHistory(after: nil))
    #expect(history.map(\.author) == ["ben", "anna"])
    #expect(history.map(\.contextName) == ["import", "import"])
  }

  @Test(
    "Whatever is wrong near its end, nothing of it is saved, and the message is that of one piece",
    arguments: [
      #"{"op":"insert","entity":"Item","id":"bad","set":{"size":-1}}"#,
      #"{"op":"insert","entity":"Item","id":"3","set":{}}"#,
      #"{"op":"insert","entity":"Item","id":"bad","set":{"box":"nowhere"}}"#,
      #"{"op":"update","entity":"Item","id":"nobody","set":{}}"#,
      #"{"op":"insert","entity":"Item","id":"bad""#,
    ])
  func nothingIsSaved(bad: String) throws {
    let lines = lines(items: 20) + [bad, #"{"op":"insert","entity":"Box","id":"z","set":{}}"#]
    func message(batchLines: Int) throws -> String? {
      let shop = try Shop()
      var message: String?
      do {
        _ = try run(shop, lines, batchLines: batchLines)
      } catch let failure as Failure {
        message = failure.message
      }
      #expect(try ReplicaExport.text(of: shop.store).isEmpty)
      #expect(try shop.store.fetchHistory(.fetchHistory(after: nil)).isEmpty)
      return message
    }
    let expected = try message(batchLines: 1000)
    #expect(expected != nil)
    #expect(try message(batchLines: 5) == expected)
  }

  @Test("References to later lines, and objects that are deleted and made again, come in one piece")
  func notInBatches() throws {
    let lines =
      (0..<10).map {
        #"{"op":"insert","entity":"Item","id":"\#($0)","set":{"box":"later","tags":["also later"]}}"#
      } + [
        #"{"op":"insert","entity":"Box","id":"later","set":{"name":"b"}}"#,
        #"{"op":"insert","entity":"Tag","id":"also later","set":{}}"#,
        #"{"op":"delete","entity":"Item","id":"2"}"#,
        #"{"op":"insert","entity":"Item","id":"2","set":{"size":2}}"#,
      ]
    let (whole, parts) = (try Shop(), try Shop())
    let expected = try run(whole, lines, batchLines: 1000)
    #expect(try run(parts, lines, batchLines: 3) == expected)
    #expect(try ReplicaExport.text(of: parts.store) == ReplicaExport.text(of: whole.store))
    #expect(try parts.store.fetchHistory(.fetchHistory(after: nil)).count == 1)
  }
}
