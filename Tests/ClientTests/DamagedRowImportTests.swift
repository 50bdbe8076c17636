import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import SyncControl
import SyncDaemon
import TestSupport
import Testing

/// Imports into a store whose rows were changed past every program.
struct DamagedRowImportTests {
  private func shop() throws -> Shop {
    let shop = try Shop()
    try run(
      shop, #"{"op":"insert","entity":"Box","id":"a","set":{"name":"a"}}"#,
      #"{"op":"insert","entity":"Box","id":"b","set":{"name":"b"}}"#,
      #"{"op":"insert","entity":"Item","id":"1","set":{"name":"one","box":"a"}}"#,
      #"{"op":"insert","entity":"Item","id":"2","set":{"name":"two","box":"a"}}"#)
    return shop
  }

  private func run(_ shop: Shop, _ lines: String...) throws {
    _ = try Importer(store: shop.store, author: nil, source: "f.jsonl")
      .run(Data(lines.joined(separator: "\n").utf8))
  }

  private func sql(_ shop: Shop, _ sql: String) throws {
    let connection = try SQLiteConnection(path: shop.url.path, mode: .readWrite)
    defer { connection.close() }
    try connection.execute(sql)
  }

  @Test(
    "What refers to an object that is nowhere is set anew by a line",
    arguments: [
      #"{"op":"update","entity":"Item","id":"1","set":{"box":"b"}}"#,
      #"{"op":"update","entity":"Item","id":"1","set":{"box":null}}"#,
    ], ["UPDATE ZITEM SET ZBOX = 99999", "DELETE FROM ZBOX WHERE ZNAME = 'a'"])
  func nowhere(line: String, damage: String) throws {
    let shop = try shop()
    try sql(shop, damage)
    try run(shop, line, line.replacingOccurrences(of: #""id":"1""#, with: #""id":"2""#))
    let boxes = try SyncEngine.check(shop.store).findings.filter { $0.table == "ZITEM" }
    #expect(boxes == [])
  }

  @Test("Where a row cannot be written, it is said where to look")
  func version() throws {
    let shop = try shop()
    try sql(shop, "UPDATE ZITEM SET Z_OPT = 1.5")
    let failure = #expect(throws: Failure.self) {
      try run(shop, #"{"op":"update","entity":"Item","id":"1","set":{"name":"other"}}"#)
    }
    for way in ["store check", "verify --repair", "export"] {
      #expect(failure?.suggestion.contains(way) == true, "\(way): \(String(describing: failure))")
    }
  }

  @Test(
    "Nothing is added to what cannot be read, which is named with the way to the zone's value",
    arguments: [
      ("ZSTOCK = 'abc'", "stock", "1"), ("ZSTOCK = x'0102'", "stock", "1"),
      ("ZWEIGHT = 'abc'", "weight", "1"), ("ZPRICE = 1e300", "price", #""1""#),
    ])
  func adding(damage: String, property: String, number: String) throws {
    let shop = try shop()
    try run(
      shop, #"{"op":"update","entity":"Item","id":"1","set":{"stock":40,"weight":2,"price":"3"}}"#)
    try sql(shop, "UPDATE ZITEM SET \(damage)")
    let line = #"{"op":"update","entity":"Item","id":"1","add":{"\#(property)":\#(number)}}"#
    let failure = #expect(throws: Failure.self) { try run(shop, line) }
    #expect(failure?.message.contains("Item.\(property)") == true, "\(String(describing: failure))")
    #expect(failure?.suggestion.contains("verify --repair") == true)
    // What cannot be read of a decimal is shown as null, and setting that changes nothing.
    let zero = property == "price" ? #""0""# : "null"
    // The others can be set, and so can this one.
    try run(shop, #"{"op":"update","entity":"Item","id":"1","set":{"name":"other"}}"#)
    #expect(throws: Failure.self) { try run(shop, line) }
    try run(
      shop, #"{"op":"update","entity":"Item","id":"1","set":{"\#(property)":\#(zero)}}"#, line)
    try shop.read { context in
      let item = try #require(try shop.object("1", "Item", in: context))
      #expect("\(item.committedValues[property] ?? .null)".contains("1"))
    }
  }

  @Test("A line that sets nothing updates nothing, and a day that no calendar has is told as one")
  func words() throws {
    let shop = try shop()
    let report = try Importer(store: shop.store, author: nil, source: "f.jsonl")
      .run(Data(#"{"op":"update","entity":"Item","id":"1","set":{}}"#.utf8))
    #expect(report.updated == 0)
    let failure = #expect(throws: Failure.self) {
      try run(shop, #"{"op":"update","entity":"Item","id":"1","set":{"made":"2023-02-29"}}"#)
    }
    #expect(failure?.message.contains("a day that the calendar has") == true)
  }
}
