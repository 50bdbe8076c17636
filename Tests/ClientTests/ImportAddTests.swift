import Driftless
import DriftlessSync
import Foundation
import SyncControl
import SyncDaemon
import Testing

/// Lines that add to numbers.
@Suite struct ImportAddTests {
  private func run(
    _ shop: Shop, _ lines: [String], batchLines: Int = 1000
  ) throws -> ImportReport {
    try Importer(store: shop.store, author: nil, source: "f.jsonl", batchLines: batchLines)
      .run(Data(lines.joined(separator: "\n").utf8))
  }

  private func line(_ op: String, _ id: String = "1", set: String = "{}", add: String) -> String {
    #"{"op":"\#(op)","entity":"Item","id":"\#(id)","set":\#(set),"add":\#(add)}"#
  }

  /// What the shop's only item has.
  private func values(_ shop: Shop) throws -> [String: Any] {
    let text = try ReplicaExport.text(of: shop.store)
    let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    return try #require(object?["set"] as? [String: Any])
  }

  @Test(
    "Each kind of number gets what is added, exactly, and null counts as 0", arguments: [1, 1000])
  func kinds(batchLines: Int) throws {
    let shop = try Shop()
    let first = line(
      "upsert", set: #"{"name":"a"}"#,
      add: #"{"size":3,"stock":9007199254740993,"weight":0.5,"price":"0.1"}"#)
    let second = line(
      "update", set: #"{"name":"b"}"#,
      add: #"{"size":-3,"stock":-1,"weight":1e2,"price":"1234567890123456789012345678901.2"}"#)
    let report = try run(
      shop, [first, second, #"{"op":"save"}"#, line("upsert", add: #"{"stock":-2}"#)],
      batchLines: batchLines)
    #expect(report.inserted == 1 && report.updated == 2)
    let values = try values(shop)
    #expect(values["name"] as? String == "b")
    #expect(values["size"] as? Int == 0)
    #expect(values["stock"] as? Int == 9_007_199_254_740_990)
    #expect(values["weight"] as? Double == 100.5)
    #expect(values["price"] as? String == "1234567890123456789012345678901.3")
  }

  @Test(
    "What cannot be added is refused with the line, and nothing is saved",
    arguments: [
      (#"{"size":32767}"#, "Item.size is 1, and with 32767 it is beyond what the type integer16"),
      (#"{"size":-99999999999999999999}"#, "takes a whole number of 64 bits to add"),
      (#"{"size":0.5}"#, "takes a whole number of 64 bits to add, not the number 0.5"),
      (#"{"size":null}"#, "takes a whole number of 64 bits to add, not null"),
      (#"{"stock":9223372036854775807}"#, "beyond what the type integer64 holds"),
      (#"{"weight":1.7e308}"#, "beyond what the type double holds"),
      (#"{"weight":"NaN"}"#, "cannot be added to it"),
      (#"{"price":"0.00000000000000000000000000000000000001"}"#, "beyond what the type decimal"),
      (#"{"price":"NaN"}"#, "cannot be added to it"),
      (#"{"name":"x"}"#, "Item.name is no number: nothing can be added to it"),
      (#"{"isNew":1}"#, "is no number"), (#"{"made":1}"#, "is no number"),
      (#"{"box":"b"}"#, "is a relationship"), (#"{"tags":1}"#, "is a relationship"),
      (#"{"sise":1}"#, #"has no property "sise""#), (#"{"size":{"x":1}}"#, "not an object"),
      ("3", #""add" is an object, not the number 3"#),
      ("null", #""add" is an object, not null"#),
    ])
  func refused(add: String, message: String) throws {
    let shop = try Shop()
    _ = try run(
      shop,
      [
        #"{"op":"insert","entity":"Item","id":"1","set":{"size":1,"stock":1,"weight":1.7e308,"price":"12345678901"}}"#
      ])
    let before = try ReplicaExport.text(of: shop.store)
    let failure = #expect(throws: Failure.self) {
      try run(shop, [line("update", set: #"{"isNew":true}"#, add: "{}"), line("upsert", add: add)])
    }
    #expect(failure?.code == "bad-line" && failure?.status == .badData)
    #expect(failure?.message.hasPrefix("f.jsonl:2: ") == true, "\(failure?.message ?? "")")
    #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
    #expect(try ReplicaExport.text(of: shop.store) == before)
  }

  @Test("One property is not set and added to by one line, and an insert adds to nothing")
  func both() throws {
    let shop = try Shop()
    let twice = #expect(throws: Failure.self) {
      try run(shop, [line("upsert", set: #"{"stock":1}"#, add: #"{"stock":1}"#)])
    }
    #expect(twice?.message == #"f.jsonl:1: Item.stock is in "set" and in "add" of one line"#)
    let insert = #expect(throws: Failure.self) {
      try run(shop, [line("insert", add: #"{"stock":1}"#)])
    }
    #expect(insert?.message == #"f.jsonl:1: "add" has no place in this line"#)
  }

  @Test("Elements of a composite are named by their path, or within an object")
  func composites() throws {
    let item = EntityDescription("Item")
    let size = CompositeAttributeDescription()
    size.name = "size"
    size.elements = [
      AttributeDescription("width", .float), AttributeDescription("count", .integer32),
    ]
    item.properties = [size]
    let shop = try Shop(model: ManagedObjectModel(entities: [item]))
    _ = try run(
      shop,
      [
        line("upsert", add: #"{"size":{"width":0.1,"count":2}}"#),
        line("upsert", set: #"{"size":{"width":1}}"#, add: #"{"size.count":3}"#),
      ])
    #expect(try ReplicaExport.text(of: shop.store).contains(#""size.count":5,"size.width":1"#))
    for (set, add) in [
      (#"{"size":{"count":1}}"#, #"{"size.count":1}"#),
      (#"{"size.count":1}"#, #"{"size":{"count":1}}"#),
      ("{}", #"{"size":{"count":1},"size.count":1}"#),
    ] {
      #expect(throws: Failure.self) { try run(shop, [line("update", set: set, add: add)]) }
    }
  }

  @Test("A float stays within its bounds")
  func floats() throws {
    let item = EntityDescription("Item")
    item.properties = [AttributeDescription("weight", .float)]
    let shop = try Shop(model: ManagedObjectModel(entities: [item]))
    _ = try run(shop, [line("upsert", set: #"{"weight":3e38}"#, add: "{}")])
    let failure = #expect(throws: Failure.self) {
      try run(shop, [line("update", add: #"{"weight":3e38}"#)])
    }
    #expect(failure?.message.contains("beyond what the type float holds") == true)
  }

  @Test("An object that a transaction deletes and makes again is added to from its beginning")
  func remade() throws {
    let shop = try Shop()
    _ = try run(shop, [line("upsert", add: #"{"stock":5}"#)])
    _ = try run(
      shop,
      [#"{"op":"delete","entity":"Item","id":"1"}"#, line("upsert", add: #"{"stock":2}"#)])
    #expect(try values(shop)["stock"] as? Int == 2)
  }
}
